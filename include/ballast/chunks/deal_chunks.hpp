// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/balance.hpp>
#include <ballast/chunks/make_chunks.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief `deal_chunks`: chains of chunks dealt to data-parallel ranks; the chunks, and the shards, of each rank.

namespace ballast::inline v0_2 {

/// @brief Deals chains of chunks to data-parallel ranks, each of which may be a pipeline, such that the largest sum of times is small.
///
/// A chain stays on one rank: its chunks exchange keys and values through the memory of that rank.
///
/// @tparam Index  index type of the chunks
/// @param plan     the chunks of a global batch
/// @param options  `sets` is the number of ranks; other limits count a chain as one item, and its tokens as its size
/// @param times    time of each chunk on the slowest stage: `chunk_times`, or forward, backward and recompute of `chunk_work`
/// @return the chains of each rank, ascending, with the largest load and a lower bound on it: that of `balance`
/// @post every chain is on exactly one rank, unless the status is not `feasible`
/// @throws invalid_input for a bad option, a time that is negative, or times of another number than the chunks or with a sum of 2^63
/// @par Complexity
/// That of `balance` for as many items as there are chains, plus O(ranges).
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index>
[[nodiscard]] balanced_sets<std::uint32_t> deal_chunks(chunking<Index> const& plan, balance_options const& options,
                                                       std::span<std::int64_t const> times) {
  require(times.size() == plan.size(), [&] { return sentence("times has ", times.size(), " entries for ", plan.size(), " chunks"); });
  auto const n = plan.chains.size();
  std::vector<std::uint32_t> chains(n);
  std::vector<std::int64_t> cost(n, 0), tokens(n, 0);
  for (std::size_t c = 0; c < n; ++c) {
    chains[c] = static_cast<std::uint32_t>(c);
    for (auto const k : plan.chains[c]) {
      add_checked(cost[c], times[k], "times", k);
      tokens[c] += plan.tokens(k);
    }
  }
  auto const look_up = [](std::vector<std::int64_t> const& in) {
    return [&in](std::int64_t c) { return in[static_cast<std::size_t>(c)]; };
  };
  auto out = balance<std::uint32_t>(chains, options, look_up(cost), look_up(tokens));
  for (std::size_t r = 0; r < out.sets.size(); ++r)  // in the order of the plan, which is that of a pipeline's forwards
    std::sort(out.sets.members.begin() + static_cast<std::ptrdiff_t>(out.sets.offsets[r]),
              out.sets.members.begin() + static_cast<std::ptrdiff_t>(out.sets.offsets[r + 1]));
  return out;
}

/// @brief The chunks of some chains as a batch of their own, such as those that one rank trains on.
///
/// @tparam Index  index type of the chunks
/// @param plan     the chunks of a global batch
/// @param chains   numbers of chains, each once
/// @param options  the size of a chunk, from which the lower bound follows
/// @return the chunks, numbered chain after chain, with the samples of the global batch. `count.lower_bound` is the least number of chunks
/// for the long samples, plus the tokens of the others over the size
/// @throws invalid_input if a number is not that of a chain, or the size is not positive
/// @par Complexity
/// O(ranges of the result).
template <index_type Index>
[[nodiscard]] chunking<Index> chunks_of(chunking<Index> const& plan, std::span<std::uint32_t const> chains,
                                        chunking_options const& options) {
  require(options.size > 0, [&] { return sentence("size = ", options.size, " must be positive"); });
  chunking<Index> out;
  std::int64_t tokens = 0;  // of standalone chunks
  for (std::size_t j = 0; j < chains.size(); ++j) {
    require(chains[j] < plan.chains.size(), [&] { return entry("chains", j, chains[j]) + " is not the number of a chain"; });
    auto const chain = plan.chains[chains[j]];
    for (auto const k : chain) {
      out.chains.members.push_back(static_cast<std::uint32_t>(out.size()));
      out.ranges.insert(out.ranges.end(), plan[k].begin(), plan[k].end());
      out.offsets.push_back(out.ranges.size());
    }
    out.chains.offsets.push_back(out.size());
    if (chain.size() == 1)
      tokens += plan.tokens(chain.front());
    else
      out.count.lower_bound += divide_up(plan[chain.back()].back().end, options.size);
  }
  if (tokens > 0) out.bound = packing_bound::volume;
  out.count.lower_bound += divide_up(tokens, options.size);
  out.count.value = static_cast<std::int64_t>(out.size());
  return out;
}

/// @brief Chunks on data-parallel ranks as shards: each chunk is a pass of its rank.
///
/// The loaders of shard_layout.hpp and `shard_weights` take the result. Labels must be shifted before samples are cut
/// (`label_shift::done`): the last position of a piece predicts the first token of the next one.
///
/// @tparam Index  index type of the chunks
/// @param plan   the chunks of a global batch
/// @param ranks  the chains of each rank, as `deal_chunks` returns them
/// @return the shards, with every chunk of a chain in order; `time` is left 0 for `time_shards`
/// @throws invalid_input if a member is not the number of a chain
/// @post `check_shards` accepts the result if `check_chunks` accepts the plan and each chain is on one rank
/// @par Complexity
/// O(ranges).
template <index_type Index>
[[nodiscard]] shards<Index> shards_of(chunking<Index> const& plan, groups<std::uint32_t> const& ranks) {
  shards<Index> out;
  out.pieces.reserve(plan.ranges.size());
  for (auto const chains : ranks) {
    for (auto const c : chains) {
      require(c < plan.chains.size(), [&] { return sentence("chain ", c, " of a rank does not exist"); });
      for (auto const k : plan.chains[c]) {
        for (auto const& r : plan[k]) out.pieces.push_back({r.sample, r.begin, r.end});
        out.pass_offsets.push_back(out.pieces.size());
      }
    }
    out.rank_offsets.push_back(out.passes());
  }
  return out;
}

}  // namespace ballast::inline v0_2
