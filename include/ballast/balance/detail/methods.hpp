// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/dealing.hpp>
#include <ballast/balance/options.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

// The methods that deal items in one pass over an order.

namespace ballast::inline v0_2::detail {

/// Deals the items back and forth in order; items without room are dealt last.
template <index_type Index>
void deal_as_snake(deal<Index>& d) {
  d.left.clear();
  auto const k = static_cast<std::size_t>(d.sets);
  for (std::size_t p = 0; p < d.order.size(); ++p) {
    auto const i = d.order[p].item;
    auto const s = p / k % 2 == 0 ? p % k : k - 1 - p % k;
    if (d.room_of(s) >= d.size[i])
      d.put(i, s);
    else
      d.left.push_back(d.order[p]);
  }
  if (!d.left.empty()) d.deal_to_least_loaded(d.left);
}

/// Deals by the rates of `d.part`, whose sum is given, and `d.size`.
template <index_type Index>
void deal_by_rate(deal<Index>& d, std::int64_t total_part, rate_target target) {
  d.sort_by(d.size);
  d.start();
  d.measure.assign(static_cast<std::size_t>(d.sets), 0);
  auto const share = [&](std::int64_t total) { return divide_up(total, static_cast<std::int64_t>(d.sets)); };
  auto const part_goal = share(total_part);
  auto const size_goal = target == rate_target::mean ? (std::min)(d.capacity, share(d.total_size)) : d.capacity;
  auto const steeper = [&](std::size_t a, std::size_t b) {
    auto const size_a = size_goal - (d.capacity - d.room[a]), size_b = size_goal - (d.capacity - d.room[b]);
    if (size_a <= 0 || size_b <= 0) return size_a > size_b;
    return compare_products(part_goal - d.measure[a], size_b, part_goal - d.measure[b], size_a) > 0;
  };
  d.deal_in_order(std::span<keyed_item<Index> const>(d.order), steeper, [&](std::size_t i, std::size_t s) { d.measure[s] += d.part[i]; });
}

}  // namespace ballast::inline v0_2::detail
