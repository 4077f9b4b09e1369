// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/attention.hpp>
#include <ballast/cost/detail/transformer_counts.hpp>
#include <ballast/cost/transformer_cost.hpp>
#include <ballast/cost/transformer_shape.hpp>

#include <cstdint>
#include <numeric>

/// @file
/// @brief Counts of a transformer, for the model and per layer: parameters, FLOPs, activation bytes, and the cost of one sample.
///
/// FLOPs are those of the matrix products of one forward pass, two for each multiplication with addition; a training step takes three times
/// as many (`training_factor`). Norms, activation functions and softmax are not counted, as in every published count. Sources: Narayanan et
/// al., arXiv 2104.04473; Korthikanti et al., arXiv 2205.05198; DeepSeek-AI, arXiv 2405.04434 (multi-head latent attention).

namespace ballast::inline v0_2 {

/// @brief FLOPs of a training step over those of its forward pass: the backward pass has two products for each product of the forward.
inline constexpr std::int64_t training_factor = 3;

/// @brief Number of parameters of a model: embedding, positions, layers, final norm and, if it is not tied, the head.
///
/// Layers for multi-token prediction are left out, as in published counts (`mtp_parameters`).
/// @param model  the shape
/// @return the number of parameters
/// @throws invalid_input as `require_valid`
[[nodiscard]] constexpr std::int64_t parameters(transformer const& model) { return detail::all_parameters(model, false); }

/// @brief Number of parameters that one token uses: all but those of the experts that it is not sent to.
/// @param model  the shape
/// @return the number of parameters
/// @throws invalid_input as `require_valid`
[[nodiscard]] constexpr std::int64_t active_parameters(transformer const& model) { return detail::all_parameters(model, true); }

/// @brief Number of parameters of one layer, all experts included.
/// @param model  the shape
/// @param layer  0 … layers - 1
/// @return the number of parameters
/// @throws invalid_input as `require_valid`, or if `layer` is out of range
[[nodiscard]] constexpr std::int64_t layer_parameters(transformer const& model, std::int64_t layer) {
  detail::require_layer(model, layer);
  return detail::attention_matrices(model, layer) + detail::layer_ffn_matrices(model, layer, model.experts) +
         detail::layer_vectors(model, layer, model.experts);
}

/// @brief Number of parameters of the layers for multi-token prediction, without the embedding and the head, which are those of the model.
///
/// Each is a layer like the last one, a matrix that merges the hidden state with the embedding of the next token (2 h x h), a norm for each
/// of both, and a norm in front of the head. Files of weights may hold copies of the embedding and of the head for each of them.
///
/// @param model  the shape
/// @return the number of parameters, all experts included; 0 if `mtp_layers` is 0
/// @throws invalid_input as `require_valid`
/// @par Source
/// DeepSeek-AI, "DeepSeek-V3 technical report", arXiv 2412.19437, section 2.2.
[[nodiscard]] constexpr std::int64_t mtp_parameters(transformer const& model) {
  auto const h = model.hidden;
  return model.mtp_layers * (layer_parameters(model, model.layers - 1) + 2 * h * h + 3 * detail::norm_vectors(model));
}

/// @brief Bytes of activations that one layer keeps per token from forward to backward, without recomputation, in a 16-bit format.
///
/// Every matrix and every norm keeps its input, attention its queries, keys and values, and an activation function its input. This is the
/// count of Korthikanti et al., arXiv 2205.05198, section 4. Their s b h (34 + 5 a s / h) is for plain attention, a feed-forward width of
/// 4 h, and dropout; here the quadratic part is absent, because fused kernels recompute scores, and the two dropout masks are counted only
/// with `dropout`. Statistics of norms and softmax are not counted, as there, nor what a kernel of linear attention keeps of its chunks.
/// State-space layers keep what the fused kernels of state-spaces/mamba keep, which convolve and scan again in the backward pass.
///
/// @param model    the shape
/// @param layer    0 … layers - 1
/// @param dropout  whether the outputs of both blocks pass through dropout, one byte per value
/// @return bytes per token
/// @throws invalid_input as `require_valid`, or if `layer` is out of range
[[nodiscard]] constexpr std::int64_t activation_bytes_per_token(transformer const& model, std::int64_t layer, bool dropout = false) {
  detail::require_layer(model, layer);
  auto const attention = [&] {
    auto const& m = model.linear;  // the convolution's input and output, decay and step, the gate, the norm's input and output
    auto const others = detail::recurrent_kept(model, layer) + (detail::is_indexed(model, layer) ? detail::index_kept(model) / 2 : 0);
    if (detail::is_linear(model, layer)) return 2 * (m.convolved() + m.value_heads) + 3 * detail::linear_values(model) + others;
    if (!detail::is_scored(model, layer)) return others;
    auto const v = detail::value_width(model);
    auto const kv_heads = model.kv_rank > 0 ? model.query_heads : model.kv_heads;  // the kernel takes expanded keys and values
    auto const gate = model.output_gate ? 2 * model.query_heads * v : 0;           // and the output behind it
    return model.query_heads * (model.head_width + v) + kv_heads * (model.head_width + v) + gate + 2 * detail::latent_values(model, layer) +
           others;
  }();
  auto const ffn = [&](std::int64_t width) { return (model.gated ? 3 : 2) * width; };
  auto const experts = detail::has_experts(model, layer);
  auto const inner = experts ? model.active_experts * (model.hidden + ffn(model.expert_ffn)) + ffn(model.shared_ffn)
                             : ffn(detail::dense_ffn(model, layer));
  return 2 * (detail::residual_values(model, layer) + attention + inner) + (dropout ? 2 * model.hidden : 0);
}

/// @brief Forward FLOPs of one layer for one sample.
///
/// A layer with linear attention has no pairs: a token costs the convolution and, in each value head, four products as large as the state:
/// keys with keys, values with keys, the step of the state, and the state with the query. Megatron-LM counts so (`training/training.py`).
/// A state-space layer of Mamba-2 has the convolution and, with chunks of Q tokens, (Q + 1) (g n + d) + 4 d n FLOPs a token: C B^T for g
/// groups and its product with x in the causal half of a chunk, the state of the chunk, and its product with C (Dao, Gu, arXiv 2405.21060,
/// section 6). Mamba-1 has 7 d n, as Megatron-LM counts. A layer with an indexer has the pairs of its window, and those of the indexer.
/// @param model  the shape
/// @param layer  0 … layers - 1
/// @return a cost in FLOPs
/// @throws invalid_input as `require_valid`, or if `layer` is out of range
[[nodiscard]] constexpr transformer_cost layer_flops(transformer const& model, std::int64_t layer) {
  detail::require_layer(model, layer);
  attention_heads const heads{.count = model.query_heads, .qk_width = model.head_width, .v_width = detail::value_width(model)};
  auto const windowed = detail::is_windowed(model, layer), indexed = detail::is_indexed(model, layer);
  auto const per_pair = detail::is_scored(model, layer) ? heads.flops_per_pair() : 0;
  auto per_token = 2 * (detail::attention_matrices(model, layer) + detail::layer_ffn_matrices(model, layer, model.active_experts));
  if (detail::is_linear(model, layer)) {
    auto const& m = model.linear;
    per_token += 2 * (m.kernel * m.convolved() + 4 * m.value_heads * m.key_width * m.value_width);
  }
  if (detail::is_space(model, layer)) per_token += 2 * model.space.kernel * model.space.convolved() + detail::scan_flops(model.space);
  if (detail::is_conv(model, layer)) per_token += 2 * model.conv.kernel * model.hidden;
  return {.per_token = per_token,
          .per_pair = (windowed ? 0 : per_pair) + (indexed ? detail::index_pair_flops(model) : 0),
          .per_windowed_pair = windowed ? per_pair : 0,
          .window = model.window,
          .causal = model.causal,
          .chunked = model.chunked};
}

/// @brief Forward FLOPs of the head, per token with a label. The embedding is a look-up and has no FLOPs.
/// @param model  the shape
/// @return FLOPs per token
/// @throws invalid_input as `require_valid`
[[nodiscard]] constexpr std::int64_t head_flops_per_token(transformer const& model) {
  require_valid(model);
  return 2 * head_rows(model) * model.hidden;
}

/// @brief Forward FLOPs of one layer for multi-token prediction for one sample: a layer like the last one, the merging matrix, and the
/// head.
///
/// All tokens of the sample are counted, though a layer that predicts the token d + 1 further on has d tokens less.
/// @param model  the shape
/// @return a cost in FLOPs
/// @throws invalid_input as `require_valid`
[[nodiscard]] constexpr transformer_cost mtp_layer_flops(transformer const& model) {
  auto cost = layer_flops(model, model.layers - 1);
  cost.per_token += 4 * model.hidden * model.hidden + head_flops_per_token(model);
  return cost;
}

/// @brief Forward FLOPs of the model, layers and head, for one sample, with those of the layers for multi-token prediction.
/// @param model  the shape
/// @return a cost in FLOPs
/// @throws invalid_input as `require_valid`
[[nodiscard]] constexpr transformer_cost forward_flops(transformer const& model) {
  transformer_cost sum{.per_token = head_flops_per_token(model), .window = model.window, .causal = model.causal, .chunked = model.chunked};
  for (std::int64_t l = 0; l < model.layers + model.mtp_layers; ++l) {
    auto const layer = l < model.layers ? layer_flops(model, l) : mtp_layer_flops(model);
    sum.per_token += layer.per_token;
    sum.per_pair += layer.per_pair;
    sum.per_windowed_pair += layer.per_windowed_pair;
  }
  return sum;
}

/// @brief The cost of a sample: `forward_flops` divided by the greatest common divisor of its coefficients, so it stays exact.
///
/// With this unit, the sum over a data set has room in 63 bits. `.quadratic()` gives the same cost in the form a l + l^2; for
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
