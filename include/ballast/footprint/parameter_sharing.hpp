// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/footprint/memory.hpp>
#include <ballast/footprint/optimizer.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief Parameters that several layers share: what a stack of equal layers stores, exchanges and computes.

namespace ballast::inline v0_2 {

/// @brief How many layers of a stack use the same parameters.
struct parameter_sharing {
  std::int64_t layers = 1;  ///< neighbours that use one set of parameters, at least 1; 1: every layer has its own

  friend constexpr bool operator==(parameter_sharing const&, parameter_sharing const&) = default;
};

/// @brief Every layer has parameters of its own.
inline constexpr parameter_sharing own_parameters{};

/// @brief Several neighbours use one set of parameters.
/// @param layers  number of layers that share, at least 1
/// @return the sharing
[[nodiscard]] constexpr parameter_sharing shared_parameters(std::int64_t layers) noexcept { return {layers}; }

/// @brief A stack of equal layers.
struct layer_stack {
  std::int64_t layers = 1;      ///< number of layers, 1 … 2^20
  std::int64_t parameters = 0;  ///< parameters that one layer uses
  std::int64_t flops = 0;       ///< FLOPs of one layer, of whatever work is compared

  friend constexpr bool operator==(layer_stack const&, layer_stack const&) = default;
};

/// @brief What a stack of layers costs on devices that divide its parameters evenly.
struct stack_costs {
  std::int64_t parameters = 0;  ///< parameters stored, on all devices together
  std::int64_t mine = 0;        ///< parameters stored on one device, rounded up
  state_size states{};          ///< bytes of the states of those parameters
  std::int64_t exchange = 0;    ///< bytes of one gradient of all stored parameters: what data-parallel ranks would sum
  std::int64_t flops = 0;       ///< FLOPs of all layers: sharing does not change them

  friend constexpr bool operator==(stack_costs const&, stack_costs const&) = default;
};

/// @brief Sets of parameters that a stack stores.
/// @param layers   number of layers, at least 1
/// @param sharing  how many neighbours share a set
/// @return the number of sets; the last one may have fewer layers than the others
/// @throws invalid_input if a number is not positive
[[nodiscard]] constexpr std::int64_t parameter_sets(std::int64_t layers, parameter_sharing const& sharing) {
  detail::require_within("layers", layers, 1, std::int64_t{1} << 20);
  detail::require_within("sharing.layers", sharing.layers, 1, std::int64_t{1} << 20);
  return divide_up(layers, sharing.layers);
}

/// @brief Evaluates a stack of layers: if L layers share, parameters, states and gradient exchange are 1/L, and FLOPs are unchanged.
///
/// The parameters are divided over the devices, as experts and ZeRO stage 3 divide them. Activations are not counted.
///
/// @param stack         the layers
/// @param sharing       which of them share parameters
/// @param device_count  number of devices, 1 … 2^24
/// @param state         bytes per parameter for each kind of state, at most 256
/// @return the costs
/// @throws invalid_input if an argument is out of range, or if all layers together have 2^52 parameters or 2^62 FLOPs or more
/// @par Complexity
/// O(1).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Lin et al., "M6-10T", arXiv 2110.03888: the Pseudo stage shares the parameters of all layers.
[[nodiscard]] constexpr stack_costs evaluate_stack(layer_stack const& stack, parameter_sharing const& sharing, std::int64_t device_count,
                                                   training_state const& state = {}) {
  auto const sets = parameter_sets(stack.layers, sharing);
  detail::require_within("parameters", stack.parameters, 0, (std::int64_t{1} << 52) / stack.layers);
  detail::require_within("flops", stack.flops, 0, (std::int64_t{1} << 62) / stack.layers);
  detail::require_within("device_count", device_count, 1, 1 << 24);
  detail::require_within("parameter", state.parameter, 0, 256);
  detail::require_within("gradient", state.gradient, 0, 256);
  detail::require_within("optimizer", state.optimizer, 0, 256);
  auto const parameters = sets * stack.parameters;
  auto const mine = divide_up(parameters, device_count);
  return {.parameters = parameters,
          .mine = mine,
          .states = {mine * state.parameter, mine * state.gradient, mine * state.optimizer},
          .exchange = parameters * state.gradient,
          .flops = stack.layers * stack.flops};
}

}  // namespace ballast::inline v0_2
