// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/collective.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/evaluate.hpp>
#include <ballast/cost/exchange.hpp>
#include <ballast/cost/kernel_rates.hpp>
#include <ballast/cost/kernel_time.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/link_time.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/transformer_cost.hpp>
#include <ballast/cost/vision.hpp>
#include <ballast/footprint/layer_time.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/timed_layers.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

/// @file
/// @brief `cluster`: the devices that a model is trained on. `chain_of`: the layers of a model with the rates that follow from them.

namespace ballast::inline v0_2 {

/// @brief The devices of a training. All data-parallel ranks have the same.
struct cluster {
  ballast::device device = device_named("h100");  ///< the device of one rank, or of one pipeline stage of a rank
  std::optional<double> mfu{};  ///< model FLOPs utilisation, in (0, 1]: all work takes this share of the device's peak; none: `time` says
  std::optional<time_setting> time{};  ///< what kernels reach, and how exchanges overlap; none: `kernels_for` the device. Without effect
                                       ///< if `mfu` is given
  std::optional<fabric> links{};       ///< with `mfu`, links between devices; none: those of the device's datasheet, without latency
  hidden_share hidden{};  ///< with `mfu`, the share of each kind of exchange that computation hides; by default nothing is hidden

  /// @brief The share of the peak that reports take where no kernels are timed. @return `mfu`, or 0.4
  [[nodiscard]] constexpr double utilisation() const noexcept { return mfu.value_or(0.4); }
};

/// @brief Milliseconds that one unit of a model's `sample_cost` takes in a training step: forward and backward, without recomputation.
/// @param cost  the result of `sample_cost`
/// @param on    the devices, at `cluster::utilisation` of their peak
/// @return modelled milliseconds, not measured ones: use them in reports, not for decisions
/// @throws invalid_input if the utilisation is not in (0, 1]
[[nodiscard]] constexpr double ms_per_unit(transformer_cost const& cost, cluster const& on) {
  return modelled_ms(static_cast<double>(training_factor * cost.flops_per_unit), on.device, on.utilisation());
}

/// @brief Rates for layers whose work is in FLOPs, as `layers_of` returns them.
///
/// @param on             the devices, at `cluster::utilisation` of their peak
/// @param stage_devices  devices of one pipeline stage, over all ranks: tensor-parallel degree times data-parallel degree. Boundaries
///                       between stages cross to another node where the devices of a stage fill a node
/// @return FLOPs per millisecond, rounded once, bytes per millisecond of the memory, and the links. A device without network bandwidth has
///         its own links everywhere; without links, exchanges take no time
/// @throws invalid_input if the device has no peak rate, the utilisation is not in (0, 1], or a bandwidth is negative
template <class = when_called>
[[nodiscard]] inline layer_rates rates_of(cluster const& on, std::int64_t stage_devices = 1) {
  (void)modelled_ms(0, on.device, on.utilisation());  // throws unless device and utilisation give a rate
  auto const rate = static_cast<double>(on.device.bf16_flops) * on.utilisation() / 1000;
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

/// @brief What kernels reach on the devices, and how exchanges overlap.
/// @param on  the devices
/// @param by  how the model is trained: its framework's kernels, and whether products are in 8 bits
/// @return `on.time`, or what `kernels_for` has for the device and the framework
/// @throws invalid_input as `kernels_for`
template <class = when_called>
[[nodiscard]] inline time_setting times_of(cluster const& on, model_setting const& by) {
  if (on.time) return *on.time;
  auto const& framework = by.framework;
  auto const compiled = framework.count == tensor_count::compiled;
  auto const torch = compiled || framework.count == tensor_count::eager || framework.separate_logits;  // the last are Hugging Face's
  auto const family = compiled ? kernel_family::compiled : torch ? kernel_family::eager : kernel_family::engine;
  return {.rates = kernels_for(on.device, family, by.kernels.fp8),
          .attention = torch ? attention_library::flash2 : attention_library::cudnn};
}

/// @brief Rates for layers that `time_layers` has timed.
/// @param on      the devices
/// @param by      degrees of a stage
/// @param with    what kernels reach, as `times_of` returns it
/// @param stages  number of pipeline stages, at least 1
/// @return units of time per millisecond, slower by what devices of many nodes wait for each other; links of transfers between stages, to
///         which all tensor-parallel devices add theirs; the optimiser, and what a step takes once
/// @throws invalid_input if a rate is out of range
template <class = when_called>
[[nodiscard]] inline layer_rates timed_rates(cluster const& on, model_setting const& by, time_setting const& with, std::uint64_t stages) {
  auto const& rates = with.rates;
  auto const links = links_of(on.device);
  auto const of_stage = by.spread.tensor * by.spread.data;
  auto const nodes = (std::max)(static_cast<std::int64_t>(stages) * of_stage / 8, std::int64_t{1});
  auto const millionths = 1'000'000 + rates.jitter * detail::log2_thousandths(nodes);
  auto const slower = [&](std::int64_t rate) {
    return static_cast<std::int64_t>(
        multiply_divide_up(static_cast<std::uint64_t>(rate), 1'000'000, static_cast<std::uint64_t>(millionths)));
  };
  auto const link = [&](std::int64_t bandwidth, std::int64_t share) {
    return link_line{rates.send, (std::max)(detail::thousandths_of(bandwidth, share), std::int64_t{1}) * by.spread.tensor};
  };
  constexpr std::int64_t adam = 36;                                  // bytes of a parameter's update in `layer::updated`
  return {.work_per_ms = slower(time_units(by) * 1000) * 1'000'000,  // so that a nanosecond is a whole number of units
          .links = links.inside == 0 ? fabric{}
                                     : fabric{.per_node = links.per_node,
                                              .inside = link(links.inside, rates.link),
                                              .between = link(links.between, rates.network)},
          .stage_devices = of_stage,
          .memory_bytes_per_ms = (std::max)(
              slower(memory_rate(on.device, rates)) * adam / (std::max)(rates.optimizer, std::int64_t{1}) / 1000, std::int64_t{1}),
          .step = rates.step / 1'000'000 * millionths / 1000,
          .gradient_hidden = with.gradient_overlap ? rates.gradient_hidden : 0,
          .gradient_least = with.gradient_overlap ? rates.gradient_least : 1000};
}

/// @brief The layers of a model, and the rates that turn their work into time.
struct rated_chain {
  std::vector<layer> layers{};  ///< first to last
  layer_rates rates{};          ///< what a unit of their work is
};

namespace detail {
/// Layers of `layers_of` with their rates, timed unless the cluster has a share of the peak.
template <class Model>
[[nodiscard]] rated_chain rated(std::vector<layer> layers, Model const& model, model_setting const& by, cluster const& on,
                                batch_shape const& typical, std::uint64_t stages) {
  rated_chain out{.layers = std::move(layers), .rates = {}};
  if (on.mfu) {
    out.rates = rates_of(on, by.spread.tensor * by.spread.data);
    return out;
  }
  auto const with = times_of(on, by);
  out.rates = timed_rates(on, by, with, stages);
  time_layers(out.layers, model, by, on.device, with, typical, stages);
  return out;
}
}  // namespace detail

/// @brief The chain that planners of stages take: by kernels or, with `cluster::mfu`, by a share of the peak.
/// @tparam Model  `transformer` or `vision_language_model`
/// @param model    the shape
/// @param by       how the model is trained
/// @param on       the devices
/// @param typical  a typical micro-batch, for which kernels are timed: the mean one
/// @param stages   number of pipeline stages, at least 1
/// @return `layers_of(model, by)`, with their time as work unless `mfu` is given, and the rates
/// @throws invalid_input as `layers_of`, `rates_of`, `kernels_for` and `time_layers`
/// @par Complexity
/// O(layers), and `linear_layer_time` for each kind of layer.
/// @par Determinism
/// A pure function of its arguments, in integers; by a share of the peak, the rate is rounded once.
template <class Model>
[[nodiscard]] rated_chain chain_of(Model const& model, model_setting const& by, cluster const& on, batch_shape const& typical,
                                   std::uint64_t stages = 1) {
  return detail::rated(layers_of(model, by), model, by, on, typical, stages);
}

}  // namespace ballast::inline v0_2
