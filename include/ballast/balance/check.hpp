// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/options.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/core/check.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/core/weigh.hpp>
#include <ballast/cost/polynomial.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <utility>
#include <vector>

/// @file
/// @brief The validator of balanced sets, of this library or any other planner. It shares no code with the balancers.

namespace ballast::inline v0_2 {

/// @brief The rule that balanced sets break.
struct balance_fault : common_fault {
  static constexpr rule wrong_set_count{"there are {found} sets, not {expected}"};
  static constexpr rule member_out_of_range{"members[{index}] = {found} must be below {expected}"};
  static constexpr rule item_twice{"item {index} occurs twice, the second time in set {found}"};
  static constexpr rule item_missing{"item {index} is in no set"};
  static constexpr rule overfull_set{"set {index} holds {found}, more than its capacity {expected}"};
  static constexpr rule item_too_large{"item {index} of size {found} is larger than the {expected} that its set allows"};
  static constexpr rule too_many_items{"set {index} has {found} items, more than {expected}"};
  static constexpr rule uneven_counts{"set {index} has {found} items, another {expected}: counts must differ by at most one"};
  static constexpr rule wrong_set_aside{"set_aside[{index}] must name items, ascending, and only where the policy allows it"};
  static constexpr rule sets_without_plan{"the result says that there is no plan, but has {found} sets or items set aside"};
};

namespace detail {

/// The largest load of the sets, and the first fault; `seen` marks the items that need not be in a set.
template <index_type Index, length_range R, cost_model Cost, cost_model Size>
[[nodiscard]] verdict check_sets(groups<Index> const& sets, R const& items, balance_options const& o, Cost const& cost, Size const& size,
                                 std::vector<bool> seen, std::uint64_t& largest) {
  using broken = balance_fault;
  auto const n = static_cast<std::uint64_t>(std::ranges::size(items));
  auto const& offsets = sets.offsets;
  auto const& members = sets.members;
  if (auto const v = check_offsets(offsets, members.size()); !v.valid()) return v;
  if (sets.size() != o.sets) return {broken::wrong_set_count, 0, sets.size(), o.sets};

  auto const item_at = read_by_position(items);
  auto const weight = [&](auto const& weigh, std::uint64_t i, char const* what) {
    auto const item = item_at[static_cast<std::size_t>(i)];
    return static_cast<std::uint64_t>(checked_cost(item, weigh, what, [&] { return entry("items", i, item); }));
  };
  auto const add = [](std::uint64_t& sum, std::uint64_t value) {
    sum += (std::min)(value, (std::numeric_limits<std::uint64_t>::max)() - sum);
  };
  largest = 0;
  std::uint64_t fewest = (std::numeric_limits<std::uint64_t>::max)(), most = 0;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    std::uint64_t load = 0, held = 0;
    for (auto m = offsets[s]; m < offsets[s + 1]; ++m) {
      auto const i = std::uint64_t{members[static_cast<std::size_t>(m)]};
      if (i >= n) return {broken::member_out_of_range, m, i, n};
      if (seen[static_cast<std::size_t>(i)]) return {broken::item_twice, i, s, 0};
      seen[static_cast<std::size_t>(i)] = true;
      add(load, weight(cost, i, "cost"));
      add(held, weight(size, i, "size"));
    }
    if (o.capacity > 0 && std::cmp_greater(held, o.capacity)) return {broken::overfull_set, s, held, o.capacity};
    auto const count = offsets[s + 1] - offsets[s];
    if (o.max_items != 0 && count > o.max_items) return {broken::too_many_items, s, count, o.max_items};
    fewest = (std::min)(fewest, count);
    most = (std::max)(most, count);
    largest = (std::max)(largest, load);
  }
  for (std::uint64_t i = 0; i < n; ++i)
    if (!seen[static_cast<std::size_t>(i)]) return {broken::item_missing, i, 0, 1};
  if (o.equal_counts && most - fewest > 1)
    for (std::size_t s = 0; s < sets.size(); ++s)
      if (sets[s].size() == fewest) return {broken::uneven_counts, s, fewest, most};
  return {};
}

}  // namespace detail

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
[[nodiscard]] verdict check_balance(groups<Index> const& sets, R const& items, balance_options const& options, Cost const& cost = {},
                                    Size const& size = {}) {
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
[[nodiscard]] verdict check_balance(balanced_sets<Index> const& plan, R const& items, balance_options const& options, Cost const& cost = {},
                                    Size const& size = {}) {
  using broken = balance_fault;
  if (plan.status != status::feasible) {
    if (!plan.sets.empty() || !plan.set_aside.empty()) return {broken::sets_without_plan, 0, plan.sets.size() + plan.set_aside.size(), 0};
    if (plan.status == status::infeasible && plan.load.lower_bound <= plan.load.value)
      return {broken::wrong_bound, 0, plan.load.lower_bound, plan.load.value};
    return {};
  }
  auto const n = static_cast<std::size_t>(std::ranges::size(items));
  std::vector<bool> absent(n);
  for (std::size_t j = 0; j < plan.set_aside.size(); ++j) {
    if (options.misfit == misfit::refuse || plan.set_aside[j] >= n || (j > 0 && plan.set_aside[j - 1] >= plan.set_aside[j]))
      return {broken::wrong_set_aside, j, plan.set_aside[j], n};
    absent[static_cast<std::size_t>(plan.set_aside[j])] = true;
  }
  std::uint64_t largest = 0;
  if (auto const v = detail::check_sets(plan.sets, items, options, cost, size, std::move(absent), largest); !v.valid()) return v;
  return check_certificate(plan.load, largest);
}

}  // namespace ballast::inline v0_2
