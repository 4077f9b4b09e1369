// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/curriculum/phase_switch.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

/// @file
/// @brief The validator of runs in two phases. It shares no code with the planner.

namespace ballast::inline v0_2 {

/// @brief The rule that a run in two phases breaks.
struct switch_fault : common_fault {
  static constexpr rule phase_infeasible{"the run is feasible, but phase {index} is not"};
  static constexpr rule needless_refusal{"the run is refused, but both phases are feasible and a switch keeps the budget"};
  static constexpr rule wrong_steps{"the steps of both phases are not those of the request"};
  static constexpr rule wrong_copies{"copies[{index}] is not of this tensor, or not one for each of its users"};
  static constexpr rule wrong_divisor{"copies[{index}] is divided by {found}, not by {expected}"};
  static constexpr rule wrong_bytes{"copies[{index}], or their sum, has other bytes than the tensors"};
  static constexpr rule wrong_time{"a time is not steps times step time, or bytes over the rate"};
  static constexpr rule over_budget{"the run takes longer than the budget"};
  static constexpr rule late_switch{"one step fewer of the first phase keeps the budget"};
};

/// @brief Checks a run in two phases against the definition.
///
/// @param run      the run; may hold any values
/// @param phases   the phases of the request, valid
/// @param tensors  the tensors of the request, valid
/// @param options  the options of the request, valid
/// @return the first broken rule
/// @par Complexity
/// O(tensors).
template <class = when_called>
[[nodiscard]] inline verdict check_phase_switch(switched_run const& run, std::array<run_phase, 2> const& phases,
                                                std::span<linked_tensor const> tensors, switch_options const& options) {
  using broken = switch_fault;
  auto const steps = static_cast<std::int64_t>(options.steps);
  std::int64_t bytes = 0;
  for (auto const& t : tensors) bytes += t.bytes * t.users;
  auto const copying = options.copy_rate == 0
                           ? 0
                           : static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(bytes), 1'000'000'000U,
                                                                          static_cast<std::uint64_t>(options.copy_rate)));
  for (std::size_t p = 0; p < 2; ++p)
    if (phases[p].status != status::feasible) return {run.status == status::feasible ? broken::phase_infeasible : broken::none, p};
  auto const time_at = [&](std::int64_t at) {  // without the time of copying
    return at * phases[0].step_time + (steps - at) * phases[1].step_time;
  };
  if (run.status != status::feasible) {
    auto const whole = time_at(0) <= options.time_budget || time_at(steps) <= options.time_budget;
    return {options.time_budget == 0 || whole ? broken::needless_refusal : broken::none, 0};
  }
  auto const at = run.first_steps.value;
  if (at < 0 || at > steps || run.second_steps != static_cast<std::uint64_t>(steps - at) || run.first_steps.lower_bound > at)
    return {broken::wrong_steps, 0};
  if (options.time_budget == 0 && at != static_cast<std::int64_t>(options.at)) return {broken::wrong_steps, 0};
  auto const both = at > 0 && at < steps;
  if (run.copies.size() != (both ? tensors.size() : 0)) return {broken::wrong_copies, run.copies.size()};
  for (std::size_t t = 0; t < run.copies.size(); ++t) {
    if (run.copies[t].tensor != t || run.copies[t].copies != tensors[t].users) return {broken::wrong_copies, t};
    if (run.copies[t].divisor != tensors[t].divisor) return {broken::wrong_divisor, t, run.copies[t].divisor, tensors[t].divisor};
    if (run.copies[t].bytes != tensors[t].bytes * tensors[t].users) return {broken::wrong_bytes, t};
  }
  if (run.copied_bytes != (both ? bytes : 0)) return {broken::wrong_bytes, run.copies.size()};
  if (run.first_time != at * phases[0].step_time || run.second_time != (steps - at) * phases[1].step_time ||
      run.copy_time != (both ? copying : 0))
    return {broken::wrong_time, 0};
  if (options.time_budget == 0) return {};
  if (run.time() > options.time_budget) return {broken::over_budget, 0};
  auto const earlier = at < 2 ? time_at(0) : time_at(at - 1) + copying;  // a run without the first phase copies nothing
  return {at > 0 && (earlier <= options.time_budget || time_at(0) <= options.time_budget) ? broken::late_switch : broken::none, 0};
}

}  // namespace ballast::inline v0_2
