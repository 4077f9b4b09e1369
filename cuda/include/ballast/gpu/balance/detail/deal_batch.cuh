// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/balance/detail/costs.cuh>
#include <ballast/gpu/balance/detail/sort_batch.cuh>
#include <ballast/gpu/balance/result.cuh>
#include <ballast/gpu/core/atomic.cuh>

#include <cstddef>
#include <cstdint>

// One block sorts the items of one batch and assigns them: lane l keeps the sets l, l + lanes, …; every item goes to the set with least
// (load, number). Up to `balance_warp_sets` sets are kept by one warp, which needs no barrier.

namespace ballast::inline v0_2::gpu::detail {

inline constexpr std::uint32_t balance_warp_sets = 256;
inline constexpr std::uint64_t balance_least_chunk = 256, balance_most_chunk = 4096;

// Shared memory: loads and counts of the sets, costs of a chunk of items, their order, and the set of each.
[[nodiscard]] constexpr std::size_t balance_shared_bytes(std::uint32_t sets, std::uint32_t chunk) {
  return (2 * std::size_t{sets} + chunk) * sizeof(std::uint64_t) + 2 * std::size_t{chunk} * sizeof(std::uint16_t);
}

// Data of a batch that a block keeps in shared memory.
struct balance_kept {
  std::uint64_t *load, *count;    // load and number of items of each set
  std::uint64_t* cost;            // cost of each item of a chunk
  std::uint16_t *order, *chosen;  // positions of these items in sorted order; the set of each, in this order
};

template <class Index>
struct balance_deal {
  static constexpr unsigned most_lanes = 256;
  std::int64_t const* costs;
  std::uint64_t all_items;
  std::uint64_t const* offsets;
  Index *one, *other;   // for batches of more than `chunk` items: their order, twice
  std::uint32_t chunk;  // number of items that are sorted in shared memory, a power of two
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
    auto const total = start(block, kept, begin, end);
    if (total == balance_limit) return;
    auto const narrow = total < balance_limit >> (set_bits + 1);  // load and number of a set fit in one word, below `none`
    auto const each = (end - begin) / sets;
    auto left = (end - begin) % sets;  // number of sets that may still hold one item more
    auto const in_chunk = end - begin <= chunk;
    auto const* const order = in_chunk ? nullptr : sort_batch(block, kept, begin, end);
    for (auto from = begin; from < end; from += chunk) {
      auto const many = static_cast<unsigned>(end - from < chunk ? end - from : chunk);
      auto here = kept;
      if (in_chunk)
        sort_chunk(block, here, many);
      else
        load_sorted(block, here, order + (from - begin), many);
      if (sets <= balance_warp_sets)
        block.first_warp([&](auto& warp) { deal_chunk(warp, here, many, each, narrow, left); });
      else
        deal_chunk(block, here, many, each, narrow, left);
      write_sets(block, here, many, [&](unsigned i) { return in_chunk ? begin + i : std::uint64_t{order[from - begin + i]}; });
    }
    block.each([&](unsigned lane) {
      for (auto s = lane; s < sets; s += block.lanes()) loads[b * sets + s] = static_cast<std::int64_t>(kept.load[s]);
    });
  }

 private:
  static constexpr auto none = ~std::uint64_t{0};
  static constexpr std::uint16_t not_chosen = 0xffff;

  template <class Block>
  [[nodiscard]] BALLAST_HD balance_kept cut(Block const& block) const {
    auto* const load = block.template shared<std::uint64_t>();
    auto* const cost = load + 2 * std::size_t{sets};
    auto* const order = reinterpret_cast<std::uint16_t*>(cost + chunk);
    return {load, load + sets, cost, order, order + chunk};
  }

  // Clears the sets, reads the first chunk, and returns the sum of the items [begin, end), at most the limit.
  template <class Block>
  [[nodiscard]] BALLAST_HD std::uint64_t start(Block& block, balance_kept const& kept, std::uint64_t begin, std::uint64_t end) const {
    auto const high = block.total([&](unsigned lane) {
      for (auto s = lane; s < sets; s += block.lanes()) kept.load[s] = kept.count[s] = 0;
      std::uint64_t sum = 0;
      for (auto i = begin + lane; i < end; i += block.lanes()) {
        auto const cost = static_cast<std::uint64_t>(costs[i]);
        if (i - begin < chunk) kept.cost[i - begin] = cost;
        sum += cost >> 32;  // of a negative cost, no less than the limit's
      }
      return sum;
    });
    auto const low = block.total([&](unsigned lane) {
      std::uint64_t sum = 0;
      for (auto i = begin + lane; i < end; i += block.lanes())
        sum += (i - begin < chunk ? kept.cost[i - begin] : static_cast<std::uint64_t>(costs[i])) & 0xffffffff;
      return sum;
    });
    if (high + (low >> 32) < balance_limit >> 32) return (high << 32) + low;
    block.each([&](unsigned lane) {
      if (lane == 0) atomic_min(*bad, balance_too_much(costs, begin, end));
    });
    return balance_limit;
  }

  // Sorts the first `many` costs of the chunk.
  template <class Block>
  BALLAST_HD void sort_chunk(Block& block, balance_kept& kept, unsigned many) const {
    auto* const first = kept.order;
    kept.order = balance_sort_costs(block, kept.cost, many, first, kept.chosen);
    if (kept.order != first) kept.chosen = first;
  }

  // Sorts a batch of several chunks; returns its order.
  template <class Block>
  [[nodiscard]] BALLAST_HD Index const* sort_batch(Block& block, balance_kept kept, std::uint64_t begin, std::uint64_t end) const {
    auto *from = one + begin, *to = other + begin;
    for (auto at = begin; at < end; at += chunk) {
      auto const many = static_cast<unsigned>(end - at < chunk ? end - at : chunk);
      block.each([&](unsigned lane) {
        for (auto t = lane; t < many; t += block.lanes()) kept.cost[t] = static_cast<std::uint64_t>(costs[at + t]);
      });
      sort_chunk(block, kept, many);
      block.each([&](unsigned lane) {
        for (auto t = lane; t < many; t += block.lanes()) from[at - begin + t] = static_cast<Index>(at + kept.order[t]);
      });
    }
    for (std::uint64_t width = chunk; width < end - begin; width *= 2) {
      balance_merge(block, from, to, end - begin, width, [&](Index i) { return static_cast<std::uint64_t>(costs[i]); });
      auto* const sorted = to;
      to = from;
      from = sorted;
    }
    return from;
  }

  template <class Block>
  BALLAST_HD void load_sorted(Block& block, balance_kept const& kept, Index const* order, unsigned many) const {
    block.each([&](unsigned lane) {
      for (auto t = lane; t < many; t += block.lanes()) {
        kept.cost[t] = static_cast<std::uint64_t>(costs[order[t]]);
        kept.order[t] = static_cast<std::uint16_t>(t);
      }
    });
  }

  // Assigns the items of a chunk in order. A lane alone reads and writes its sets, so that an item is one search of all lanes: the lane of
  // the last set adds the last item to it there.
  template <class Team>
  BALLAST_HD void deal_chunk(Team& team, balance_kept const& kept, unsigned many, std::uint64_t each, bool narrow,
                             std::uint64_t& left) const {
    auto const limited = equal || max_items != none;
    auto const lanes = team.lanes();  // a power of two if there are more sets than lanes of a warp
    auto last = no_set;
    auto last_lane = lanes;  // no lane has an item before the first
    std::uint64_t last_cost = 0;
    unsigned t = 0;
    auto const settle = [&](unsigned lane) {
      if (lane != last_lane) return;
      kept.chosen[t - 1] = static_cast<std::uint16_t>(last);
      if (last == no_set) return;
      kept.load[last] += last_cost;
      if (limited) ++kept.count[last];
    };
    auto const least = [&](bool settles, auto const& key) {  // the least key of an open set
      return team.least([&](unsigned lane) {
        if (settles) settle(lane);
        auto found = none;
#if defined(__CUDA_ARCH__)
#pragma unroll 1  // most often one or two sets a lane: entering an unrolled loop takes longer
#endif
        for (auto s = lane; s < sets; s += lanes) {
          auto const held = limited ? kept.count[s] : 0;
          auto const full = held >= max_items || (equal && (held > each || (held == each && left == 0)));
          auto const own = key(s, equal && held == each ? 1U : 0U);
          if (!full && own < found) found = own;
        }
        return found;
      });
    };
    for (; t < many; ++t) {
      auto const cost = kept.cost[kept.order[t]];
      auto found = none;  // twice the set, and one if it takes an item more than others
      if (narrow) {
        found = least(true, [&](std::uint32_t s, unsigned more) { return kept.load[s] << (set_bits + 1) | s << 1 | more; });
        if (found != none) found &= (std::uint64_t{2} << set_bits) - 1;
      } else {
        auto const lowest = least(true, [&](std::uint32_t s, unsigned) { return kept.load[s]; });
        found = least(false, [&](std::uint32_t s, unsigned more) { return kept.load[s] == lowest ? std::uint64_t{s << 1 | more} : none; });
      }
      last = found == none ? no_set : static_cast<std::uint32_t>(found >> 1);
      last_lane = last & (lanes - 1);
      last_cost = cost;
      if (found != none) left -= found & 1;
    }
    team.each(settle);
  }

  // Writes the sets of a chunk in the order of its items: item(i) is the i-th.
  template <class Block, class Item>
  BALLAST_HD void write_sets(Block& block, balance_kept const& kept, unsigned many, Item const& item) const {
    block.each([&](unsigned lane) {
      for (auto t = lane; t < many; t += block.lanes())
        kept.cost[kept.order[t]] = kept.chosen[t] == not_chosen ? no_set : std::uint32_t{kept.chosen[t]};
    });
    block.each([&](unsigned lane) {
      for (auto i = lane; i < many; i += block.lanes()) set_of[item(i)] = static_cast<std::uint32_t>(kept.cost[i]);
    });
  }
};

}  // namespace ballast::inline v0_2::gpu::detail
