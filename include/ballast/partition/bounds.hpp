// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/partition/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

/// @file
/// @brief Lower bounds on the bottleneck of a partition, in integers, without a search. The bottleneck is the cost of the most expensive
/// stage.

namespace ballast::inline v0_2 {

/// @brief A lower bound on the bottleneck of every partition, and the argument that proves it.
struct bottleneck_bound {
  std::int64_t cost = 0;                          ///< the lower bound
  partition_bound bound = partition_bound::none;  ///< the argument that proves it
  friend constexpr bool operator==(bottleneck_bound const&, bottleneck_bound const&) = default;
};

/// @brief The largest of three lower bounds for equal stages: the mean, the most expensive layer, the cheapest window.
///
/// The window bound: some stage has at least `ceil(n / stages)` layers, which cost at least as much as the cheapest window of that many
/// consecutive layers. On a chain of equal layers this bound is the optimum.
///
/// @param prefix   prefix sums of the layers' costs: n + 1 entries that start with 0 and never decrease
/// @param largest  cost of the most expensive layer
/// @param stages   number of stages, at least 1
/// @return the largest bound; among equal ones the first of the enumeration
/// @par Complexity
/// O(layers).
template <class = when_called>
[[nodiscard]] inline bottleneck_bound partition_lower_bound(std::span<std::int64_t const> prefix, std::int64_t largest,
                                                            std::uint64_t stages) {
  auto const n = prefix.size() - 1;
  if (n == 0) return {};
  auto const total = prefix[n], p = static_cast<std::int64_t>(stages);
  bottleneck_bound best{divide_up(total, p), partition_bound::mean};
  if (largest > best.cost) best = {largest, partition_bound::largest_layer};
  if (n <= stages) return best;  // then a window has one layer
  auto const length = static_cast<std::size_t>((n - 1) / stages + 1);
  auto const* const begin = prefix.data();
  auto const* const end = begin + length;
  auto window = total;
  for (std::size_t i = 0; i + length <= n; ++i) window = (std::min)(window, end[i] - begin[i]);
  if (window > best.cost) best = {window, partition_bound::window};
  return best;
}

/// @brief The mean bound for unequal stages: the smallest limit under which all stages together can take the total, in integer units.
///
/// @param total      cost of all layers, not negative
/// @param unit_time  for each stage, the time of one unit of cost, at least 1; not empty; `total` times the largest must fit in 63 bits
/// @return the lower bound
/// @par Complexity
/// O(stages * log(total)).
template <class = when_called>
[[nodiscard]] inline bottleneck_bound unequal_lower_bound(std::int64_t total, std::span<std::int64_t const> unit_time) {
  if (total == 0) return {};
  auto const holds = [&](std::int64_t limit) {
    auto left = total;
    for (auto const t : unit_time)
      if ((left -= (std::min)(left, limit / t)) == 0) return true;
    return false;
  };
  auto const possible = total * *std::min_element(unit_time.begin(), unit_time.end());
  return {first_where(std::int64_t{1}, possible, holds), partition_bound::mean};
}

}  // namespace ballast::inline v0_2
