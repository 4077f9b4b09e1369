// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/device.hpp>
#include <ballast/cost/evaluate.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/transformer_cost.hpp>

#include <algorithm>
#include <cstdint>

/// @file
/// @brief `cluster`: the devices that a model is trained on, with the rates that follow from them.

namespace ballast::inline v0_2 {

/// @brief The devices of a training. All data-parallel ranks have the same.
struct cluster {
  ballast::device device = device_named("h100");  ///< the device of one rank, or of one pipeline stage of a rank
  double mfu = 0.4;                               ///< model FLOPs utilisation: share of the device's peak that is reached, in (0, 1]
};

/// @brief Milliseconds that one unit of a model's `sample_cost` takes in a training step: forward and backward, without recomputation.
/// @param cost  the result of `sample_cost`
/// @param on    the devices
/// @return modelled milliseconds, not measured ones: use them in reports, not for decisions
/// @throws invalid_input if the utilisation is not in (0, 1]
[[nodiscard]] constexpr double ms_per_unit(transformer_cost const& cost, cluster const& on) {
  return modelled_ms(static_cast<double>(training_factor * cost.flops_per_unit), on.device, on.mfu);
}

/// @brief Rates for layers whose work is in FLOPs, as `layers_of` returns them.
///
/// A link transfers half of the device's `link_bandwidth` per direction, because that figure counts both directions. Exchange within a
/// tensor-parallel group takes no extra time: it is part of the utilisation.
///
/// @param on  the devices
/// @return FLOPs per millisecond, rounded once, and bytes per millisecond
/// @throws invalid_input if the device has no peak rate or the utilisation is not in (0, 1]
[[nodiscard]] constexpr layer_rates rates_of(cluster const& on) {
  (void)modelled_ms(0, on.device, on.mfu);  // throws unless device and utilisation give a rate
  auto const rate = static_cast<double>(on.device.bf16_flops) * on.mfu / 1000;
  return {.work_per_ms = (std::max)(static_cast<std::int64_t>(rate), std::int64_t{1}),
          .units_per_byte = 1,
          .link_bytes_per_ms = on.device.link_bandwidth / 2000};
}

}  // namespace ballast::inline v0_2
