// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/layer_matrices.hpp>
#include <ballast/cost/optimizer.hpp>
#include <ballast/cost/transformer.hpp>

#include <cstdint>

/// @file
/// @brief Frozen, trained and low-rank layers: the bytes of their states, and the FLOPs of their forward and backward passes.

namespace ballast::inline v0_2 {

/// @brief Which parameters of a layer are trained.
enum class trained : std::uint8_t {
  all,       ///< all
  none,      ///< none: the layer is frozen
  low_rank,  ///< none of its own: each matrix has an adapter of two small matrices (LoRA)
};

/// @brief Whether a layer, or a part of a model, is trained.
struct trainable {
  trained what = trained::all;  ///< which parameters
  std::int64_t rank = 8;        ///< rank of the adapters, with `trained::low_rank`

  friend constexpr bool operator==(trainable const&, trainable const&) = default;
};

/// @brief Parameters of the adapters of a layer: rank (in + out) for each matrix but the router.
///
/// Queries, keys and values have one adapter each, and so have gate and up (`for_each_matrix`). If you adapt fewer matrices, or fused ones,
/// sum over those yourself.
///
/// @param model  the shape
/// @param layer  0 … layers - 1
/// @param rank   rank of the adapters, 1 … 2^16
/// @return the number of parameters
/// @throws invalid_input as `require_valid`, or if `layer` or `rank` is out of range
/// @par Source
/// Hu et al., "LoRA", arXiv 2106.09685.
[[nodiscard]] constexpr std::int64_t adapter_parameters(transformer const& model, std::int64_t layer, std::int64_t rank) {
  detail::require_within("rank", rank, 1, 1 << 16);
  std::int64_t sum = 0;
  for_each_matrix(model, layer, [&](weight_matrix const& m) { sum += m.router ? 0 : m.copies * rank * (m.in + m.out); });
  return sum;
}

/// @brief Bytes of the states of a layer on all devices of one tensor-parallel group.
///
/// A frozen layer has only its parameters. A layer with adapters has its parameters and the states of the adapters. Norms, biases and
/// scales are counted together, as one vector.
///
/// @param model  the shape
/// @param layer  0 … layers - 1
/// @param by     the optimiser
/// @param is     which parameters are trained
/// @return bytes
/// @throws invalid_input as `require_valid`, or if an argument is out of range
[[nodiscard]] constexpr state_size layer_states(transformer const& model, std::int64_t layer, optimizer const& by,
                                                trainable const& is = {}) {
  detail::require_layer(model, layer);
  if (is.what == trained::low_rank) detail::require_within("rank", is.rank, 1, 1 << 16);
  state_size sum{};
  auto const add = [&](weight_matrix const& m) {
    auto const own = state_bytes(m, by);
    sum += is.what == trained::all ? own : state_size{.parameter = own.parameter};
    if (is.what != trained::low_rank || m.router) return;
    sum += state_bytes({.in = m.in, .out = is.rank, .copies = m.copies}, by);
    sum += state_bytes({.in = is.rank, .out = m.out, .copies = m.copies}, by);
  };
  for_each_matrix(model, layer, add);
  if (auto const n = detail::layer_vectors(model, layer, model.experts); n > 0) {
    auto const own = state_bytes({.in = n}, by);
    sum += is.what == trained::all ? own : state_size{.parameter = own.parameter};
  }
  return sum;
}

/// @brief Backward FLOPs of a matrix over its forward FLOPs.
///
/// The gradient of the weight and the gradient of the input cost as much as the forward pass each. A frozen matrix needs the second one
/// only, and none at all if no parameter in front of it is trained, because the backward pass ends behind it. Together with the forward
/// pass, the factor is 1, 2 or 3. Adapters come on top: their own matrices have a factor of 2 in the backward pass.
///
/// @param is              which parameters are trained
/// @param trained_before  whether a parameter in front of the layer is trained, as in an earlier layer or an embedding
/// @return 0, 1 or 2
[[nodiscard]] constexpr std::int64_t backward_factor(trainable const& is, bool trained_before) noexcept {
  if (is.what == trained::all) return 2;
  return is.what == trained::low_rank || trained_before ? 1 : 0;
}

/// @brief FLOPs of a layer in training.
struct training_flops {
  transformer_cost forward{};   ///< forward pass, adapters included
  transformer_cost backward{};  ///< backward pass, without recomputation
};

/// @brief FLOPs of one layer for one sample, forward and backward, by what is trained.
///
/// Matrices count as in `backward_factor`. Attention has no weights: its backward pass costs twice its forward pass whenever gradients pass
/// through the layer. In the first trained layer the gradients of the first inputs are counted, although nothing uses them.
///
/// @param model           the shape
/// @param layer           0 … layers - 1
/// @param is              which parameters of the layer are trained
/// @param trained_before  whether a parameter in front of the layer is trained
/// @return costs in FLOPs
/// @throws invalid_input as `require_valid`, or if an argument is out of range
[[nodiscard]] constexpr training_flops layer_training_flops(transformer const& model, std::int64_t layer, trainable const& is,
                                                            bool trained_before) {
  auto const flops = layer_flops(model, layer);
  std::int64_t adapters = 0;
  if (is.what == trained::low_rank) {
    detail::require_within("rank", is.rank, 1, 1 << 16);
    for_each_matrix(model, layer, [&](weight_matrix const& m) { adapters += m.router ? 0 : 2 * m.visited * is.rank * (m.in + m.out); });
  }
  auto const factor = backward_factor(is, trained_before);
  auto const pairs = factor > 0 ? 2 : 0;
  training_flops both{.forward = flops, .backward = flops};
  both.forward.per_token += adapters;
  both.backward.per_token = factor * flops.per_token + 2 * adapters;
  both.backward.per_pair *= pairs;
  both.backward.per_windowed_pair *= pairs;
  return both;
}

}  // namespace ballast::inline v0_2
