// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/cost/transformer_shape.hpp>

#include <cstdint>

// Numbers of weights of a transformer by kind. Private.

namespace ballast::inline v0_2::detail {

[[nodiscard]] constexpr std::int64_t value_width(transformer const& m) noexcept { return m.v_width > 0 ? m.v_width : m.head_width; }
[[nodiscard]] constexpr bool has_experts(transformer const& m, std::int64_t layer) noexcept {
  return m.experts > 0 && m.expert_layers.contains(layer);
}
[[nodiscard]] constexpr bool is_windowed(transformer const& m, std::int64_t layer) noexcept {
  return m.window > 0 && m.windowed.contains(layer);
}
[[nodiscard]] constexpr bool is_linear(transformer const& m, std::int64_t layer) noexcept { return m.linear.layers.contains(layer); }
/// The kind of a layer, below 8: layers of one kind have the same costs.
[[nodiscard]] constexpr unsigned kind_of(transformer const& m, std::int64_t layer) noexcept {
  return (has_experts(m, layer) ? 1U : 0U) + (is_windowed(m, layer) ? 2U : 0U) + (is_linear(m, layer) ? 4U : 0U);
}
/// Widths of linear attention: all values; queries, keys, values and the gate of the output; what all-to-alls exchange for heads.
[[nodiscard]] constexpr std::int64_t linear_values(transformer const& m) noexcept { return m.linear.value_heads * m.linear.value_width; }
[[nodiscard]] constexpr std::int64_t linear_inputs(transformer const& m) noexcept { return m.linear.convolved() + linear_values(m); }
[[nodiscard]] constexpr std::int64_t linear_exchanged(transformer const& m) noexcept { return linear_inputs(m) + 2 * m.linear.value_heads; }
/// Widths of compressed queries, keys and values.
[[nodiscard]] constexpr std::int64_t latent_values(transformer const& m, std::int64_t layer) noexcept {
  return m.kv_rank > 0 && !is_linear(m, layer) ? m.q_rank + m.kv_rank : 0;
}
/// Weights of the attention's matrices: each takes two FLOPs per token.
[[nodiscard]] constexpr std::int64_t attention_matrices(transformer const& m, std::int64_t layer) noexcept {
  if (is_linear(m, layer)) return m.hidden * (linear_inputs(m) + 2 * m.linear.value_heads + linear_values(m));
  auto const output = m.query_heads * value_width(m), q = m.query_heads * m.head_width * (m.output_gate ? 2 : 1);
  if (m.kv_rank == 0) return m.hidden * (q + m.kv_heads * (m.head_width + value_width(m)) + output);
  auto const queries = m.q_rank > 0 ? m.q_rank * (m.hidden + q) : m.hidden * q;
  auto const up = m.query_heads * (m.head_width - m.rope_width + value_width(m));
  return queries + m.hidden * (m.kv_rank + m.rope_width) + m.kv_rank * up + output * m.hidden;
}
[[nodiscard]] constexpr std::int64_t ffn_matrices(transformer const& m, std::int64_t width) noexcept {
  return (m.gated ? 3 : 2) * m.hidden * width;
}
/// Weights of the feed-forward matrices, the router included, if a token visits `visited` experts.
[[nodiscard]] constexpr std::int64_t layer_ffn_matrices(transformer const& m, std::int64_t layer, std::int64_t visited) noexcept {
  if (!has_experts(m, layer)) return ffn_matrices(m, m.ffn);
  return m.hidden * (m.experts + (m.shared_gate ? 1 : 0)) + visited * ffn_matrices(m, m.expert_ffn) + ffn_matrices(m, m.shared_ffn);
}
/// Weights of attention that are not in matrices and that tensor parallelism splits: biases, scores of sinks; the convolution, decay and
/// step of linear attention.
[[nodiscard]] constexpr std::int64_t attention_vectors(transformer const& m, std::int64_t layer) noexcept {
  if (is_linear(m, layer)) return m.linear.convolved() * m.linear.kernel + 2 * m.linear.value_heads;
  auto const qkv = m.query_heads * m.head_width * (m.output_gate ? 2 : 1) + m.kv_heads * (m.head_width + value_width(m));
  return (m.qkv_bias ? qkv : 0) + (m.sinks ? m.query_heads : 0);
}
/// Weights of attention that each device of a tensor-parallel group has: the output's bias, and norms inside attention.
[[nodiscard]] constexpr std::int64_t attention_norms(transformer const& m, std::int64_t layer) noexcept {
  return is_linear(m, layer) ? m.linear.value_width : (m.output_bias ? m.hidden : 0) + m.q_rank + m.kv_rank + m.qk_norm;
}
/// Values that a layer keeps for each token whatever its blocks are: inputs of norms, and inputs of the blocks.
[[nodiscard]] constexpr std::int64_t residual_values(transformer const& m) noexcept { return ((m.parallel ? 1 : 2) + m.norms) * m.hidden; }
/// Weights of a norm as wide as the residual stream.
[[nodiscard]] constexpr std::int64_t norm_vectors(transformer const& m) noexcept {
  return m.norm_weights ? m.hidden * (m.norm_bias ? 2 : 1) : 0;
}
/// Weights that are not in matrices: biases, norms, scales.
[[nodiscard]] constexpr std::int64_t layer_vectors(transformer const& m, std::int64_t layer, std::int64_t visited) noexcept {
  auto const ffn_bias = [&](std::int64_t width) { return m.ffn_bias && width > 0 ? (m.gated ? 2 : 1) * width + m.hidden : 0; };
  auto const experts = has_experts(m, layer);
  return attention_vectors(m, layer) + attention_norms(m, layer) +
         (experts ? visited * ffn_bias(m.expert_ffn) + ffn_bias(m.shared_ffn) + (m.router_bias ? m.experts : 0) : ffn_bias(m.ffn)) +
         m.norms * norm_vectors(m) + (m.layer_scale ? 2 * m.hidden : 0);
}
[[nodiscard]] constexpr std::int64_t all_parameters(transformer const& m, bool active) {
  require_valid(m);
  auto sum = m.vocabulary * (m.hidden * (m.tied ? 1 : 2) + (m.head_bias ? 1 : 0)) + m.positions * m.hidden + m.other_weights +
             (m.final_norm ? norm_vectors(m) : 0);
  auto const visited = active ? m.active_experts : m.experts;
  for (std::int64_t l = 0; l < m.layers; ++l)
    sum += attention_matrices(m, l) + layer_ffn_matrices(m, l, visited) + layer_vectors(m, l, visited);
  return sum;
}
constexpr void require_layer(transformer const& m, std::int64_t layer) {
  require_valid(m);
  require(layer >= 0 && layer < m.layers, [&] { return sentence("layer = ", layer, " must be in [0, ", m.layers, ")"); });
}

}  // namespace ballast::inline v0_2::detail
