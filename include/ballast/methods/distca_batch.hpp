// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/attention/attention_tasks.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/status.hpp>
#include <ballast/methods/distca.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <utility>
#include <vector>

/// @file
/// @brief `distca::plan_batch`: DistCA for a global batch that does not fit the servers at once, micro-batch after micro-batch.

namespace ballast::inline v0_2::distca {

/// @brief The micro-batches of a global batch: where the tokens of each are, and where their attention is computed.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct batch_schedule {
  ballast::shards<Index> shards;                 ///< in lockstep, a pass on each server for each micro-batch; `time` is not set
  std::vector<attention_plan<Index>> attention;  ///< of each micro-batch, by the indices of the batch
  certificate time;                              ///< sum over the micro-batches; the bound holds for any placement in lockstep
  std::vector<std::int64_t> busy;                ///< of each server, the time in which it works
};

/// @brief Cuts a batch into micro-batches, as full as they get in the given order, and plans each as `plan` does.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths               tokens of each document
/// @param capacity              most tokens of one server in a micro-batch, positive
/// @param by                    the run
/// @param cost_per_micro_batch  fixed time of a micro-batch on each server, in units of the run's costs; not negative
/// @return the schedule; the status of its shards is `infeasible` if all servers together have no room for a document
/// @post `check_shards` accepts the shards under `capacity`
/// @throws invalid_input as `plan`, for a bad capacity or fixed time, or if the sum of all times reaches 2^63
/// @par Complexity
/// That of `plan`, and O(micro-batches servers).
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] batch_schedule<Index> plan_batch(R const& lengths, std::int64_t capacity, run const& by,
                                               std::int64_t cost_per_micro_batch = 0) {
  auto const servers = static_cast<std::size_t>(by.servers.servers);
  require(servers > 0 && servers < 1U << 20, [&] { return sentence("servers = ", servers, " must be in 1 ... 2^20 - 1"); });
  require(capacity > 0 && capacity <= (std::int64_t{1} << 62) / static_cast<std::int64_t>(servers),
          [&] { return sentence("capacity = ", capacity, " must be positive, and at most 2^62 on all servers"); });
  require(cost_per_micro_batch >= 0, [&] { return sentence("cost_per_micro_batch = ", cost_per_micro_batch, " must not be negative"); });
  auto const room = capacity * static_cast<std::int64_t>(servers);
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  require_index<Index>(n, "documents");
  batch_schedule<Index> out;
  out.shards.execution = execution::lockstep;
  auto const extent = extent_of(lengths);
  if (extent.longest > room) {
    out.shards.status = status::infeasible;
    return out;
  }
  auto const at = read_by_position(lengths);
  auto const length = [&](std::size_t i) { return static_cast<std::int64_t>(at[i]); };
  std::vector<shards<Index>> parts;
  std::vector<std::uint32_t> group;  // the first of each part
  checked time(0), work(0);
  out.busy.assign(servers, 0);
  for (std::size_t i = 0, j = 0; i < n; i = j) {
    std::vector<std::int64_t> mine;
    for (std::int64_t tokens = 0; j < n && tokens + length(j) <= room; tokens += mine.back(), ++j) mine.push_back(length(j));
    auto one = plan<Index>(mine, by);
    time = time + checked(one.time.value) + checked(cost_per_micro_batch);
    for (std::size_t s = 0; s < servers; ++s) {
      std::int64_t tokens = 0;
      for (auto const& p : one.shards(s, 0)) tokens += p.end - p.begin;
      auto const here = checked(by.per_token) * checked(tokens) + checked(by.per_pair) * checked(one.attention.loads[s]);
      work = work + here;
      auto const busy = checked(out.busy[s]) + here + checked(tokens > 0 ? cost_per_micro_batch : 0);
      require(busy.fits() && time.fits() && work.fits(), [] { return "the sum of all times reaches 2^63"; });
      out.busy[s] = busy.value;
    }
    for (auto& p : one.shards.pieces) p.sample += static_cast<Index>(i);
    for (auto& t : one.attention.tasks) t.sample += static_cast<Index>(i);
    group.push_back(static_cast<std::uint32_t>(out.shards.rank_groups.size()));
    for (auto const ranks : one.shards.rank_groups) out.shards.rank_groups.push_back(ranks);
    parts.push_back(std::move(one.shards));
    out.attention.push_back(std::move(one.attention));
  }
  for (std::size_t s = 0; s < servers; ++s) {
    for (std::size_t m = 0; m < parts.size(); ++m) {
      for (auto p : parts[m](s, 0)) {
        if (p.group != not_shared) p.group += group[m];
        out.shards.pieces.push_back(p);
      }
      out.shards.pass_offsets.push_back(out.shards.pieces.size());
    }
    out.shards.rank_offsets.push_back(out.shards.passes());
  }
  auto const fixed = checked(cost_per_micro_batch) * checked(divide_up(extent.tokens, room));  // on each server, at least so often
  auto const least = fixed + checked(divide_up(work.value, static_cast<std::int64_t>(servers)));
  out.time = {time.value, least.value};
  return out;
}

}  // namespace ballast::inline v0_2::distca
