// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/balance/detail/costs.cuh>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/cost/detail/checks.cuh>

#include <cstddef>
#include <cstdint>

// How a block deals one batch: lane l owns the sets l, l + lanes, …; every item goes to the least (load, set).

namespace ballast::inline v0_2::gpu::detail {

inline constexpr std::uint32_t balance_no_set = ~std::uint32_t{0};
inline constexpr unsigned balance_tile = 256;  // items whose costs are in shared memory at a time; as many as lanes or more

// Shared memory: loads and counts of the sets, a tile of costs, the tile's sets, and two words.
[[nodiscard]] BALLAST_HD constexpr std::size_t balance_shared_words(std::uint32_t sets) {
  return 2 * std::size_t{sets} + balance_tile + balance_tile / 2 + 2;
}

template <class Index>
struct balance_start {
  std::int64_t const* costs;
  Index* order;
  std::uint64_t* bad;
  BALLAST_HD void operator()(std::size_t i) const {
    order[i] = static_cast<Index>(i);
    if (costs[i] < 0) atomic_min(*bad, i);
  }
};

// Sorting descending by it puts the first batch first.
template <class Index>
struct balance_batch_of {
  std::uint64_t const* offsets;
  std::uint64_t batches;
  Index const* order;
  std::uint32_t* key;
  BALLAST_HD void operator()(std::size_t p) const {
    auto const above = cost_first_above(offsets + 1, batches - 1, std::uint64_t{order[p]});
    key[p] = static_cast<std::uint32_t>(batches - 1 - above);
  }
};

template <class Index>
struct balance_deal {
  std::int64_t const* costs;
  std::uint64_t all_items;
  std::uint64_t const* offsets;
  Index const* order;
  std::uint32_t sets;
  unsigned set_bits;
  std::uint64_t max_items;
  bool equal;
  std::uint32_t* set_of;
  std::int64_t* loads;
  std::uint64_t* bad;

  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t b) const {
    constexpr auto none = ~std::uint64_t{0};
    auto const end = offsets[b + 1] < all_items ? offsets[b + 1] : all_items, begin = offsets[b] < end ? offsets[b] : end;
    auto const items = end - begin;
    auto* const load = block.template shared<std::uint64_t>();
    auto* const count = load + sets;
    auto* const cost = count + sets;
    auto* const chosen = reinterpret_cast<std::uint32_t*>(cost + balance_tile);
    auto* const extra = cost + balance_tile + balance_tile / 2;  // sets that may still hold one item more
    auto* const total = extra + 1;

    block.each([&](unsigned lane) {
      for (auto s = lane; s < sets; s += block.lanes()) load[s] = count[s] = 0;
      std::uint64_t sum = 0;
      for (auto i = begin + lane; i < end; i += block.lanes()) sum = balance_sum(sum, static_cast<std::uint64_t>(costs[i]));
      cost[lane] = sum;
    });
    block.each([&](unsigned lane) {
      if (lane != 0) return;
      *extra = items % sets;
      *total = 0;
      for (unsigned l = 0; l < block.lanes(); ++l) *total = balance_sum(*total, cost[l]);
      if (*total == balance_limit) atomic_min(*bad, balance_too_much(costs, begin, end));
    });
    if (*total == balance_limit) return;
    auto const narrow = *total < balance_limit >> set_bits;  // a load and a set in one word, below `none`
    auto const each = items / sets;
    auto const open = [&](std::uint32_t s) {
      return count[s] < max_items && (!equal || count[s] < each || (count[s] == each && *extra != 0));
    };
    // The least of `key(s)` over the open sets.
    auto const least = [&](auto const& key) {
      return block.least([&](unsigned lane) {
        auto found = none;
        for (auto s = lane; s < sets; s += block.lanes())
          if (open(s) && key(s) < found) found = key(s);
        return found;
      });
    };
    for (auto start = begin; start < end; start += balance_tile) {
      auto const many = static_cast<unsigned>(end - start < balance_tile ? end - start : balance_tile);
      block.each([&](unsigned lane) {
        for (auto t = lane; t < many; t += block.lanes()) cost[t] = static_cast<std::uint64_t>(costs[order[start + t]]);
      });
      for (unsigned t = 0; t < many; ++t) {
        auto winner = balance_no_set;
        if (narrow) {
          auto const found = least([&](std::uint32_t s) { return load[s] << set_bits | s; });
          if (found != none) winner = static_cast<std::uint32_t>(found & ((std::uint64_t{1} << set_bits) - 1));
        } else {
          auto const lowest = least([&](std::uint32_t s) { return load[s]; });
          auto const found = least([&](std::uint32_t s) { return load[s] == lowest ? std::uint64_t{s} : none; });
          if (found != none) winner = static_cast<std::uint32_t>(found);
        }
        block.each([&](unsigned lane) {
          if (lane == 0) chosen[t] = winner;
          if (winner == balance_no_set || winner % block.lanes() != lane) return;
          load[winner] += cost[t];
          if (++count[winner] > each && equal) --*extra;
        });
      }
      block.each([&](unsigned lane) {
        for (auto t = lane; t < many; t += block.lanes()) set_of[order[start + t]] = chosen[t];
      });
    }
    block.each([&](unsigned lane) {
      for (auto s = lane; s < sets; s += block.lanes()) loads[b * sets + s] = static_cast<std::int64_t>(load[s]);
    });
  }
};

}  // namespace ballast::inline v0_2::gpu::detail
