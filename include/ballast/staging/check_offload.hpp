// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/check.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/pipeline/check_prefetch.hpp>
#include <ballast/staging/offload_layer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief The validator of plans of what is in host memory. It shares no code with the planner.

namespace ballast::inline v0_2 {

/// @brief The rule that a plan of offloading breaks.
struct offload_fault : common_fault {
  static constexpr rule plan_refused{"the result says that there is no plan, and has one or names no memory that is too small"};
  static constexpr rule wrong_size{"there is not one choice for each layer"};
  static constexpr rule no_choice{"placement[{index}] is no choice"};
  static constexpr rule wrong_memory{"memory is not that of the placement"};
  static constexpr rule over_device{"the placement takes {found} bytes of a device with {expected}"};
  static constexpr rule over_host{"the placement takes {found} bytes of a host with {expected}"};
};

/// @brief Checks a plan against the definition: bytes of both memories, and the timeline of the step, task by task.
///
/// @param plan     the plan; may hold any values
/// @param layers   the layers
/// @param options  the options of the request
/// @return the first broken rule
/// @throws invalid_input as `require_valid` of the layers and options
/// @par Complexity
/// O(layers log layers).
template <class = when_called>
[[nodiscard]] inline verdict check_offload(offload_plan const& plan, std::span<offload_layer const> layers,
                                           offload_options const& options) {
  require_valid(layers, options);
  if (plan.status != status::feasible) {
    auto const named = (plan.status == status::infeasible) == (plan.shortage != short_memory::none);
    return {named && plan.placement.empty() && plan.timeline.events.empty() ? offload_fault::none : offload_fault::plan_refused, 0};
  }
  if (plan.placement.size() != layers.size()) return {offload_fault::wrong_size, 0};
  std::vector<prefetch_layer> times;
  std::int64_t resident = 0, hosted_bytes = 0, buffer = 0;
  auto const ns = [](std::int64_t bytes, std::int64_t rate) {  // without a product that could overflow
    auto const whole = bytes / rate, rest = bytes % rate;
    return whole * 1'000'000'000 + static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(rest), 1'000'000'000U,
                                                                                static_cast<std::uint64_t>(rate)));
  };
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto const& s = layers[i].states;
    bool parameters = false, gradients = false, optimizer = false;
    switch (plan.placement[i]) {
      case hosted::none: break;
      case hosted::parameters: parameters = true; break;
      case hosted::optimizer: optimizer = true; break;
      case hosted::parameters_and_optimizer: parameters = optimizer = true; break;
      case hosted::gradients_and_optimizer: gradients = optimizer = true; break;
      case hosted::all: parameters = gradients = optimizer = true; break;
      default: return {offload_fault::no_choice, i};
    }
    resident += (parameters ? 0 : s.parameter) + (gradients ? 0 : s.gradient) + (optimizer ? 0 : s.optimizer);
    hosted_bytes += (parameters ? s.parameter : 0) + (optimizer ? s.optimizer + s.gradient : 0);
    buffer = (std::max)(buffer, (parameters ? s.parameter : 0) + (gradients ? s.gradient : 0));
    auto const is_trained = s.gradient + s.optimizer > 0;
    prefetch_layer t{.forward = layers[i].forward, .backward = layers[i].backward};
    if (parameters && s.parameter > 0) {
      t.loaded = true;
      t.load = ns(s.parameter, options.rates.up);
    }
    if (is_trained && optimizer) {
      t.store = ns(s.gradient, options.rates.down);
      t.update = ns(s.optimizer, options.rates.update);
      t.give_back = parameters ? 0 : ns(s.parameter, options.rates.up);
      t.spilled = gradients && s.gradient > 0;
    } else if (is_trained) {
      t.backward += layers[i].device_update;
      t.store = parameters ? ns(s.parameter, options.rates.down) : 0;
      t.spilled = t.loaded;
    }
    times.push_back(t);
  }
  auto const buffers = static_cast<std::int64_t>(options.buffers) * buffer;
  if (plan.memory != offload_memory{resident + buffers, buffers, hosted_bytes}) return {offload_fault::wrong_memory, 0};
  if (plan.memory.device > options.device_memory) return {offload_fault::over_device, 0, plan.memory.device, options.device_memory};
  if (plan.memory.host > options.host_memory) return {offload_fault::over_host, 0, plan.memory.host, options.host_memory};
  if (auto const v = check_prefetch(plan.timeline, times, options.buffers); !v.valid()) return v;
  return check_certificate(plan.time, plan.timeline.makespan.value);
}

}  // namespace ballast::inline v0_2
