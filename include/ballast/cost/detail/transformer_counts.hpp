// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/cost/transformer_shape.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

// Numbers of weights of a transformer by kind. Private.

namespace ballast::inline v0_2::detail {

[[nodiscard]] constexpr std::int64_t value_width(transformer const& m) noexcept { return m.v_width > 0 ? m.v_width : m.head_width; }
[[nodiscard]] constexpr bool has_ffn(transformer const& m, std::int64_t layer) noexcept { return m.ffn_layers.contains(layer); }
[[nodiscard]] constexpr bool has_experts(transformer const& m, std::int64_t layer) noexcept {
  return m.experts > 0 && m.expert_layers.contains(layer) && has_ffn(m, layer);
}
/// Width of the dense feed-forward block, if the layer has no experts.
[[nodiscard]] constexpr std::int64_t dense_ffn(transformer const& m, std::int64_t layer) noexcept { return has_ffn(m, layer) ? m.ffn : 0; }
[[nodiscard]] constexpr bool is_linear(transformer const& m, std::int64_t layer) noexcept {
  return m.linear.layers.contains(layer) && m.attention_layers.contains(layer);
}
[[nodiscard]] constexpr bool is_space(transformer const& m, std::int64_t layer) noexcept { return m.space.layers.contains(layer); }
[[nodiscard]] constexpr bool is_conv(transformer const& m, std::int64_t layer) noexcept { return m.conv.layers.contains(layer); }
/// Whether a layer has attention with scores.
[[nodiscard]] constexpr bool is_scored(transformer const& m, std::int64_t layer) noexcept {
  return m.attention_layers.contains(layer) && !is_linear(m, layer);
}
[[nodiscard]] constexpr bool is_windowed(transformer const& m, std::int64_t layer) noexcept {
  return m.window > 0 && m.windowed.contains(layer);
}
[[nodiscard]] constexpr bool is_indexed(transformer const& m, std::int64_t layer) noexcept {
  return m.index.heads > 0 && is_windowed(m, layer) && is_scored(m, layer);
}
/// Whether a layer has a block that mixes tokens.
[[nodiscard]] constexpr bool has_mixer(transformer const& m, std::int64_t layer) noexcept {
  return m.attention_layers.contains(layer) || is_space(m, layer) || is_conv(m, layer);
}
/// Blocks with an input of their own.
[[nodiscard]] constexpr std::int64_t blocks_of(transformer const& m, std::int64_t layer) noexcept {
  return m.parallel ? 1 : (has_mixer(m, layer) ? 1 : 0) + (has_ffn(m, layer) ? 1 : 0);
}
/// The kind of a layer, below `layer_kinds`: layers of one kind have the same costs.
inline constexpr unsigned layer_kinds = 128;
[[nodiscard]] constexpr unsigned kind_of(transformer const& m, std::int64_t layer) noexcept {
  return (has_experts(m, layer) ? 1U : 0U) + (is_windowed(m, layer) ? 2U : 0U) + (is_linear(m, layer) ? 4U : 0U) +
         (is_space(m, layer) ? 8U : 0U) + (is_conv(m, layer) ? 16U : 0U) + (m.attention_layers.contains(layer) ? 0U : 32U) +
         (has_ffn(m, layer) ? 0U : 64U);
}
/// Numbers the kinds of a model's layers in the order in which they are asked for. Windows make no kind.
class kind_numbers {
 public:
  static constexpr std::size_t most = 8;
  explicit constexpr kind_numbers(transformer const& model) noexcept : model_(model) {}
  [[nodiscard]] constexpr std::size_t operator()(std::int64_t layer) {
    auto const code = kind_of(model_, layer) & ~2U;
    std::size_t i = 0;
    while (i < size_ && codes_[i] != code) ++i;
    if (i < size_) return i;
    require(i < most, [] { return "the model has more than 8 kinds of layers"; });
    codes_[i] = code, first_[i] = layer;
    return size_++;
  }
  /// The first layer of a kind that was asked for.
  [[nodiscard]] constexpr std::int64_t first(std::size_t kind) const noexcept { return first_[kind]; }

 private:
  transformer const& model_;
  std::array<unsigned, most> codes_{};
  std::array<std::int64_t, most> first_{};
  std::size_t size_ = 0;
};
/// Widths of state-space layers: what the first matrix makes; what all-to-alls exchange for heads.
[[nodiscard]] constexpr std::int64_t space_inputs(state_space const& s) noexcept {
  return s.inner() + s.convolved() + (s.step_rank > 0 ? 0 : s.heads);
}
[[nodiscard]] constexpr std::int64_t space_exchanged(state_space const& s) noexcept { return space_inputs(s) + s.inner(); }
/// What Mamba-1 makes of its convolved x.
[[nodiscard]] constexpr std::int64_t space_compressed(state_space const& s) noexcept {
  return s.step_rank > 0 ? s.step_rank + 2 * s.state : 0;
}
[[nodiscard]] constexpr std::int64_t space_matrices(state_space const& s, std::int64_t hidden) noexcept {
  return hidden * (space_inputs(s) + s.inner()) + s.inner() * (space_compressed(s) + s.step_rank);
}
/// Convolution, decays, steps and skips; the gated norm of Mamba-2.
[[nodiscard]] constexpr std::int64_t space_vectors(state_space const& s) noexcept {
  auto const scan = s.step_rank > 0 ? s.inner() * (s.state + 2) : 3 * s.heads + (s.norm ? s.inner() : 0);
  return s.convolved() * (s.kernel + (s.conv_bias ? 1 : 0)) + scan + (s.bias ? space_inputs(s) : 0);
}
/// FLOPs of a token in the scan. Mamba-2 multiplies matrices: C B^T and its product with x inside the causal half of a chunk, the chunk's
/// state, and C with the state before it. Mamba-1 has seven operations for each number of the state, as Megatron-LM counts.
[[nodiscard]] constexpr std::int64_t scan_flops(state_space const& s) noexcept {
  if (s.step_rank > 0) return 7 * s.inner() * s.state;
  return (s.chunk + 1) * (s.groups * s.state + s.inner()) + 4 * s.inner() * s.state;
}
/// Values that a layer keeps for each token behind its input: as the fused kernels of state-spaces/mamba do, which convolve and scan again.
/// Mamba-2: what the first matrix made, the scan's output, and the inputs of norm and last matrix. Mamba-1: x in front of and behind the
/// convolution, the gate, the steps, and the output in front of and behind the gate; B, C and the compressed steps twice.
[[nodiscard]] constexpr std::int64_t space_kept(state_space const& s) noexcept {
  return s.step_rank > 0 ? 6 * s.inner() + 2 * space_compressed(s) : space_inputs(s) + (s.norm ? 3 : 2) * s.inner();
}
/// The same of a short convolution: both gates and x, the convolution's input and output, and the input of the last matrix.
[[nodiscard]] constexpr std::int64_t conv_kept(transformer const& m) noexcept { return 6 * m.hidden; }
/// Values that a layer keeps in what stands in place of attention, or beside it; tensor parallelism divides them.
[[nodiscard]] constexpr std::int64_t recurrent_kept(transformer const& m, std::int64_t layer) noexcept {
  return (is_space(m, layer) ? space_kept(m.space) : 0) + (is_conv(m, layer) ? conv_kept(m) : 0);
}
/// The indexer: weights of its matrices, FLOPs of a pair, and bytes that it keeps for each token: queries, keys in front of and behind
/// their norm, the weights of its heads, and the chosen keys' numbers.
[[nodiscard]] constexpr std::int64_t index_matrices(transformer const& m) noexcept {
  return m.q_rank * m.index.heads * m.index.width + m.hidden * (m.index.width + m.index.heads);
}
[[nodiscard]] constexpr std::int64_t index_pair_flops(transformer const& m) noexcept { return 2 * m.index.heads * (m.index.width + 1); }
[[nodiscard]] constexpr std::int64_t index_kept(transformer const& m) noexcept {
  return 2 * (m.index.heads * (m.index.width + 1) + 2 * m.index.width) + 4 * m.window;
}
/// Widths of linear attention: all values; queries, keys, values and the gate of the output; what all-to-alls exchange for heads.
[[nodiscard]] constexpr std::int64_t linear_values(transformer const& m) noexcept { return m.linear.value_heads * m.linear.value_width; }
[[nodiscard]] constexpr std::int64_t linear_inputs(transformer const& m) noexcept { return m.linear.convolved() + linear_values(m); }
[[nodiscard]] constexpr std::int64_t linear_exchanged(transformer const& m) noexcept { return linear_inputs(m) + 2 * m.linear.value_heads; }
/// Widths of compressed queries, keys and values.
[[nodiscard]] constexpr std::int64_t latent_values(transformer const& m, std::int64_t layer) noexcept {
  return m.kv_rank > 0 && is_scored(m, layer) ? m.q_rank + m.kv_rank : 0;
}
/// Weights of the matrices of attention alone.
[[nodiscard]] constexpr std::int64_t scored_matrices(transformer const& m, std::int64_t layer) noexcept {
  if (is_linear(m, layer)) return m.hidden * (linear_inputs(m) + 2 * m.linear.value_heads + linear_values(m));
  if (!is_scored(m, layer)) return 0;
  auto const output = m.query_heads * value_width(m), q = m.query_heads * m.head_width * (m.output_gate ? 2 : 1);
  if (m.kv_rank == 0) return m.hidden * (q + m.kv_heads * (m.head_width + value_width(m)) + output);
  auto const queries = m.q_rank > 0 ? m.q_rank * (m.hidden + q) : m.hidden * q;
  auto const up = m.query_heads * (m.head_width - m.rope_width + value_width(m));
  return queries + m.hidden * (m.kv_rank + m.rope_width) + m.kv_rank * up + output * m.hidden;
}
/// Weights of the matrices of attention, and of what stands in its place or beside it: each takes two FLOPs per token.
[[nodiscard]] constexpr std::int64_t attention_matrices(transformer const& m, std::int64_t layer) noexcept {
  return scored_matrices(m, layer) + (is_indexed(m, layer) ? index_matrices(m) : 0) +
         (is_space(m, layer) ? space_matrices(m.space, m.hidden) : 0) + (is_conv(m, layer) ? 4 * m.hidden * m.hidden : 0);
}
[[nodiscard]] constexpr std::int64_t ffn_matrices(transformer const& m, std::int64_t width) noexcept {
  return (m.gated ? 3 : 2) * m.hidden * width;
}
/// Weights of the feed-forward matrices, the router included, if a token visits `visited` experts.
[[nodiscard]] constexpr std::int64_t layer_ffn_matrices(transformer const& m, std::int64_t layer, std::int64_t visited) noexcept {
  if (!has_experts(m, layer)) return ffn_matrices(m, dense_ffn(m, layer));
  return m.hidden * (m.experts + (m.shared_gate ? 1 : 0)) + visited * ffn_matrices(m, m.expert_ffn) + ffn_matrices(m, m.shared_ffn);
}
/// Weights of attention that are not in matrices and that tensor parallelism splits: biases, scores of sinks; the convolution, decay and
/// step of linear attention and of state-space layers; short convolutions.
[[nodiscard]] constexpr std::int64_t attention_vectors(transformer const& m, std::int64_t layer) noexcept {
  auto const others =
      (is_space(m, layer) ? space_vectors(m.space) : 0) + (is_conv(m, layer) ? m.hidden * (m.conv.kernel + (m.conv.bias ? 4 : 0)) : 0);
  if (is_linear(m, layer)) return m.linear.convolved() * m.linear.kernel + 2 * m.linear.value_heads + others;
  if (!is_scored(m, layer)) return others;
  auto const qkv = m.query_heads * m.head_width * (m.output_gate ? 2 : 1) + m.kv_heads * (m.head_width + value_width(m));
  return (m.qkv_bias ? qkv : 0) + (m.sinks ? m.query_heads : 0) + others;
}
/// Weights of attention that each device of a tensor-parallel group has: the output's bias, and norms inside attention.
[[nodiscard]] constexpr std::int64_t attention_norms(transformer const& m, std::int64_t layer) noexcept {
  auto const others = (is_space(m, layer) ? (m.space.norm ? space_compressed(m.space) : 0) + (m.space.bias ? m.hidden : 0) : 0) +
                      (is_conv(m, layer) && m.conv.bias ? m.hidden : 0) + (is_indexed(m, layer) ? 2 * m.index.width : 0);
  if (is_linear(m, layer)) return m.linear.value_width + others;
  return (is_scored(m, layer) ? (m.output_bias ? m.hidden : 0) + m.q_rank + m.kv_rank + m.qk_norm : 0) + others;
}
/// Values that a layer keeps for each token whatever its blocks are: inputs of norms, and inputs of the blocks.
[[nodiscard]] constexpr std::int64_t residual_values(transformer const& m, std::int64_t layer) noexcept {
  return (blocks_of(m, layer) + m.norms) * m.hidden;
}
/// Weights of a norm as wide as the residual stream.
[[nodiscard]] constexpr std::int64_t norm_vectors(transformer const& m) noexcept {
  return m.norm_weights ? m.hidden * (m.norm_bias ? 2 : 1) : 0;
}
/// Weights that are not in matrices: biases, norms, scales.
[[nodiscard]] constexpr std::int64_t layer_vectors(transformer const& m, std::int64_t layer, std::int64_t visited) noexcept {
  auto const ffn_bias = [&](std::int64_t width) { return m.ffn_bias && width > 0 ? (m.gated ? 2 : 1) * width + m.hidden : 0; };
  auto const experts = has_experts(m, layer);
  return attention_vectors(m, layer) + attention_norms(m, layer) +
         (experts ? visited * ffn_bias(m.expert_ffn) + ffn_bias(m.shared_ffn) + (m.router_bias ? m.experts : 0)
                  : ffn_bias(dense_ffn(m, layer))) +
         m.norms * norm_vectors(m) + (m.layer_scale ? 2 * m.hidden : 0);
}
[[nodiscard]] constexpr std::int64_t all_parameters(transformer const& m, bool active) {
  require_valid(m);
  auto sum = m.vocabulary * m.hidden + head_rows(m) * ((shares_head(m) ? 0 : m.hidden) + (m.head_bias ? 1 : 0)) + m.positions * m.hidden +
             m.other_weights + (m.final_norm ? norm_vectors(m) : 0);
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
