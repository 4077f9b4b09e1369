// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/collective.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/evaluate.hpp>
#include <ballast/cost/exchange.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/transformer_cost.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

/// @file
/// @brief `cluster`: the devices that a model is trained on, with the rates that follow from them.

namespace ballast::inline v0_2 {

/// @brief The devices of a training. All data-parallel ranks have the same.
struct cluster {
  ballast::device device = device_named("h100");  ///< the device of one rank, or of one pipeline stage of a rank
  double mfu = 0.4;                               ///< model FLOPs utilisation: share of the device's peak that is reached, in (0, 1]
  std::optional<fabric> links{};                  ///< links between devices; none: those of the device's datasheet, without latency
  hidden_share hidden{};                          ///< share of each kind of exchange that computation hides; by default nothing is hidden
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
/// @param on             the devices
/// @param stage_devices  devices of one pipeline stage, over all ranks: tensor-parallel degree times data-parallel degree. Boundaries
///                       between stages cross to another node where the devices of a stage fill a node
/// @return FLOPs per millisecond, rounded once, bytes per millisecond of the memory, and the links. A device without network bandwidth has
///         its own links everywhere; without links, exchanges take no time
/// @throws invalid_input if the device has no peak rate, the utilisation is not in (0, 1], or a bandwidth is negative
template <class = when_called>
[[nodiscard]] inline layer_rates rates_of(cluster const& on, std::int64_t stage_devices = 1) {
  (void)modelled_ms(0, on.device, on.mfu);  // throws unless device and utilisation give a rate
  auto const rate = static_cast<double>(on.device.bf16_flops) * on.mfu / 1000;
  auto device = on.device;
  if (device.network_bandwidth == 0) device.network_bandwidth = device.link_bandwidth / 2;
  return {.work_per_ms = (std::max)(static_cast<std::int64_t>(rate), std::int64_t{1}),
          .links = on.links                     ? *on.links
                   : device.link_bandwidth == 0 ? fabric{}
                                                : datasheet_fabric(device),
          .hidden = on.hidden,
          .stage_devices = stage_devices,
          .memory_bytes_per_ms = device.memory_bandwidth / 1000};
}

}  // namespace ballast::inline v0_2
