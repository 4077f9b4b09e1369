// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/result.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief Lower bounds on the largest load of k sets, in integers.

namespace ballast::inline v0_2 {

namespace detail {
/// The lower bounds that depend only on costs; `top(i)` is the sum of the i largest.
template <class Top>
[[nodiscard]] load_bound bound_of_costs(Top const& top, std::uint64_t items, std::uint64_t sets, std::uint64_t min_items) {
  if (items == 0) return {};
  auto const total = top(items);
  auto const k = static_cast<std::int64_t>(sets);
  load_bound best{divide_up(total, k), balance_bound::mean};
  constexpr std::uint64_t most = 1024;  // with many items in a set, the mean is the larger bound
  for (std::uint64_t j = 0; j < most && j <= (items - 1) / sets; ++j) {
    auto const others = min_items > j + 1 ? min_items - (j + 1) : 0;  // these cost at least as much as the cheapest items of all
    auto const load = (top(j * sets + 1) - top(j * sets - j)) + (total - top(items - others));
    if (load > best.load)
      best = {load, others != 0 ? balance_bound::item_counts : j == 0 ? balance_bound::largest_item : balance_bound::pigeonhole};
  }
  return best;
}

/// The fewest items that each set must hold if no set may hold more than `max_items` (0 = no limit).
[[nodiscard]] constexpr std::uint64_t least_items(std::uint64_t items, std::uint64_t sets, std::uint64_t max_items, bool equal) noexcept {
  if (equal) return items / sets;
  if (max_items == 0 || (sets > 1 && max_items > items / (sets - 1))) return 0;
  return items - (sets - 1) * max_items;
}
}  // namespace detail

/// @brief The largest of four lower bounds: the mean, the largest item, pigeonholes, and the fewest items that the largest item's set must
/// hold.
///
/// Pigeonholes: some set holds `j + 1` of the `j * sets + 1` largest items, and these cost at least as much as the cheapest `j + 1` of
/// them. If each set must hold `min_items`, the further items of that set cost at least as much as the cheapest of all items. `j = 0` gives
/// the largest item.
///
/// @param descending  costs of the items, largest first, not negative, with a sum below 2^63
/// @param sets        number of sets, at least 1
/// @param min_items   fewest items that each set must hold; at most `descending.size() / sets`
/// @return the largest bound; of equal bounds, the first of the enumeration
/// @par Complexity
/// O(items).
/// @par Source
/// Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17 (1969): mean and largest item. Dell'Amico, Martello,
/// "Optimal scheduling of tasks on identical parallel processors", ORSA J. Computing 7 (1995): pigeonholes.
template <class = when_called>
[[nodiscard]] inline load_bound balance_lower_bound(std::span<std::int64_t const> descending, std::uint64_t sets,
                                                    std::uint64_t min_items = 0) {
  std::vector<std::int64_t> prefix(descending.size() + 1);
  for (std::size_t i = 0; i < descending.size(); ++i) prefix[i + 1] = prefix[i] + descending[i];
  return detail::bound_of_costs([&](std::uint64_t i) { return prefix[static_cast<std::size_t>(i)]; }, descending.size(), sets, min_items);
}

/// @brief A lower bound from the capacity: the set with the most expensive item must also hold what the other sets have no room for.
///
/// That set has a size of at least `S = total size - (sets - 1) * capacity`. Its other items cost, per unit of size, at least as much as
/// the item that is cheapest per unit of size.
///
/// @param costs     cost of each item, not negative, with a sum below 2^63
/// @param sizes     size of each item, not negative, with a sum below 2^63; one for each cost
/// @param sets      number of sets, at least 1
/// @param capacity  largest total size of a set, at least 1
/// @return the lower bound; 0 with `balance_bound::none` if the capacity implies no bound
/// @par Complexity
/// O(items).
template <class = when_called>
[[nodiscard]] inline load_bound capacity_bound(std::span<std::int64_t const> costs, std::span<std::int64_t const> sizes, std::uint64_t sets,
                                               std::int64_t capacity) {
  std::int64_t total = 0;
  std::size_t most_expensive = 0, cheapest = costs.size();  // `cheapest` is per unit of size
  for (std::size_t i = 0; i < costs.size(); ++i) {
    total += sizes[i];
    if (costs[i] > costs[most_expensive]) most_expensive = i;
    if (sizes[i] > 0 && (cheapest == costs.size() || compare_products(costs[i], sizes[cheapest], costs[cheapest], sizes[i]) < 0))
      cheapest = i;
  }
  auto const others = static_cast<std::int64_t>(sets) - 1;
  if (cheapest == costs.size() || (others != 0 && capacity > total / others)) return {};
  auto const missing = total - others * capacity - sizes[most_expensive];
  if (missing <= 0) return {};
  auto const company = multiply_divide_up(static_cast<std::uint64_t>(missing), static_cast<std::uint64_t>(costs[cheapest]),
                                          static_cast<std::uint64_t>(sizes[cheapest]));
  return {costs[most_expensive] + static_cast<std::int64_t>(company), balance_bound::capacity};
}

}  // namespace ballast::inline v0_2
