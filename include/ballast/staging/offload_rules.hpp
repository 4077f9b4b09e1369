// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/pipeline/prefetch.hpp>
#include <ballast/staging/offload_layer.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief Offloading by a rule: all layers, the first or the last ones, or layers at equal distances. These are baselines of
/// `plan_offload`.

namespace ballast::inline v0_2 {

/// @brief Which layers a rule takes.
enum class offload_rule : std::uint8_t {
  everything,  ///< all layers
  first,       ///< as few as fit, the first ones
  last,        ///< as few as fit, the last ones
  stride,      ///< as few as fit, at equal distances
};

/// @brief The placement in which a rule takes some of the layers.
/// @param layers  number of layers
/// @param rule    the rule
/// @param taken   number of layers that it takes, at most `layers`; ignored for `everything`
/// @param what    what of those layers is in host memory
/// @return what of each layer is in host memory
/// @par Complexity
/// O(layers).
template <class = when_called>
[[nodiscard]] inline std::vector<hosted> placement_by_rule(std::size_t layers, offload_rule rule, std::size_t taken, hosted what) {
  std::vector<hosted> out(layers, hosted::none);
  for (std::size_t i = 0; i < layers; ++i) {
    auto const by_stride = static_cast<std::uint64_t>(i + 1) * taken / layers > static_cast<std::uint64_t>(i) * taken / layers;
    auto const takes = rule == offload_rule::everything || (rule == offload_rule::first && i < taken) ||
                       (rule == offload_rule::last && i + taken >= layers) || (rule == offload_rule::stride && by_stride);
    if (takes) out[i] = what;
  }
  return out;
}

/// @brief Evaluates a placement: its bytes, its timeline, and the lower bound of the timeline alone.
/// @param layers     the layers
/// @param placement  what of each is in host memory; as many entries
/// @param options    memories, rates and buffers
/// @return the plan; `unknown`, with its bytes, if it does not fit
/// @throws invalid_input as `require_valid`, or if the numbers of entries differ
/// @par Complexity
/// O(layers).
template <class = when_called>
[[nodiscard]] inline offload_plan evaluate_offload(std::span<offload_layer const> layers, std::span<hosted const> placement,
                                                   offload_options const& options) {
  require_valid(layers, options);
  require(placement.size() == layers.size(), [&] {
    return "placement has " + std::to_string(placement.size()) + " entries for " + std::to_string(layers.size()) + " layers";
  });
  offload_plan out;
  out.placement.assign(placement.begin(), placement.end());
  out.memory = memory_of(layers, placement, options.buffers);
  if (out.memory.device > options.device_memory || out.memory.host > options.host_memory) return out;
  std::vector<prefetch_layer> times;
  times.reserve(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) times.push_back(prefetch_layer_of(layers[i], placement[i], options.rates));
  out.timeline = simulate_prefetch(times, options.buffers, true);
  out.time = out.timeline.makespan;
  out.status = status::feasible;
  return out;
}

namespace detail {

/// The placement in which a rule takes as few layers as fit the device, or all.
template <class = when_called>
[[nodiscard]] inline std::vector<hosted> fitting_by_rule(std::span<offload_layer const> layers, offload_rule rule,
                                                         offload_options const& options, hosted what) {
  auto const placement = [&](std::size_t taken) { return placement_by_rule(layers.size(), rule, taken, what); };
  if (rule == offload_rule::everything) return placement(layers.size());
  return placement(first_where(std::size_t{0}, layers.size(), [&](std::size_t taken) {
    return memory_of(layers, placement(taken), options.buffers).device <= options.device_memory;
  }));
}

}  // namespace detail

/// @brief Offloads by a rule, with as few layers as fit the device.
///
/// The number is found by bisection, which is exact if more layers never need more of the device, as with equal layers.
///
/// @param layers   the layers
/// @param rule     which layers are taken
/// @param options  memories, rates and buffers
/// @param what     what of those layers is in host memory
/// @return the plan, with the lower bound of its own timeline; `unknown` if it does not fit
/// @throws invalid_input as `require_valid`
/// @par Complexity
/// O(layers log layers).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Everything: level v0 of alibaba/EasyParallelLibrary, epl/config.py; and DeepSpeed's offload options.
template <class = when_called>
[[nodiscard]] inline offload_plan offload_by_rule(std::span<offload_layer const> layers, offload_rule rule, offload_options const& options,
                                                  hosted what = hosted::all) {
  require_valid(layers, options);
  return evaluate_offload(layers, detail::fitting_by_rule(layers, rule, options, what), options);
}

}  // namespace ballast::inline v0_2
