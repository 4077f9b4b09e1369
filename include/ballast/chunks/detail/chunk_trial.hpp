// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/chunks/chunk_work.hpp>
#include <ballast/chunks/deal_chunks.hpp>
#include <ballast/chunks/make_chunks.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/status.hpp>
#include <ballast/pipeline/list_schedule.hpp>
#include <ballast/pipeline/search_order.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

// The modelled time of a batch in chunks on pipelines.

namespace ballast::inline v0_2::detail {

template <index_type Index>
class chunk_trial {
 public:
  ballast::status status = status::feasible;
  certificate time;                          // of the slowest rank
  std::int64_t peak = 0;                     // most bytes of a stage; if infeasible, the bytes that are needed
  groups<std::uint32_t> ranks;               // chains of each rank
  std::vector<searched_pipeline> pipelines;  // of each rank

  chunk_trial(chunking<Index> const& plan, chunk_works const& works, std::uint64_t count, list_options const& list,
              std::uint64_t simulations)
      : plan_(plan), works_(works) {
    std::vector<std::int64_t> times(plan.size());
    for (std::size_t k = 0; k < plan.size(); ++k) {
      auto const& w = works.of_chunk[k];
      auto const all = checked(w.forward) + checked(w.recompute) + checked(w.backward);
      require(all.fits(), [&] { return "the time of chunk " + std::to_string(k) + " reaches 2^63"; });
      times[k] = all.value;
    }
    auto dealt = deal_chunks(plan, {.sets = count}, times);
    ranks = std::move(dealt.sets);
    std::int64_t needed = 0;
    for (auto const mine : ranks) {
      auto& rank = pipelines.emplace_back();
      if (mine.empty()) continue;
      auto const [chains, own] = renumbered(mine);
      rank = search_order(chains, list, own, {.simulations = simulations});
      if (rank.status != status::feasible) needed = (std::max)(needed, rank.shortage.needed);
      time.value = (std::max)(time.value, rank.timeline.makespan.value);
      for (auto const& stage : rank.timeline.stages) peak = (std::max)(peak, stage.peak_memory);
    }
    if (needed > 0) {
      status = status::infeasible;
      time = {};
      peak = needed;
    } else {
      time.lower_bound = bound(times, dealt.load.lower_bound, static_cast<std::int64_t>(list.stages) - 1);
    }
  }

 private:
  // The chains of one rank with their chunks numbered from 0, and the work of these.
  [[nodiscard]] std::pair<groups<std::uint32_t>, chunk_works> renumbered(std::span<std::uint32_t const> mine) const {
    std::pair<groups<std::uint32_t>, chunk_works> out;
    auto& [chains, own] = out;
    for (auto const c : mine) {
      for (auto const k : plan_.chains[c]) {
        chains.members.push_back(static_cast<std::uint32_t>(own.of_chunk.size()));
        own.of_chunk.push_back(works_.of_chunk[k]);
      }
      chains.offsets.push_back(chains.members.size());
    }
    return out;
  }

  // For any dealing and any order. On some rank the last stage has at least `load` to do, and on the rank of a chain that chain. It starts
  // when a first chunk has passed all stages before, and after its last task, the backward of a first chunk, that goes back through them.
  [[nodiscard]] std::int64_t bound(std::vector<std::int64_t> const& times, std::int64_t load, std::int64_t before) const {
    std::int64_t longest = 0, forward = (std::numeric_limits<std::int64_t>::max)(), backward = forward;
    for (auto const chain : plan_.chains) {
      auto const& first = works_.of_chunk[chain.front()];
      auto way = before * (first.forward + first.backward);
      for (auto const k : chain) way += times[k];
      longest = (std::max)(longest, way);
      forward = (std::min)(forward, first.forward);
      backward = (std::min)(backward, first.backward);
    }
    auto const one_rank = pipelines.size() == 1 ? pipelines[0].timeline.makespan.lower_bound : 0;
    return (std::max)({longest, load + before * (forward + backward), one_rank});
  }

  chunking<Index> const& plan_;
  chunk_works const& works_;
};

}  // namespace ballast::inline v0_2::detail
