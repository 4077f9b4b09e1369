// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/options.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/cost/polynomial.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief The validator of balanced sets, ours or anybody's. It shares no code with the balancers.

namespace ballast::inline v0_2 {

/// @brief The rule that balanced sets break.
enum class balance_fault : std::uint8_t {
  none,                 ///< they are valid
  bad_offsets,          ///< the offsets do not rise from 0 to the number of members
  wrong_set_count,      ///< there are not as many sets as asked for
  member_out_of_range,  ///< a member is no item
  item_twice,           ///< an item stands in two places
  item_missing,         ///< an item stands nowhere
  overfull_set,         ///< the sizes in a set exceed the capacity
  too_many_items,       ///< a set has more items than allowed
  uneven_counts,        ///< equal counts were asked for, and a set has two items fewer than another, or less
  wrong_set_aside,      ///< the list of items set aside is not ascending, names no item, or should be empty
  wrong_value,          ///< the certificate's value is not the largest load
  wrong_bound,          ///< the certificate's lower bound is above its value; or, where infeasible, is not
  sets_without_plan,    ///< the result says that there is no plan, and has sets or items set aside
};

/// @brief The verdict as a sentence, such as "set 17 holds 9000, more than its capacity 8192".
/// @param v  a verdict of `check_balance`
/// @return the sentence
[[nodiscard]] inline std::string describe(verdict<balance_fault> const& v) {
  auto const index = std::to_string(v.index), found = std::to_string(v.found), expected = std::to_string(v.expected);
  switch (v.fault) {
    case balance_fault::none: return "the sets are valid";
    case balance_fault::bad_offsets:
      return "offsets[" + index + "] = " + found + ": offsets must rise from 0 to the number of members, " + expected;
    case balance_fault::wrong_set_count: return "there are " + found + " sets, not " + expected;
    case balance_fault::member_out_of_range: return "members[" + index + "] = " + found + " must be below " + expected;
    case balance_fault::item_twice: return "item " + index + " stands twice, the second time in set " + found;
    case balance_fault::item_missing: return "item " + index + " is in no set";
    case balance_fault::overfull_set: return "set " + index + " holds " + found + ", more than its capacity " + expected;
    case balance_fault::too_many_items: return "set " + index + " has " + found + " items, more than " + expected;
    case balance_fault::uneven_counts:
      return "set " + index + " has " + found + " items, another " + expected + ": counts must differ by at most one";
    case balance_fault::wrong_set_aside:
      return "set_aside[" + index + "] is wrong: the list must name items, ascending, and only where the policy allows it";
    case balance_fault::wrong_value: return "load.value = " + found + ", but the largest load is " + expected;
    case balance_fault::wrong_bound: return "load.lower_bound = " + found + " against a value of " + expected;
    case balance_fault::sets_without_plan: return "the result says that there is no plan, but has " + found + " sets or items set aside";
  }
  return {};
}

namespace detail {

/// The largest load of the sets, and the first fault; `seen` names the items that need not stand in a set.
template <index_type Index, length_range R, cost_model Cost, cost_model Size>
[[nodiscard]] verdict<balance_fault> check_sets(groups<Index> const& sets, R const& items, balance_options const& o, Cost const& cost,
                                                Size const& size, std::vector<bool> seen, std::uint64_t& largest) {
  using enum balance_fault;
  auto const n = static_cast<std::uint64_t>(std::ranges::size(items));
  auto const& offsets = sets.offsets;
  auto const& members = sets.members;
  std::uint64_t before = 0;
  for (std::size_t s = 0; s < offsets.size(); before = offsets[s++])
    if ((s == 0 && offsets[s] != 0) || offsets[s] < before || offsets[s] > members.size())
      return {bad_offsets, s, offsets[s], members.size()};
  if (before != members.size()) return {bad_offsets, sets.size(), before, members.size()};
  if (sets.size() != o.sets) return {wrong_set_count, 0, sets.size(), o.sets};

  auto const weight = [&](auto const& weigh, std::uint64_t i, char const* what) {
    auto const item = static_cast<std::int64_t>(std::ranges::begin(items)[static_cast<std::ranges::range_difference_t<R const>>(i)]);
    auto const value = weigh(item);
    require(std::in_range<std::int64_t>(value) && std::cmp_greater_equal(value, 0), [&] {
      return "items[" + std::to_string(i) + "] = " + std::to_string(item) + " has " + what + " " + std::to_string(value) +
             ", outside [0, 2^63)";
    });
    return static_cast<std::uint64_t>(value);
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
      if (i >= n) return {member_out_of_range, m, i, n};
      if (seen[static_cast<std::size_t>(i)]) return {item_twice, i, s, 0};
      seen[static_cast<std::size_t>(i)] = true;
      add(load, weight(cost, i, "cost"));
      add(held, weight(size, i, "size"));
    }
    if (o.capacity > 0 && std::cmp_greater(held, o.capacity)) return {overfull_set, s, held, static_cast<std::uint64_t>(o.capacity)};
    auto const count = offsets[s + 1] - offsets[s];
    if (o.max_items != 0 && count > o.max_items) return {too_many_items, s, count, o.max_items};
    fewest = (std::min)(fewest, count);
    most = (std::max)(most, count);
    largest = (std::max)(largest, load);
  }
  for (std::uint64_t i = 0; i < n; ++i)
    if (!seen[static_cast<std::size_t>(i)]) return {item_missing, i, 0, 1};
  if (o.equal_counts && most - fewest > 1)
    for (std::size_t s = 0; s < sets.size(); ++s)
      if (sets[s].size() == fewest) return {uneven_counts, s, fewest, most};
  return {};
}

}  // namespace detail

/// @brief Checks anybody's sets: bare groups of item indices against the definition.
///
/// There are as many sets as asked for, every item stands exactly once, no set is above the capacity or `max_items`, and the counts are
/// equal where that is demanded.
///
/// @tparam Index  index type of the groups
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @tparam Size   a `cost_model`
/// @param sets     the sets; offsets and members may hold anything
/// @param items    what was dealt
/// @param options  what was asked
/// @param cost     weighs one item: its share of a set's load; the item itself by default
/// @param size     weighs one item: its share of a set's capacity; the item itself by default
/// @return the first rule broken: offsets, number of sets, then set by set, then missing items, then the counts; its index is the
/// set, the entry of `offsets`, `members` or `set_aside`, or the item
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

/// @brief Checks a balancer's whole result: the sets, and that what it says about them is true.
///
/// Where the result says that there is no plan, it must have no sets and set nothing aside.
///
/// @tparam Index  index type of the result
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @tparam Size   a `cost_model`
/// @param plan     the result; it may hold anything
/// @param items    what was dealt
/// @param options  what was asked
/// @param cost     weighs one item: its share of a set's load; the item itself by default
/// @param size     weighs one item: its share of a set's capacity; the item itself by default
/// @return the first rule broken: what was set aside, then the sets (see above), then the certificate
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
