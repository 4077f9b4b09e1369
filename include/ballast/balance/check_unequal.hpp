// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/check.hpp>
#include <ballast/balance/unequal_options.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/cost/polynomial.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

/// @file
/// @brief Validators of sets of unequal speed. They share no code with the planners.

namespace ballast::inline v0_2 {

/// @brief Checks the result of `balance_unequal`, or sets of any other planner.
///
/// @tparam Index  index type of the groups
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @tparam Size   a `cost_model`
/// @param plan     the result; a plan that is not feasible must have no sets
/// @param items    the items
/// @param options  speed and limits of each set
/// @param cost     cost of an item
/// @param size     size of an item
/// @return the first broken rule: those of `check_balance`, then capacities and largest items set by set, then the time and its bound
/// @throws invalid_input if an option is out of range, or a cost or size is outside [0, 2^63)
/// @par Complexity
/// O(items + sets).
template <index_type Index, length_range R, cost_model Cost = token_cost, cost_model Size = token_cost>
[[nodiscard]] verdict check_unequal(unequal_sets<Index> const& plan, R const& items, unequal_options const& options, Cost const& cost = {},
                                    Size const& size = {}) {
  detail::require_valid<>(options);
  if (plan.status != status::feasible) {
    if (plan.sets.empty()) return {};
    return {balance_fault::sets_without_plan, 0, plan.sets.size()};
  }
  auto const as_sets = check_balance(plan.sets, items, {.sets = options.unit_time.size()}, cost, size);
  if (!as_sets.valid()) return as_sets;
  std::int64_t slowest = 0;
  for (std::size_t s = 0; s < plan.sets.size(); ++s) {
    std::int64_t load = 0, held = 0;
    for (auto const i : plan.sets[s]) {
      auto const item = std::ranges::begin(items)[static_cast<std::ptrdiff_t>(i)];
      auto const one = static_cast<std::int64_t>(size(item));
      if (!options.largest.empty() && one > options.largest[s]) return {balance_fault::item_too_large, i, one, options.largest[s]};
      load += static_cast<std::int64_t>(cost(item));
      held += one;
    }
    if (!options.capacity.empty() && held > options.capacity[s]) return {balance_fault::overfull_set, s, held, options.capacity[s]};
    auto const time = checked(load) * checked(options.unit_time[s]);
    if (!time.fits()) return {balance_fault::wrong_value, s, plan.time.value, checked::most};
    slowest = (std::max)(slowest, time.value);
  }
  return check_certificate(plan.time, slowest);
}

/// @brief Checks the result of `share_units`: all units are shared, within the capacities, and in a unit of time less that is impossible.
///
/// @param plan     the result; an infeasible one must have no shares
/// @param units    number of units, not negative
/// @param options  speed and capacity of each set
/// @return the first broken rule; `item_missing` if the shares do not add up, `wrong_bound` if a shorter time is possible or, of an
/// infeasible result, the shortage is wrong
/// @throws invalid_input if an option or the number of units is out of range
/// @par Complexity
/// O(sets).
template <class = when_called>
[[nodiscard]] verdict check_shares(unit_shares const& plan, std::int64_t units, unequal_options const& options) {
  detail::require_valid<>(options);
  require(units >= 0, [&] { return sentence("units = ", units, " must not be negative"); });
  auto const sets = options.unit_time.size();
  std::int64_t shared = 0, slowest = 0, sooner = 0, most = 0;
  auto const add = [&](std::int64_t& sum, std::int64_t n) { sum += (std::min)(n, units - (std::min)(sum, units)); };
  for (std::size_t s = 0; s < sets; ++s) add(most, options.capacity.empty() ? units : options.capacity[s]);
  if (plan.status != status::feasible) {
    if (!plan.units.empty()) return {balance_fault::sets_without_plan, 0, plan.units.size()};
    if (most < units && plan.shortage == units - most) return {};
    return {balance_fault::wrong_bound, 0, plan.shortage, units - most};
  }
  if (plan.units.size() != sets) return {balance_fault::wrong_set_count, 0, plan.units.size(), sets};
  for (std::size_t s = 0; s < sets; ++s) {
    if (plan.units[s] < 0 || (!options.capacity.empty() && plan.units[s] > options.capacity[s]))
      return {balance_fault::overfull_set, s, plan.units[s], options.capacity.empty() ? units : options.capacity[s]};
    if (plan.units[s] > units - shared) return {balance_fault::item_missing, s, plan.units[s], units - shared};
    shared += plan.units[s];
    auto const time = checked(plan.units[s]) * checked(options.unit_time[s]);
    if (!time.fits()) return {balance_fault::wrong_value, s, plan.time.value, checked::most};
    slowest = (std::max)(slowest, time.value);
  }
  if (shared != units) return {balance_fault::item_missing, 0, shared, units};
  if (plan.time.value != slowest) return {balance_fault::wrong_value, 0, plan.time.value, slowest};
  for (std::size_t s = 0; s < sets && slowest > 0; ++s) {
    auto const done = (slowest - 1) / options.unit_time[s];
    add(sooner, options.capacity.empty() ? done : (std::min)(done, options.capacity[s]));
  }
  if (plan.time.lower_bound != slowest || (slowest > 0 && sooner >= units))
    return {balance_fault::wrong_bound, 0, plan.time.lower_bound, slowest};
  return {};
}

}  // namespace ballast::inline v0_2
