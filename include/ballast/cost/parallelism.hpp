// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/transformer_shape.hpp>

#include <cstdint>

/// @file
/// @brief `parallelism`, `recomputation`, `training_state`: how a model is distributed, what is computed again, and bytes per parameter.

namespace ballast::inline v0_2 {

/// @brief How a model is distributed over devices, as far as memory depends on it.
struct parallelism {
  std::int64_t tensor = 1;         ///< tensor-parallel degree (TP)
  std::int64_t context = 1;        ///< context-parallel (CP) or Ulysses degree: devices that share the tokens of a sequence
  std::int64_t data = 1;           ///< devices over which ZeRO shards states (data-parallel and context-parallel ones together)
  bool sequence_parallel = false;  ///< sequence parallelism (SP): norms and dropout are split along the sequence over the TP group
  int zero = 0;                    ///< ZeRO stage: 1 shards optimiser states, 2 gradients too, 3 parameters too

  friend constexpr bool operator==(parallelism const&, parallelism const&) = default;
};

/// @brief What of a layer is computed again in the backward pass.
enum class recomputation : std::uint8_t {
  none,       ///< nothing
  selective,  ///< attention scores if they are stored, otherwise the inner activations of the feed-forward block
  full,       ///< everything: only the input of the layer is kept
};

/// @brief Bytes per parameter for each kind of state. Default: mixed precision with Adam and float32 gradients, 18 bytes in total.
struct training_state {
  std::int64_t parameter = 2;   ///< parameter, in the format of the computation
  std::int64_t gradient = 4;    ///< the accumulated gradient
  std::int64_t optimizer = 12;  ///< optimiser: float32 master copy and two moments

  friend constexpr bool operator==(training_state const&, training_state const&) = default;
};

/// @brief Throws unless all degrees are in range.
/// @param spread  the degrees
/// @throws invalid_input naming the field
constexpr void require_valid(parallelism const& spread) {
  detail::require_within("tensor", spread.tensor, 1, 1 << 16);
  detail::require_within("context", spread.context, 1, 1 << 20);
  detail::require_within("data", spread.data, 1, 1 << 24);
  detail::require_within("zero", spread.zero, 0, 3);
}

}  // namespace ballast::inline v0_2
