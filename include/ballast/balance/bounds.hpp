// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/bound_of_costs.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/core/wide.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief Lower bounds on the largest load of k sets, in integers.

namespace ballast::inline v0_2 {

/// @brief The best of four bounds: the mean, the largest item, pigeonholes, and company that a minimum of items per set forces.
///
/// Of the `j * sets + 1` largest items some set holds `j + 1`, which cost at least as much as the smallest `j + 1` of them; if every set
/// holds at least `min_items`, the missing ones cost at least as much as the smallest of all. `j = 0` is the largest item.
///
/// @param descending  costs, largest first, none negative, with a sum below 2^63
/// @param sets        number of sets, at least 1
/// @param min_items   items that each set must hold at least; at most `descending.size() / sets`
/// @return the largest bound; of equal ones the first of the enumeration
/// @par Complexity
/// O(items).
/// @par Source
/// Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17 (1969): mean and largest item. Dell'Amico, Martello,
/// "Optimal scheduling of tasks on identical parallel processors", ORSA J. Computing 7 (1995): pigeonholes.
[[nodiscard]] inline load_bound balance_lower_bound(std::span<std::int64_t const> descending, std::uint64_t sets,
                                                    std::uint64_t min_items = 0) {
  std::vector<std::int64_t> prefix(descending.size() + 1);
  for (std::size_t i = 0; i < descending.size(); ++i) prefix[i + 1] = prefix[i] + descending[i];
  return detail::bound_of_costs([&](std::uint64_t i) { return prefix[static_cast<std::size_t>(i)]; }, descending.size(), sets, min_items);
}

/// @brief What a set with the most expensive item costs at least when the other sets, filled to their capacity, leave it a minimum of size.
///
/// That set holds at least `S = total size - (sets - 1) * capacity`; what it holds beside the item costs at least as much per unit of size
/// as the cheapest item does.
///
/// @param costs     cost of each item, none negative, with a sum below 2^63
/// @param sizes     size of each item, likewise; as many
/// @param sets      number of sets, at least 1
/// @param capacity  largest total size of a set, at least 1
/// @return the bound; `none` where it says nothing
/// @par Complexity
/// O(items).
[[nodiscard]] inline load_bound capacity_bound(std::span<std::int64_t const> costs, std::span<std::int64_t const> sizes, std::uint64_t sets,
                                               std::int64_t capacity) {
  std::int64_t total = 0;
  std::size_t most_expensive = 0, cheapest = costs.size();  // the latter per unit of size
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
