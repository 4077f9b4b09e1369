// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/result.hpp>
#include <ballast/core/math.hpp>

#include <cstdint>

namespace ballast::inline v0_2::detail {

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

}  // namespace ballast::inline v0_2::detail
