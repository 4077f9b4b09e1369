// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/cost/attention.hpp>
#include <ballast/cost/transformer_cost.hpp>

#include <cstdint>
#include <numeric>
#include <string>

/// @file
/// @brief A transformer in numbers: parameters, FLOPs and activation bytes, whole and per layer, and what one sample costs.
///
/// FLOPs are those of matrix products, two to a multiplication with addition, of one forward pass; a training step is three of them
/// (`training_factor`). Norms, activations and softmax are left out, as in every published count. Sources: Narayanan et al., arXiv
/// 2104.04473; Korthikanti et al., arXiv 2205.05198; DeepSeek-AI, arXiv 2405.04434 (multi-head latent attention).

namespace ballast::inline v0_2 {

/// @brief FLOPs of a training step over those of its forward pass: the backward pass needs two products for each one.
inline constexpr std::int64_t training_factor = 3;

/// @brief The shape of a transformer: decoder or encoder, dense or mixture of experts, with grouped or latent attention.
///
/// A plain struct, filled by hand, by a preset (presets.hpp) or from a `config.json` (the command line does). All sizes are counts or
/// widths; 0 or false means "has none". `require_valid` refuses shapes that make no sense.
struct transformer {
  std::int64_t layers = 1;       ///< transformer layers
  std::int64_t hidden = 1;       ///< width of the residual stream
  std::int64_t query_heads = 1;  ///< heads of the queries
  std::int64_t kv_heads = 1;     ///< heads of keys and values, a divisor of `query_heads`
  std::int64_t head_width = 1;   ///< width of a query and key head; with latent attention, `rope_width` included
  std::int64_t ffn = 0;          ///< inner width of a dense feed-forward block
  bool gated = true;             ///< whether feed-forward blocks have a gate (three matrices, not two)
  std::int64_t vocabulary = 0;   ///< rows of the embedding; 0: neither embedding nor head
  bool tied = false;             ///< whether the head uses the embedding's matrix
  std::int64_t positions = 0;    ///< rows of a learned position embedding
  bool causal = true;            ///< whether a token sees only itself and those before it
  std::int64_t window = 0;       ///< keys that a token sees in windowed layers; 0: all layers see everything
  std::int64_t full_every = 0;   ///< with a window: every n-th layer sees everything; 0: none does

  std::int64_t kv_rank = 0;     ///< latent attention: width of the compressed keys and values; 0: ordinary attention
  std::int64_t q_rank = 0;      ///< latent attention: width of the compressed queries; 0: not compressed
  std::int64_t rope_width = 0;  ///< latent attention: part of a key that carries the position and is shared by all heads
  std::int64_t v_width = 0;     ///< width of a value head; 0: `head_width`

  std::int64_t experts = 0;         ///< experts of a layer of experts; 0: every layer is dense
  std::int64_t active_experts = 0;  ///< experts that a token is sent to
  std::int64_t expert_ffn = 0;      ///< inner width of an expert
  std::int64_t shared_ffn = 0;      ///< inner width of the experts that every token visits, all together
  std::int64_t dense_layers = 0;    ///< first layers that are dense although the model has experts

  bool router_bias = false;  ///< whether each expert has a bias in the router (auxiliary-loss-free balancing)
  bool qkv_bias = false;     ///< biases of the query, key and value projections
  bool output_bias = false;  ///< bias of the attention's output projection
  bool ffn_bias = false;     ///< biases of the feed-forward matrices
  bool norm_bias = false;    ///< whether norms have a bias (LayerNorm) beside the weight (RMSNorm)
  std::int64_t norms = 2;    ///< norms in a layer
  bool final_norm = true;    ///< whether a norm follows the last layer
  std::int64_t qk_norm = 0;  ///< weights of the norms of queries and keys in a layer
  bool layer_scale = false;  ///< whether both blocks of a layer are scaled channel by channel

  friend constexpr bool operator==(transformer const&, transformer const&) = default;
};

namespace detail {
constexpr void require_within(char const* field, std::int64_t value, std::int64_t least, std::int64_t most) {
  require(value >= least && value <= most, [&] {
    return std::string(field) + " = " + std::to_string(value) + " must be in [" + std::to_string(least) + ", " + std::to_string(most) + "]";
  });
}
}  // namespace detail

/// @brief Refuses a shape that makes no sense or whose counts could pass 2^63.
/// @param model  the shape
/// @throws invalid_input naming the field
constexpr void require_valid(transformer const& model) {
  constexpr auto within = detail::require_within;
  constexpr std::int64_t widest = 1 << 19;  // 3 matrices x hidden x widest x 2 FLOPs x experts x layers stays below 2^61
  within("layers", model.layers, 1, 1024);
  within("hidden", model.hidden, 1, widest / 2);
  within("query_heads", model.query_heads, 1, 8192);
  within("kv_heads", model.kv_heads, 1, model.query_heads);
  require(model.query_heads % model.kv_heads == 0, [&] {
    return "kv_heads = " + std::to_string(model.kv_heads) + " must divide query_heads = " + std::to_string(model.query_heads);
  });
  within("head_width", model.head_width, 1, widest / model.query_heads);
  within("v_width", model.v_width, 0, widest / model.query_heads);
  within("ffn", model.ffn, 0, widest);
  within("vocabulary", model.vocabulary, 0, 1 << 24);
  within("positions", model.positions, 0, 1 << 24);
  within("window", model.window, 0, 1 << 28);
  require(model.causal || model.window == 0, [&] { return "window = " + std::to_string(model.window) + " needs causal = true"; });
  within("full_every", model.full_every, 0, model.layers);
  within("kv_rank", model.kv_rank, 0, widest);
  within("q_rank", model.q_rank, 0, model.kv_rank > 0 ? widest : 0);
  within("rope_width", model.rope_width, 0, model.kv_rank > 0 ? model.head_width : 0);
  within("experts", model.experts, 0, 2048);
  within("active_experts", model.active_experts, model.experts > 0 ? 1 : 0, model.experts);
  within("expert_ffn", model.expert_ffn, 0, widest);
  within("shared_ffn", model.shared_ffn, 0, widest);
  within("dense_layers", model.dense_layers, 0, model.layers);
  within("norms", model.norms, 0, 16);
  within("qk_norm", model.qk_norm, 0, 2 * widest);
}

namespace detail {
[[nodiscard]] constexpr std::int64_t value_width(transformer const& m) noexcept { return m.v_width > 0 ? m.v_width : m.head_width; }
[[nodiscard]] constexpr bool has_experts(transformer const& m, std::int64_t layer) noexcept {
  return m.experts > 0 && layer >= m.dense_layers;
}
[[nodiscard]] constexpr bool is_windowed(transformer const& m, std::int64_t layer) noexcept {
  return m.window > 0 && (m.full_every == 0 || (layer + 1) % m.full_every != 0);
}
/// Weights of the attention's matrices: each is two FLOPs a token.
[[nodiscard]] constexpr std::int64_t attention_matrices(transformer const& m) noexcept {
  auto const q = m.query_heads * m.head_width, output = m.query_heads * value_width(m);
  if (m.kv_rank == 0) return m.hidden * (q + m.kv_heads * (m.head_width + value_width(m)) + output);
  auto const queries = m.q_rank > 0 ? m.q_rank * (m.hidden + q) : m.hidden * q;
  auto const up = m.query_heads * (m.head_width - m.rope_width + value_width(m));
  return queries + m.hidden * (m.kv_rank + m.rope_width) + m.kv_rank * up + output * m.hidden;
}
[[nodiscard]] constexpr std::int64_t ffn_matrices(transformer const& m, std::int64_t width) noexcept {
  return (m.gated ? 3 : 2) * m.hidden * width;
}
/// Weights of the feed-forward matrices, the router among them, when a token visits `visited` experts.
[[nodiscard]] constexpr std::int64_t layer_ffn_matrices(transformer const& m, std::int64_t layer, std::int64_t visited) noexcept {
  if (!has_experts(m, layer)) return ffn_matrices(m, m.ffn);
  return m.hidden * m.experts + visited * ffn_matrices(m, m.expert_ffn) + ffn_matrices(m, m.shared_ffn);
}
/// Weights that are no matrix: biases, norms, scales.
[[nodiscard]] constexpr std::int64_t layer_vectors(transformer const& m, std::int64_t layer, std::int64_t visited) noexcept {
  auto const ffn_bias = [&](std::int64_t width) { return m.ffn_bias && width > 0 ? (m.gated ? 2 : 1) * width + m.hidden : 0; };
  auto const qkv = m.query_heads * m.head_width + m.kv_heads * (m.head_width + value_width(m));
  auto const experts = has_experts(m, layer);
  return (m.qkv_bias ? qkv : 0) + (m.output_bias ? m.hidden : 0) + m.q_rank + m.kv_rank + m.qk_norm +
         (experts ? visited * ffn_bias(m.expert_ffn) + ffn_bias(m.shared_ffn) + (m.router_bias ? m.experts : 0) : ffn_bias(m.ffn)) +
         m.norms * m.hidden * (m.norm_bias ? 2 : 1) + (m.layer_scale ? 2 * m.hidden : 0);
}
[[nodiscard]] constexpr std::int64_t all_parameters(transformer const& m, bool active) {
  require_valid(m);
  auto sum = m.vocabulary * m.hidden * (m.tied ? 1 : 2) + m.positions * m.hidden + (m.final_norm ? m.hidden * (m.norm_bias ? 2 : 1) : 0);
  auto const visited = active ? m.active_experts : m.experts;
  for (std::int64_t l = 0; l < m.layers; ++l)
    sum += attention_matrices(m) + layer_ffn_matrices(m, l, visited) + layer_vectors(m, l, visited);
  return sum;
}
constexpr void require_layer(transformer const& m, std::int64_t layer) {
  require_valid(m);
  require(layer >= 0 && layer < m.layers,
          [&] { return "layer = " + std::to_string(layer) + " must be in [0, " + std::to_string(m.layers) + ")"; });
}
}  // namespace detail

/// @brief Parameters of the whole model: embedding, positions, layers, final norm and, where it is not tied, the head.
/// @param model  the shape
/// @return how many
/// @throws invalid_input as `require_valid`
[[nodiscard]] constexpr std::int64_t parameters(transformer const& model) { return detail::all_parameters(model, false); }

/// @brief Parameters that one token meets: all but the experts it is not sent to.
/// @param model  the shape
/// @return how many
/// @throws invalid_input as `require_valid`
[[nodiscard]] constexpr std::int64_t active_parameters(transformer const& model) { return detail::all_parameters(model, true); }

/// @brief Parameters of one layer, all experts included.
/// @param model  the shape
/// @param layer  0 … layers - 1
/// @return how many
/// @throws invalid_input as `require_valid`, or if there is no such layer
[[nodiscard]] constexpr std::int64_t layer_parameters(transformer const& model, std::int64_t layer) {
  detail::require_layer(model, layer);
  return detail::attention_matrices(model) + detail::layer_ffn_matrices(model, layer, model.experts) +
         detail::layer_vectors(model, layer, model.experts);
}

/// @brief Bytes that one layer keeps of one token from its forward to its backward pass, nothing recomputed, in a 16-bit format.
///
/// Every matrix keeps its input, every norm its input, attention its queries, keys and values, an activation function what goes in. It is
/// the count of Korthikanti et al., arXiv 2205.05198, section 4, whose s b h (34 + 5 a s / h) is for plain attention, four-fold
/// feed-forward and dropout: the quadratic part is gone, since fused kernels compute scores anew, and the two masks of dropout are
/// counted with `dropout` alone. Statistics of norms and softmax are left out, as there.
///
/// @param model    the shape
/// @param layer    0 … layers - 1
/// @param dropout  whether the outputs of both blocks pass through dropout, one byte a value
/// @return bytes per token
/// @throws invalid_input as `require_valid`, or if there is no such layer
[[nodiscard]] constexpr std::int64_t activation_bytes_per_token(transformer const& model, std::int64_t layer, bool dropout = false) {
  detail::require_layer(model, layer);
  auto const v = detail::value_width(model);
  auto const kv_heads = model.kv_rank > 0 ? model.query_heads : model.kv_heads;  // latent keys and values are expanded for the kernel
  auto const heads = model.query_heads * (model.head_width + v) + kv_heads * (model.head_width + v);
  auto const latent = model.kv_rank > 0 ? 2 * (model.q_rank + model.kv_rank) : 0;  // the inputs of their norms and of the matrices behind
  auto const ffn = [&](std::int64_t width) { return (model.gated ? 3 : 2) * width; };
  auto const experts = detail::has_experts(model, layer);
  auto const inner = experts ? model.active_experts * (model.hidden + ffn(model.expert_ffn)) + ffn(model.shared_ffn) : ffn(model.ffn);
  auto const values = (2 + model.norms) * model.hidden + heads + latent + inner;
  return 2 * values + (dropout ? 2 * model.hidden : 0);
}

/// @brief Forward FLOPs of one layer for one sample.
/// @param model  the shape
/// @param layer  0 … layers - 1
/// @return a cost in FLOPs
/// @throws invalid_input as `require_valid`, or if there is no such layer
[[nodiscard]] constexpr transformer_cost layer_flops(transformer const& model, std::int64_t layer) {
  detail::require_layer(model, layer);
  attention_heads const heads{.count = model.query_heads, .qk_width = model.head_width, .v_width = detail::value_width(model)};
  auto const windowed = detail::is_windowed(model, layer);
  return {.per_token = 2 * (detail::attention_matrices(model) + detail::layer_ffn_matrices(model, layer, model.active_experts)),
          .per_pair = windowed ? 0 : heads.flops_per_pair(),
          .per_windowed_pair = windowed ? heads.flops_per_pair() : 0,
          .window = model.window,
          .causal = model.causal};
}

/// @brief Forward FLOPs of the head, per token that has a label. The embedding is a look-up and costs none.
/// @param model  the shape
/// @return FLOPs per token
/// @throws invalid_input as `require_valid`
[[nodiscard]] constexpr std::int64_t head_flops_per_token(transformer const& model) {
  require_valid(model);
  return 2 * model.vocabulary * model.hidden;
}

/// @brief Forward FLOPs of the whole model, layers and head, for one sample.
/// @param model  the shape
/// @return a cost in FLOPs
/// @throws invalid_input as `require_valid`
[[nodiscard]] constexpr transformer_cost forward_flops(transformer const& model) {
  transformer_cost sum{.per_token = head_flops_per_token(model), .window = model.window, .causal = model.causal};
  for (std::int64_t l = 0; l < model.layers; ++l) {
    auto const layer = layer_flops(model, l);
    sum.per_token += layer.per_token;
    sum.per_pair += layer.per_pair;
    sum.per_windowed_pair += layer.per_windowed_pair;
  }
  return sum;
}

/// @brief What a sample costs, in the largest unit that keeps it exact: `forward_flops` over the greatest common divisor of its parts.
///
/// The unit leaves room for the sums of a whole data set in 63 bits. `.quadratic()` is its member of the family a l + l^2; of
/// LLaMA-3.1-8B, a = 57,257 tokens.
/// @param model  the shape
/// @return the cost; one unit is `flops_per_unit` forward FLOPs
/// @throws invalid_input as `require_valid`
[[nodiscard]] constexpr transformer_cost sample_cost(transformer const& model) {
  auto cost = forward_flops(model);
  cost.flops_per_unit = std::gcd(std::gcd(cost.per_token, cost.per_pair), cost.per_windowed_pair);
  cost.per_token /= cost.flops_per_unit;
  cost.per_pair /= cost.flops_per_unit;
  cost.per_windowed_pair /= cost.flops_per_unit;
  return cost;
}

}  // namespace ballast::inline v0_2
