// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/device.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/transformer_cost.hpp>

/// @file
/// @brief What a run trains on, as far as time is modelled from it.

namespace ballast::inline v0_2 {

/// @brief The devices of a run. Every data-parallel rank has the same.
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

}  // namespace ballast::inline v0_2
