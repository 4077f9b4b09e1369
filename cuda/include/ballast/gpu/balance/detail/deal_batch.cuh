// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/balance/detail/costs.cuh>
#include <ballast/gpu/balance/result.cuh>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/search.cuh>

#include <cstddef>
#include <cstdint>

// One block assigns the items of one batch: lane l keeps the sets l, l + lanes, …; every item goes to the set with least (load, number).

namespace ballast::inline v0_2::gpu::detail {

inline constexpr unsigned balance_tile = 256;  // number of items whose costs are in shared memory at a time; at least the number of lanes

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

// The sort key of a batch: a descending sort puts the first batch first.
template <class Index>
struct balance_batch_of {
  std::uint64_t const* offsets;
  std::uint64_t batches;
  Index const* order;
  std::uint32_t* key;
  BALLAST_HD void operator()(std::size_t p) const {
    auto const above = first_above(offsets + 1, batches - 1, std::uint64_t{order[p]});
    key[p] = static_cast<std::uint32_t>(batches - 1 - above);
  }
};

// Data of a batch that a block keeps in shared memory.
struct balance_kept {
  std::uint64_t *load, *count;  // load and number of items of each set
  std::uint64_t* cost;          // cost of each item of a tile
  std::uint32_t* chosen;        // set of each item of a tile
  std::uint64_t* extra;         // number of sets that may still hold one item more
  std::uint64_t* total;         // cost of the batch
};

template <class Index>
struct balance_deal {
  static constexpr unsigned most_lanes = 256;
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
    auto const end = offsets[b + 1] < all_items ? offsets[b + 1] : all_items, begin = offsets[b] < end ? offsets[b] : end;
    auto const kept = cut(block);
    start(block, kept, begin, end);
    if (*kept.total == balance_limit) return;
    auto const narrow = *kept.total < balance_limit >> set_bits;  // load and number of a set fit in one word, below `none`
    auto const each = (end - begin) / sets;
    for (auto from = begin; from < end; from += balance_tile) {
      auto const many = static_cast<unsigned>(end - from < balance_tile ? end - from : balance_tile);
      block.each([&](unsigned lane) {
        for (auto t = lane; t < many; t += block.lanes()) kept.cost[t] = static_cast<std::uint64_t>(costs[order[from + t]]);
      });
      for (unsigned t = 0; t < many; ++t) {
        auto const winner = least_loaded(block, kept, narrow, each);
        block.each([&](unsigned lane) {
          if (lane == 0) kept.chosen[t] = winner;
          if (winner == no_set || winner % block.lanes() != lane) return;
          kept.load[winner] += kept.cost[t];
          if (++kept.count[winner] > each && equal) --*kept.extra;
        });
      }
      block.each([&](unsigned lane) {
        for (auto t = lane; t < many; t += block.lanes()) set_of[order[from + t]] = kept.chosen[t];
      });
    }
    block.each([&](unsigned lane) {
      for (auto s = lane; s < sets; s += block.lanes()) loads[b * sets + s] = static_cast<std::int64_t>(kept.load[s]);
    });
  }

 private:
  static constexpr auto none = ~std::uint64_t{0};

  template <class Block>
  [[nodiscard]] BALLAST_HD balance_kept cut(Block const& block) const {
    auto* const load = block.template shared<std::uint64_t>();
    auto* const cost = load + 2 * std::size_t{sets};
    auto* const behind = cost + balance_tile + balance_tile / 2;
    return {load, load + sets, cost, reinterpret_cast<std::uint32_t*>(cost + balance_tile), behind, behind + 1};
  }

  // Clears the sets, and sums the items [begin, end).
  template <class Block>
  BALLAST_HD void start(Block& block, balance_kept const& kept, std::uint64_t begin, std::uint64_t end) const {
    block.each([&](unsigned lane) {
      for (auto s = lane; s < sets; s += block.lanes()) kept.load[s] = kept.count[s] = 0;
      std::uint64_t sum = 0;
      for (auto i = begin + lane; i < end; i += block.lanes()) sum = balance_sum(sum, static_cast<std::uint64_t>(costs[i]));
      kept.cost[lane] = sum;
    });
    block.each([&](unsigned lane) {
      if (lane != 0) return;
      *kept.extra = (end - begin) % sets;
      *kept.total = 0;
      for (unsigned l = 0; l < block.lanes(); ++l) *kept.total = balance_sum(*kept.total, kept.cost[l]);
      if (*kept.total == balance_limit) atomic_min(*bad, balance_too_much(costs, begin, end));
    });
  }

  // Returns the open set with least (load, number); `no_set` if none is open.
  template <class Block>
  [[nodiscard]] BALLAST_HD std::uint32_t least_loaded(Block& block, balance_kept const& kept, bool narrow, std::uint64_t each) const {
    auto const* const load = kept.load;
    auto const* const count = kept.count;
    auto const open = [&](std::uint32_t s) {
      return count[s] < max_items && (!equal || count[s] < each || (count[s] == each && *kept.extra != 0));
    };
    auto const least = [&](auto const& key) {  // minimum over the open sets
      return block.least([&](unsigned lane) {
        auto found = none;
        for (auto s = lane; s < sets; s += block.lanes())
          if (open(s) && key(s) < found) found = key(s);
        return found;
      });
    };
    if (narrow) {
      auto const found = least([&](std::uint32_t s) { return load[s] << set_bits | s; });
      return found == none ? no_set : static_cast<std::uint32_t>(found & ((std::uint64_t{1} << set_bits) - 1));
    }
    auto const lowest = least([&](std::uint32_t s) { return load[s]; });
    auto const found = least([&](std::uint32_t s) { return load[s] == lowest ? std::uint64_t{s} : none; });
    return found == none ? no_set : static_cast<std::uint32_t>(found);
  }
};

}  // namespace ballast::inline v0_2::gpu::detail
