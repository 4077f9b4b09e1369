// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/attention.hpp>
#include <ballast/cost/detail/transformer_counts.hpp>
#include <ballast/cost/transformer_cost.hpp>
#include <ballast/cost/transformer_shape.hpp>

#include <cstdint>
#include <numeric>

/// @file
/// @brief A transformer in numbers: parameters, FLOPs and activation bytes, whole and per layer, and what one sample costs.
///
/// FLOPs are those of matrix products, two to a multiplication with addition, of one forward pass; a training step is three of them
/// (`training_factor`). Norms, activations and softmax are left out, as in every published count. Sources: Narayanan et al., arXiv
/// 2104.04473; Korthikanti et al., arXiv 2205.05198; DeepSeek-AI, arXiv 2405.04434 (multi-head latent attention).

namespace ballast::inline v0_2 {

/// @brief FLOPs of a training step over those of its forward pass: the backward pass needs two products for each one.
inline constexpr std::int64_t training_factor = 3;

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
