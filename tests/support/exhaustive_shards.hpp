// SPDX-License-Identifier: Apache-2.0
#pragma once
// The exact optimum of tiny sharding problems, by dynamic programs over sets of samples. It shares no code with any planner.
#include <ballast/core/random.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/sharding/options.hpp>

#include "support/lengths.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace ballast_test {

/// FlexSP's fitted constants of a 7B model on 64 A100 (arXiv 2412.01523): 5.128e-6 ms and 0.1839576 ms per squared token and token, and an
/// all-to-all of 16 * 32 layers * 4096 bytes per token at 119.54, 104.07, 96.5, 10.33, 5.94 and 4.87 GB/s on 2 ... 64 ranks.
inline ballast::degree_cost flexsp_cost() {
  return {.linear = 183957600, .square = 5128, .exchange = {0, 8771758, 5037840, 2716518, 12688480, 11032997, 6728542}};
}
/// FlexSP's fixed time of a pass, in nanoseconds.
inline constexpr std::int64_t flexsp_cost_per_pass = 629356300;

/// A sharding problem of a few samples.
struct tiny_batch {
  std::vector<std::int64_t> lengths;
  ballast::sharding_options options;
  ballast::degree_cost cost = flexsp_cost();
};

/// 4 ... 7 samples for 4 ranks. Every sample fits the ranks together, and many fit only several ranks or only a pass of their own. To share
/// a token costs each rank a twentieth to a third of its own time, except in every fourth batch, so that the best degrees differ.
inline tiny_batch random_tiny_batch(ballast::splitmix64& draw) {
  tiny_batch out;
  out.options.ranks = 4;
  out.options.capacity = between(500, 4000, draw);
  out.options.cost_per_pass = draw() % 2 == 0 ? flexsp_cost_per_pass : between(0, 100000000, draw);
  out.options.execution = ballast::execution::independent;
  auto const longest = draw() % 3 == 0 ? 4 * out.options.capacity : draw() % 2 == 0 ? 2 * out.options.capacity : out.options.capacity;
  auto const n = between(4, 7, draw);
  for (std::int64_t i = 0; i < n; ++i)
    out.lengths.push_back(draw() % 2 == 0 ? between(100, longest, draw) : between(100, longest / 2, draw));
  if (draw() % 4 != 0) out.cost.exchange = {0, between(5000000, 60000000, draw), between(5000000, 60000000, draw)};
  return out;
}

/// Least times of a batch on aligned blocks of 2^l ranks; `never` if a sample fits no block.
struct exhaustive_times {
  static constexpr std::int64_t never = (std::numeric_limits<std::int64_t>::max)() / 4;
  std::int64_t independent = never;  ///< each rank runs its own passes, the widest first: the largest sum from the root to a leaf
  std::int64_t lockstep = never;     ///< all ranks wait for each other after each micro-batch: the sum of the longest passes
  std::int64_t one_pass = never;     ///< at most one pass on each rank
};

/// Computes both optima in O(levels * 3^n): `ranks` is a power of two, the samples are at most about 12.
template <class Cost>
exhaustive_times exhaustive_shards(std::vector<std::int64_t> const& lengths, ballast::sharding_options const& o, Cost const& cost) {
  using table = std::vector<std::int64_t>;
  constexpr auto never = exhaustive_times::never;
  auto const sets = std::size_t{1} << lengths.size();
  auto const most = o.most_ranks_shared == 0 ? o.ranks : std::min(o.most_ranks_shared, o.ranks);
  // The least `combine(a, b)` of two parts of each set.
  auto const split = [&](auto const& combine) {
    table best(sets, never);
    for (std::size_t set = 0; set < sets; ++set)
      for (auto part = set;; part = (part - 1) & set) {
        best[set] = std::min(best[set], combine(part, set ^ part));
        if (part == 0) break;
      }
    return best;
  };
  auto const time_of = [&](std::size_t i, std::int64_t width) -> std::int64_t {
    if constexpr (requires { cost(i, lengths[i], width); })
      return static_cast<std::int64_t>(cost(i, lengths[i], width));
    else
      return static_cast<std::int64_t>(cost(lengths[i], width));
  };
  table path(sets, 0), micro(sets, 0);  // of the blocks of the level below: passes on it and its children; at most one pass for each rank
  for (std::uint64_t width = 1; width <= o.ranks; width *= 2) {
    table tokens(sets, 0), time(sets, 0), pass(sets, never), all(sets, never);
    for (std::size_t set = 1; set < sets; ++set) {
      std::size_t low = 0;
      while ((set >> low & 1) == 0) ++low;
      auto const rest = set & (set - 1);
      tokens[set] = tokens[rest] + lengths[low];
      time[set] = time[rest] + time_of(low, static_cast<std::int64_t>(width));
      if (width <= most && tokens[set] <= o.capacity * static_cast<std::int64_t>(width)) pass[set] = time[set] + o.cost_per_pass;
    }
    pass[0] = all[0] = 0;  // `all`: as few passes as hold the set, so that the sum of their times is least
    for (std::size_t set = 1; set < sets; ++set)
      for (auto part = set; part != 0; part = (part - 1) & set)
        if (pass[part] < never) all[set] = std::min(all[set], pass[part] + all[set ^ part]);
    if (width == 1) {
      path = all;
      micro = pass;
      continue;
    }
    auto const halves = split([&](std::size_t a, std::size_t b) { return std::max(path[a], path[b]); });
    path = split([&](std::size_t a, std::size_t b) { return std::min(never, all[a] + halves[b]); });
    auto const pair = split([&](std::size_t a, std::size_t b) { return std::max(micro[a], micro[b]); });
    for (std::size_t set = 0; set < sets; ++set) micro[set] = std::min(pass[set], pair[set]);
  }
  table batches(sets, never);
  batches[0] = 0;
  for (std::size_t set = 1; set < sets; ++set)
    for (auto part = set; part != 0; part = (part - 1) & set) batches[set] = std::min(batches[set], micro[part] + batches[set ^ part]);
  return {path.back(), std::min(never, batches.back()), micro.back()};
}

/// How a planner of ranks that do not wait for each other compares with the optimum, over many tiny batches.
struct against_optimum {
  int rounds = 0, optimal = 0, within_two_percent = 0;
  int unplanned = 0, below_optimum = 0, bound_above_optimum = 0;  // faults
  double mean = 0, worst = 0;                                     // of the planner's time over the optimum; the mean is arithmetic
  tiny_batch worst_batch;
};

/// Plans the vector {848, 1741, 1017, 1330, 950, 363} of 4 ranks with 1785 tokens each, where pooling two ranks saves a pass, and `rounds`
/// random batches. `plan(lengths, options, cost)` returns shards; plans under `execution::mixed` may be below this optimum.
template <class Plan>
against_optimum compare_with_optimum(int rounds, std::uint64_t seed, Plan const& plan) {
  ballast::splitmix64 draw(seed);
  against_optimum out;
  for (; out.rounds <= rounds; ++out.rounds) {
    auto batch = random_tiny_batch(draw);
    if (out.rounds == 0) {
      batch.lengths = {848, 1741, 1017, 1330, 950, 363};
      batch.options.capacity = 1785;
      batch.options.cost_per_pass = flexsp_cost_per_pass;
      batch.cost = flexsp_cost();
    }
    auto const optimum = exhaustive_shards(batch.lengths, batch.options, batch.cost).independent;
    auto const shards = plan(batch.lengths, batch.options, batch.cost);
    if (shards.status != ballast::status::feasible) {
      ++out.unplanned;
      continue;
    }
    out.optimal += shards.time.value == optimum;
    out.within_two_percent += shards.time.value <= optimum + optimum / 50;
    out.below_optimum += shards.time.value < optimum;
    out.bound_above_optimum += shards.time.lower_bound > optimum;
    auto const ratio = static_cast<double>(shards.time.value) / static_cast<double>(optimum);
    out.mean += ratio;
    if (ratio > out.worst) {
      out.worst = ratio;
      out.worst_batch = batch;
    }
  }
  out.mean /= out.rounds - out.unplanned;
  return out;
}

}  // namespace ballast_test
