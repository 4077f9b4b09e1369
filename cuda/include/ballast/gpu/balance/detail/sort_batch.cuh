// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/search.cuh>

#include <cstdint>

// A block sorts items by cost, descending; equal costs keep their order. Runs are merged by rank: an item searches the other run for how
// many of its items come first.

namespace ballast::inline v0_2::gpu::detail {

inline constexpr unsigned balance_run = 32;  // items of a run that is sorted without a merge

// Merges neighbouring runs of `width` items, a power of two, from one order to another.
template <class Block, class Order, class Count, class Cost>
BALLAST_HD void balance_merge(Block& block, Order const* from, Order* to, Count count, Count width, Cost const& cost_of) {
  block.each([&](unsigned lane) {
    for (Count p = lane; p < count; p += block.lanes()) {
      auto const own = p & ~(width - 1), other = own ^ width;
      auto const size = other >= count ? 0 : count - other < width ? count - other : width;
      auto const item = from[p];
      auto const least = cost_of(item) + (own < other ? 1 : 0);  // what comes before this item in the other run costs at least that
      auto const before = first_where(size, [&](Count i) { return cost_of(from[other + i]) < least; });
      to[p - (own & width) + before] = item;
    }
  });
}

// Sorts the positions of `count` costs in shared memory. Both arrays of positions are used; returns the one that holds the order.
template <class Block>
[[nodiscard]] BALLAST_HD std::uint16_t* balance_sort_costs(Block& block, std::uint64_t const* cost, unsigned count, std::uint16_t* order,
                                                           std::uint16_t* other) {
  block.each([&](unsigned lane) {
    for (auto t = lane; t < count; t += block.lanes()) {
      auto const begin = t & ~(balance_run - 1), end = count - begin < balance_run ? count : begin + balance_run;
      auto place = begin;
      for (auto i = begin; i < end; ++i) place += cost[i] >= cost[t] + (i < t ? 0 : 1) ? 1 : 0;
      order[place] = static_cast<std::uint16_t>(t);
    }
  });
  for (auto width = balance_run; width < count; width *= 2) {
    balance_merge(block, order, other, count, width, [&](std::uint16_t t) { return cost[t]; });
    auto* const sorted = other;
    other = order;
    order = sorted;
  }
  return order;
}

}  // namespace ballast::inline v0_2::gpu::detail
