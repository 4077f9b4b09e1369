// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/cost/layer_matrices.hpp>
#include <ballast/cost/parameter_groups.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/memory.hpp>
#include <ballast/footprint/optimizer.hpp>

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

/// @brief Which matrices of a layer have an adapter, with `trained::low_rank`. Routers never have one.
enum class adapted_matrices : std::uint8_t {
  every_matrix,        ///< all matrices
  queries_and_values,  ///< those of queries and values: the default of litgpt, and of peft for most models
};

/// @brief How matrices that are not trained are in memory, where a file of quantised weights says it.
struct stored_weights {
  std::int64_t bits = 0;      ///< of a weight, in thousandths, scales and zero points included; 0: the matrices are in 16 bits
  bool experts_only = false;  ///< whether only the matrices of routed experts are so; if not, all matrices of layers but routers

  /// @brief Bytes of some weights. @param parameters their number, in [0, 2^48] @return bytes, rounded up
  [[nodiscard]] constexpr std::int64_t bytes(std::int64_t parameters) const noexcept {
    return divide_up(parameters * bits, std::int64_t{8000});
  }
  friend constexpr bool operator==(stored_weights const&, stored_weights const&) = default;
};

/// @brief Whether a layer, or a part of a model, is trained.
struct trainable {
  trained what = trained::all;  ///< which parameters
  std::int64_t rank = 8;        ///< rank of the adapters, with `trained::low_rank`
  bool quantised = false;       ///< with `trained::low_rank`: whether the matrices of layers, but routers, are in four bits (QLoRA)
  adapted_matrices matrices = adapted_matrices::every_matrix;  ///< which matrices have an adapter, with `trained::low_rank`
  stored_weights stored{};                                     ///< unless all are trained: how matrices are in memory

  /// @brief Whether a matrix has an adapter. @param m the matrix @return false unless `what` is `trained::low_rank`
  [[nodiscard]] constexpr bool adapts(weight_matrix const& m) const noexcept {
    return what == trained::low_rank && !m.router && (matrices == adapted_matrices::every_matrix || m.query_or_value);
  }
  friend constexpr bool operator==(trainable const&, trainable const&) = default;
};

/// @brief Bytes of parameters in four bits: half a byte each, an 8-bit scale for every 64, and a float32 for every 256 scales (NF4 with
/// double quantisation: 4.127 bits a parameter).
/// @param parameters  number of parameters, in [0, 2^52]
/// @return bytes, each part rounded up
/// @par Source
/// Dettmers et al., "QLoRA", arXiv 2305.14314.
[[nodiscard]] constexpr std::int64_t quantised_bytes(std::int64_t parameters) noexcept {
  auto const scales = divide_up(parameters, std::int64_t{64});
  return divide_up(parameters, std::int64_t{2}) + scales + 4 * divide_up(scales, std::int64_t{256});
}

/// @brief Parameters of the adapters of a layer: rank (in + out) for each matrix but the router.
///
/// Queries, keys and values have one adapter each, and so have gate and up (`for_each_matrix`). If you adapt fewer matrices,
/// `layer_states` counts those of `trainable::matrices`; sum over fused ones yourself.
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

/// @brief Bytes of states, by the devices that hold them: as `parameter_groups`, for each kind of state.
struct grouped_states {
  state_size sharded{};     ///< each device of a tensor-parallel group has a part
  state_size replicated{};  ///< each device of a tensor-parallel group has all
  state_size experts{};     ///< routed experts

  /// @brief All bytes together, those on one device of each kind.
  [[nodiscard]] constexpr state_size total() const noexcept {
    auto sum = sharded;
    sum += replicated;
    sum += experts;
    return sum;
  }
  friend constexpr bool operator==(grouped_states const&, grouped_states const&) = default;
};

/// @brief Bytes of the states of parameters whose shapes do not matter, such as an embedding or a head.
///
/// They are counted as vectors: GaLore does not project them, and Adafactor does not factor them.
///
/// @param parameters  numbers of parameters by group, each at most 2^52
/// @param by          the optimiser
/// @param is          which of them are trained; adapters are for the matrices of layers alone, so `trained::low_rank` is frozen here
/// @return bytes by group
/// @throws invalid_input if an argument is out of range
[[nodiscard]] constexpr grouped_states states_of(parameter_groups const& parameters, optimizer const& by, trainable const& is = {}) {
  auto const of = [&](std::int64_t n) {
    if (n == 0) return state_size{};
    auto const all = state_bytes({.in = n}, by);
    return is.what == trained::all ? all : state_size{.parameter = all.parameter};
  };
  return {of(parameters.sharded), of(parameters.replicated), of(parameters.experts)};
}

/// @brief Bytes of the states of a layer, by the devices that hold them.
///
/// A frozen layer has only its parameters. A layer with adapters has its parameters and the states of the adapters. An adapter belongs to
/// the group of its matrix. Norms, biases and scales of a group are counted together, as one vector.
///
/// @param model  the shape
/// @param layer  0 … layers - 1
/// @param by     the optimiser
/// @param is     which parameters are trained
/// @return bytes on all devices of one tensor-parallel group, by group
/// @throws invalid_input as `require_valid`, or if an argument is out of range
[[nodiscard]] constexpr grouped_states layer_states(transformer const& model, std::int64_t layer, optimizer const& by,
                                                    trainable const& is = {}) {
  auto vectors = layer_parameter_groups(model, layer);
  if (is.what == trained::low_rank) detail::require_within("rank", is.rank, 1, 1 << 16);
  grouped_states sum{};
  for_each_matrix(model, layer, [&](weight_matrix const& m) {
    auto& group = m.expert ? sum.experts : m.replicated ? sum.replicated : sum.sharded;
    (m.expert ? vectors.experts : m.replicated ? vectors.replicated : vectors.sharded) -= m.copies * m.in * m.out;
    auto own = state_bytes(m, by);
    if (is.what == trained::low_rank && is.quantised && !m.router) own.parameter = quantised_bytes(m.copies * m.in * m.out);
    if (is.what != trained::all && is.stored.bits > 0 && !m.router && (m.expert || !is.stored.experts_only))
      own.parameter = is.stored.bytes(m.copies * m.in * m.out);
    group += is.what == trained::all ? own : state_size{.parameter = own.parameter};
    if (!is.adapts(m)) return;
    group += state_bytes({.in = m.in, .out = is.rank, .copies = m.copies}, by);
    group += state_bytes({.in = is.rank, .out = m.out, .copies = m.copies}, by);
  });
  auto const rest = states_of(vectors, by, is);
  sum.sharded += rest.sharded;
  sum.replicated += rest.replicated;
  sum.experts += rest.experts;
  return sum;
}

/// @brief Bytes of states on one device under tensor and expert parallelism and ZeRO.
/// @param states  bytes by group; see `layer_states`
/// @param spread  degrees within the pipeline stage
/// @param by      how experts are distributed
/// @param instances  groups of ranks that shard the states each for themselves (Megatron-LM's `--num-distributed-optimizer-instances`); a
///                   divisor of `data`
/// @return bytes of each kind of state, each share rounded up
/// @throws invalid_input as `require_valid` of the degrees
[[nodiscard]] constexpr state_size device_states(grouped_states const& states, parallelism const& spread, expert_parallelism const& by,
                                                 std::int64_t instances = 1) {
  require_valid(by, spread);
  auto const of = [&](state_size const& all, std::int64_t parts, std::int64_t group) {
    auto const ranks = instances == 1 ? group : divide_up(group, instances);
    state_size const mine{divide_up(all.parameter, parts), divide_up(all.gradient, parts), divide_up(all.optimizer, parts)};
    return state_size{spread.zero >= 3 ? divide_up(mine.parameter, ranks) : mine.parameter,
                      spread.zero >= 2 ? divide_up(mine.gradient, ranks) : mine.gradient,
                      spread.zero >= 1 ? divide_up(mine.optimizer, ranks) : mine.optimizer};
  };
  auto const parts = by.expert * by.expert_tensor;
  auto sum = of(states.sharded, spread.tensor, spread.data);
  sum += of(states.replicated, 1, spread.data);
  sum += of(states.experts, parts, spread.tensor * spread.data / parts);
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
    for_each_matrix(model, layer, [&](weight_matrix const& m) { adapters += is.adapts(m) ? 2 * m.visited * is.rank * (m.in + m.out) : 0; });
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
