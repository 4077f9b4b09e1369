// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/device.hpp>
#include <ballast/cost/evaluate.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/transformer_cost.hpp>

#include <algorithm>
#include <cstdint>

/// @file
/// @brief What a model is trained on, as far as time is modelled from it.

namespace ballast::inline v0_2 {

/// @brief The devices of a training run. Every data-parallel rank has the same.
struct cluster {
  ballast::device device = device_named("h100");  ///< what one rank (of a pipeline: one stage of it) trains on
  double mfu = 0.4;                               ///< share of the device's peak that is reached, in (0, 1]
};

/// @brief Milliseconds of a training step for one unit of a model's `sample_cost`: forward and backward, nothing recomputed.
/// @param cost  what `sample_cost` returned
/// @param on    the devices
/// @return milliseconds; a model of time and no measurement, for reports and not for decisions
/// @throws invalid_input if the utilisation is not in (0, 1]
[[nodiscard]] constexpr double ms_per_unit(transformer_cost const& cost, cluster const& on) {
  return modelled_ms(static_cast<double>(training_factor * cost.flops_per_unit), on.device, on.mfu);
}

/// @brief Rates of layers whose work is FLOPs, as `layers_of` a model makes them.
///
/// Links move half of the device's `link_bandwidth`, as that counts both directions. Exchange inside a tensor-parallel group takes no time
/// of its own: it is part of the utilisation.
///
/// @param on  the devices
/// @return FLOPs, rounded once, and bytes per millisecond
/// @throws invalid_input if the device has no peak rate or the utilisation is not in (0, 1]
[[nodiscard]] constexpr layer_rates rates_of(cluster const& on) {
  (void)modelled_ms(0, on.device, on.mfu);  // throws for what is no rate
  auto const rate = static_cast<double>(on.device.bf16_flops) * on.mfu / 1000;
  return {.work_per_ms = (std::max)(static_cast<std::int64_t>(rate), std::int64_t{1}),
          .units_per_byte = 1,
          .link_bytes_per_ms = on.device.link_bandwidth / 2000};
}

}  // namespace ballast::inline v0_2
