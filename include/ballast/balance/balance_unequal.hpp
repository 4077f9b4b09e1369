// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/unequal_dealer.hpp>
#include <ballast/balance/detail/unequal_sets_bound.hpp>
#include <ballast/balance/unequal_options.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/weigh.hpp>
#include <ballast/cost/polynomial.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <span>
#include <vector>

/// @file
/// @brief `balance_unequal`: items of unequal cost to devices of unequal speed and memory.

namespace ballast::inline v0_2 {

namespace detail {

/// Whether no sets can hold the items: there is one that no set takes, or more size than all capacities.
template <class = when_called>
[[nodiscard]] bool never_fits(std::span<std::int64_t const> size, std::int64_t total, unequal_options const& o) {
  auto const sets = o.unit_time.size();
  if (!o.capacity.empty()) {
    for (auto const c : o.capacity) total -= (std::min)(c, total);
    if (total > 0) return true;
  }
  auto const takes = [&](std::size_t s, std::int64_t one) {
    return (o.capacity.empty() || one <= o.capacity[s]) && (o.largest.empty() || one <= o.largest[s]);
  };
  auto const most = size.empty() ? 0 : *std::max_element(size.begin(), size.end());
  for (std::size_t s = 0; s < sets; ++s)
    if (takes(s, most)) return false;
  return true;
}

}  // namespace detail

/// @brief Deals items to sets of unequal speed so that the slowest set ends as early as it can be made to.
///
/// Each item, most expensive first, goes where it ends first: longest processing time first for machines of unequal speed. If an item
/// finds no room, the items are dealt by size instead. Then items of the slowest set are moved to others or exchanged for cheaper ones of
/// theirs.
///
/// @tparam Index  type of the item indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @tparam Size   a `cost_model`
/// @param items    the items, one integer each: sample lengths, or numbers of packs if the callables look packs up; may be empty
/// @param options  speed, capacity and largest item of each set, and how many exchanges are tried
/// @param cost     cost of an item; a set takes `unit_time` for a unit of it; the item itself by default
/// @param size     size of an item, which counts towards `capacity` and `largest`; the item itself by default
/// @return the sets, and their time beside a lower bound: by the cost that fits into speeds and capacities, by the most expensive items on
/// the fastest sets, by how many of them fit, and by the items that only some sets take
/// @post without limits, the time is at most 2 sets / (sets + 1) times the smallest possible one
/// @throws invalid_input naming the argument that is out of range, or if all items on the slowest set would take 2^62 or more
/// @par Complexity
/// O(n log n + n k log(sets)) for k kinds of sets, and O(n partners / sets + sets) for each exchange; with capacities, O(n sets) in the
/// worst case.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Gonzalez, Ibarra, Sahni, "Bounds for LPT schedules on uniform processors", SIAM J. Computing 6 (1977).
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost, cost_model Size = token_cost>
[[nodiscard]] unequal_sets<Index> balance_unequal(R const& items, unequal_options const& options, Cost const& cost = {},
                                                  Size const& size = {}) {
  detail::require_valid<>(options);
  require_index<Index>(static_cast<std::size_t>(std::ranges::size(items)), "items");
  std::vector<std::int64_t> costs, sizes;
  detail::require_countable<>(options, weigh(items, cost, "items", "cost", costs), "costs");
  auto const total_size = weigh(items, size, "items", "size", sizes);
  if (detail::never_fits<>(sizes, total_size, options)) return {.status = status::infeasible};
  unequal_sets<Index> out;
  out.time.lower_bound = detail::unequal_sets_bound<>(costs, sizes, options).least();
  detail::unequal_dealer<> dealer(costs, sizes, options);
  if (!dealer.deal(costs) && !dealer.deal(sizes)) return {.status = status::unknown};
  dealer.improve();
  out.time.value = dealer.time();
  for (auto const& set : dealer.members()) {
    for (auto const i : set) out.sets.members.push_back(static_cast<Index>(i));
    out.sets.offsets.push_back(out.sets.members.size());
  }
  return out;
}

}  // namespace ballast::inline v0_2
