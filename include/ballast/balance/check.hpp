// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/check_sets.hpp>
#include <ballast/balance/fault.hpp>
#include <ballast/balance/options.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/cost/polynomial.hpp>

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief The validator of balanced sets, of this library or any other planner. It shares no code with the balancers.

namespace ballast::inline v0_2 {

/// @brief Describes a verdict in a sentence, such as "set 17 holds 9000, more than its capacity 8192".
/// @param v  a verdict of `check_balance`
/// @return the sentence
template <class = when_called>
[[nodiscard]] inline std::string describe(verdict<balance_fault> const& v) {
  auto const index = std::to_string(v.index), found = std::to_string(v.found), expected = std::to_string(v.expected);
  switch (v.fault) {
    case balance_fault::none: return "the sets are valid";
    case balance_fault::bad_offsets:
      return "offsets[" + index + "] = " + found + ": offsets must rise from 0 to the number of members, " + expected;
    case balance_fault::wrong_set_count: return "there are " + found + " sets, not " + expected;
    case balance_fault::member_out_of_range: return "members[" + index + "] = " + found + " must be below " + expected;
    case balance_fault::item_twice: return "item " + index + " occurs twice, the second time in set " + found;
    case balance_fault::item_missing: return "item " + index + " is in no set";
    case balance_fault::overfull_set: return "set " + index + " holds " + found + ", more than its capacity " + expected;
    case balance_fault::item_too_large:
      return "item " + index + " of size " + found + " is larger than the " + expected + " that its set allows";
    case balance_fault::too_many_items: return "set " + index + " has " + found + " items, more than " + expected;
    case balance_fault::uneven_counts:
      return "set " + index + " has " + found + " items, another " + expected + ": counts must differ by at most one";
    case balance_fault::wrong_set_aside:
      return "set_aside[" + index + "] is wrong: the list must name items, ascending, and only where the policy allows it";
    case balance_fault::wrong_value: return "load.value = " + found + ", but the largest load is " + expected;
    case balance_fault::wrong_bound: return "load.lower_bound = " + found + " contradicts load.value = " + expected;
    case balance_fault::sets_without_plan: return "the result says that there is no plan, but has " + found + " sets or items set aside";
  }
  return {};
}

/// @brief Checks sets, given as groups of item indices, against the options.
///
/// There must be `options.sets` sets, every item must occur exactly once, no set may exceed the capacity or `max_items`, and with
/// `equal_counts` the numbers of items may differ by at most one.
///
/// @tparam Index  index type of the groups
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @tparam Size   a `cost_model`
/// @param sets     the sets; offsets and members may have any values
/// @param items    the items, one integer each
/// @param options  the options that the sets must meet
/// @param cost     cost of an item, which counts towards the load of its set; the item itself by default
/// @param size     size of an item, which counts towards the capacity of its set; the item itself by default
/// @return the first broken rule, in this order: offsets, number of sets, set after set, missing items, counts. Its index is a set, an
/// entry of `offsets`, `members` or `set_aside`, or an item
/// @throws invalid_input if a cost or size is outside [0, 2^63)
/// @par Complexity
/// O(items + sets).
template <index_type Index, length_range R, cost_model Cost = token_cost, cost_model Size = token_cost>
[[nodiscard]] verdict<balance_fault> check_balance(groups<Index> const& sets, R const& items, balance_options const& options,
                                                   Cost const& cost = {}, Size const& size = {}) {
  std::uint64_t largest = 0;
  return detail::check_sets(sets, items, options, cost, size, std::vector<bool>(static_cast<std::size_t>(std::ranges::size(items))),
                            largest);
}

/// @brief Checks the result of a balancer: its sets, and the figures it gives about them.
///
/// A result whose status is not `feasible` must have no sets and set nothing aside.
///
/// @tparam Index  index type of the result
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @tparam Size   a `cost_model`
/// @param plan     the result; it may have any values
/// @param items    the items, one integer each
/// @param options  the options that the sets must meet
/// @param cost     cost of an item, which counts towards the load of its set; the item itself by default
/// @param size     size of an item, which counts towards the capacity of its set; the item itself by default
/// @return the first broken rule, in this order: `set_aside`, the sets (as in the other overload), the certificate
/// @throws invalid_input if a cost or size is outside [0, 2^63)
/// @par Complexity
/// O(items + sets).
template <index_type Index, length_range R, cost_model Cost = token_cost, cost_model Size = token_cost>
[[nodiscard]] verdict<balance_fault> check_balance(balanced_sets<Index> const& plan, R const& items, balance_options const& options,
                                                   Cost const& cost = {}, Size const& size = {}) {
  using enum balance_fault;
  auto const bound = static_cast<std::uint64_t>(plan.load.lower_bound), value = static_cast<std::uint64_t>(plan.load.value);
  if (plan.status != status::feasible) {
    if (!plan.sets.empty() || !plan.set_aside.empty()) return {sets_without_plan, 0, plan.sets.size() + plan.set_aside.size(), 0};
    if (plan.status == status::infeasible && plan.load.lower_bound <= plan.load.value) return {wrong_bound, 0, bound, value};
    return {};
  }
  auto const n = static_cast<std::size_t>(std::ranges::size(items));
  std::vector<bool> absent(n);
  for (std::size_t j = 0; j < plan.set_aside.size(); ++j) {
    if (options.misfit == misfit::refuse || plan.set_aside[j] >= n || (j > 0 && plan.set_aside[j - 1] >= plan.set_aside[j]))
      return {wrong_set_aside, j, plan.set_aside[j], n};
    absent[static_cast<std::size_t>(plan.set_aside[j])] = true;
  }
  std::uint64_t largest = 0;
  if (auto const v = detail::check_sets(plan.sets, items, options, cost, size, std::move(absent), largest); !v.valid()) return v;
  if (value != largest) return {wrong_value, 0, value, largest};
  if (plan.load.lower_bound > plan.load.value) return {wrong_bound, 0, bound, value};
  return {};
}

}  // namespace ballast::inline v0_2
