// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief The shape of a transformer: what its parameters, FLOPs and bytes (transformer.hpp) are counted of.

namespace ballast::inline v0_2 {

/// @brief The shape of a transformer: decoder or encoder, dense or mixture of experts, with grouped or latent attention.
///
/// A plain struct, filled by hand, by a preset (presets.hpp) or from a `config.json` (the command line does). All sizes are counts or
/// widths; 0 or false means "has none". `require_valid` throws for shapes that make no sense.
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

/// @brief Throws for a shape that makes no sense or whose counts could pass 2^63.
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

}  // namespace ballast::inline v0_2
