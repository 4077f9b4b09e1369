// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/sample_degree_cost.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

/// @file
/// @brief `time_shards`: the modelled time of any shards, of this library or of another planner.

namespace ballast::inline v0_2 {

/// @brief When each pass runs.
struct shard_times {
  std::int64_t makespan = 0;        ///< when the last rank is done
  std::vector<std::int64_t> start;  ///< start of each pass, counted over all ranks
  std::vector<std::int64_t> end;    ///< end of each pass; passes that share a sample start and end together
  std::vector<std::int64_t> busy;   ///< of each rank: time in which it trains, without waiting
};

namespace detail {

/// The time of tokens `[begin, end)` of a sample on d ranks.
template <shard_cost_model Cost>
[[nodiscard]] std::int64_t time_of_tokens(Cost const& cost, std::size_t sample, std::int64_t begin, std::int64_t end, std::int64_t d) {
  return static_cast<std::int64_t>(shard_time(cost, sample, end, d)) -
         (begin == 0 ? 0 : static_cast<std::int64_t>(shard_time(cost, sample, begin, d)));
}

/// The time of each group: of the tokens that its ranks hold of every sample.
template <index_type Index, shard_cost_model Cost>
[[nodiscard]] std::vector<std::int64_t> times_of_groups(shards<Index> const& plan, Cost const& cost) {
  struct share {
    std::uint32_t group;
    Index sample;
    std::int64_t begin, end;
  };
  std::vector<share> shared;
  for (auto const& p : plan.pieces)
    if (p.group != not_shared) shared.push_back({p.group, p.sample, p.begin, p.end});
  std::sort(shared.begin(), shared.end(), [](share const& a, share const& b) {
    return a.group != b.group ? a.group < b.group : a.sample != b.sample ? a.sample < b.sample : a.begin < b.begin;
  });
  std::vector<std::int64_t> out(plan.rank_groups.size(), 0);
  for (std::size_t i = 0, j = 0; i < shared.size(); i = j) {
    while (j < shared.size() && shared[j].group == shared[i].group && shared[j].sample == shared[i].sample) ++j;
    out[shared[i].group] += time_of_tokens(cost, static_cast<std::size_t>(shared[i].sample), shared[i].begin, shared[j - 1].end,
                                           static_cast<std::int64_t>(plan.rank_groups[shared[i].group].size()));
  }
  return out;
}

/// Passes that run together, since they share a group: a set of them has the number of one.
struct joint_passes {
  std::vector<std::int64_t> own;                  ///< time of each pass
  std::vector<std::size_t> set_of;                ///< of each pass
  std::vector<std::vector<std::size_t>> members;  ///< of each set; other numbers have none
  std::vector<std::int64_t> lasts;                ///< time of each set
};
template <index_type Index, shard_cost_model Cost>
[[nodiscard]] joint_passes join_passes(shards<Index> const& plan, Cost const& cost, std::int64_t cost_per_pass) {
  auto const passes = plan.passes();
  auto const group_time = times_of_groups(plan, cost);
  joint_passes out;
  auto& [own, set_of, members, lasts] = out;
  own.assign(passes, 0);
  set_of.resize(passes);
  std::iota(set_of.begin(), set_of.end(), std::size_t{0});
  auto const root = [&](std::size_t p) {
    while (set_of[p] != p) p = set_of[p] = set_of[set_of[p]];
    return p;
  };
  std::vector<std::size_t> holder(plan.rank_groups.size(), passes);
  std::vector<std::uint32_t> seen;  // groups of the pass
  for (std::size_t p = 0; p < passes; ++p) {
    seen.clear();
    auto const pieces = plan.of_pass(p);
    own[p] = pieces.empty() ? 0 : cost_per_pass;
    for (auto const& held : pieces) {
      if (held.group == not_shared) {
        own[p] += time_of_tokens(cost, static_cast<std::size_t>(held.sample), held.begin, held.end, 1);
      } else if (std::find(seen.begin(), seen.end(), held.group) == seen.end()) {
        seen.push_back(held.group);
        own[p] += group_time[held.group];
        if (auto& other = holder[held.group]; other == passes)
          other = p;
        else
          set_of[root(p)] = root(other);
      }
    }
  }
  members.resize(passes);
  lasts.assign(passes, 0);
  for (std::size_t p = 0; p < passes; ++p) {
    auto const k = set_of[p] = root(p);
    members[k].push_back(p);
    lasts[k] = (std::max)(lasts[k], own[p]);
  }
  return out;
}

}  // namespace detail

/// @brief Computes when each pass runs.
///
/// A pass takes `cost_per_pass`, the time of every sample that it shares with other ranks, and the time of its whole samples. Passes that
/// share a sample take as long as the longest of them. They start when all their ranks are free. Under `execution::lockstep`, pass m of
/// all ranks starts together. The time of tokens `[b, e)` of a sample is `cost(e, d) - cost(b, d)` on d ranks: exact for causal attention.
/// A pass without pieces takes no time.
///
/// @tparam Index  index type of the shards
/// @tparam Cost   a `shard_cost_model`
/// @param plan           the shards; `check_shards` says whether they are valid
/// @param cost           time of a sample by its length and the number of ranks that share it
/// @param cost_per_pass  fixed time of a pass
/// @return start and end of each pass, and the makespan
/// @throws invalid_input if ranks wait for each other in a circle, or for a pass that no rank runs
/// @par Complexity
/// O(pieces log pieces).
template <index_type Index, shard_cost_model Cost>
[[nodiscard]] shard_times time_shards(shards<Index> const& plan, Cost const& cost, std::int64_t cost_per_pass = 0) {
  auto const passes = plan.passes(), ranks = plan.ranks();
  auto const joint = detail::join_passes(plan, cost, cost_per_pass);
  std::vector<std::size_t> rank_of(passes), waiting(passes, 0);
  for (std::size_t r = 0; r < ranks; ++r)
    for (auto p = plan.rank_offsets[r]; p < plan.rank_offsets[r + 1]; ++p) rank_of[p] = r;

  shard_times out;
  out.start.resize(passes);
  out.end.resize(passes);
  out.busy.assign(ranks, 0);
  std::vector<std::int64_t> free(ranks, 0);
  std::vector<std::uint64_t> next(plan.rank_offsets.begin(), plan.rank_offsets.begin() + static_cast<std::ptrdiff_t>(ranks));
  std::vector<std::size_t> ready;
  std::size_t done = 0;
  auto const arrive = [&](std::size_t r) {
    if (next[r] == plan.rank_offsets[r + 1]) return;
    auto const k = joint.set_of[static_cast<std::size_t>(next[r])];
    if (++waiting[k] == joint.members[k].size()) ready.push_back(k);
  };
  std::int64_t barrier = 0;
  auto const run = [&](std::size_t k) {
    auto start = barrier;
    for (auto const p : joint.members[k]) start = (std::max)(start, free[rank_of[p]]);
    for (auto const p : joint.members[k]) {
      out.start[p] = start;
      out.end[p] = free[rank_of[p]] = start + joint.lasts[k];
      out.busy[rank_of[p]] += joint.own[p];
      ++next[rank_of[p]];
      ++done;
    }
    out.makespan = (std::max)(out.makespan, start + joint.lasts[k]);
  };
  for (std::size_t r = 0; r < ranks; ++r) arrive(r);
  while (!ready.empty()) {
    auto const batch = std::exchange(ready, {});  // under lockstep: one micro-batch
    for (auto const k : batch) run(k);
    if (plan.execution == execution::lockstep) barrier = out.makespan;
    for (auto const k : batch)
      for (auto const p : joint.members[k]) arrive(rank_of[p]);
  }
  require(done == passes,
          [&] { return sentence("the ranks wait for each other in a circle: ", passes - done, " of ", passes, " passes never start"); });
  return out;
}

}  // namespace ballast::inline v0_2
