// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/chunk_work.hpp>
#include <ballast/batching/deal_chunks.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/status.hpp>
#include <ballast/packing/chunks.hpp>
#include <ballast/pipeline/bounds.hpp>
#include <ballast/pipeline/list_schedule.hpp>

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

// The orders of a rank's chains that are tried: as dealt, ascending and descending in time, and with the longest in the middle.
template <class Visit>
void for_each_order(std::span<std::uint32_t const> dealt, std::vector<std::int64_t> const& time_of, Visit const& visit) {
  std::vector<std::uint32_t> order(dealt.begin(), dealt.end()), middle;
  visit(order);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return time_of[a] != time_of[b] ? time_of[a] < time_of[b] : a < b; });
  visit(order);
  for (std::size_t i = 0; i < order.size(); i += 2) middle.push_back(order[i]);
  for (auto i = order.size() / 2; i-- > 0;) middle.push_back(order[2 * i + 1]);
  visit(middle);
  std::reverse(order.begin(), order.end());
  visit(order);
}

template <index_type Index>
class chunk_trial {
 public:
  ballast::status status = status::feasible;
  certificate time;                           // of the slowest rank
  std::int64_t peak = 0;                      // most bytes of a stage; if infeasible, the bytes that are needed
  groups<std::uint32_t> ranks;                // chains of each rank in the order of their forwards
  std::vector<scheduled_pipeline> pipelines;  // of each rank

  chunk_trial(chunking<Index> const& plan, chunk_works const& works, std::uint64_t count, list_options const& list,
              list_workspace& workspace)
      : plan_(plan), works_(works), time_(plan.size()), time_of_(plan.chains.size(), 0) {
    for (std::size_t k = 0; k < plan.size(); ++k) {
      auto const& w = works.of_chunk[k];
      auto const all = checked(w.forward) + checked(w.recompute) + checked(w.backward);
      require(all.fits(), [&] { return "the time of chunk " + std::to_string(k) + " reaches 2^63"; });
      time_[k] = all.value;
    }
    auto const dealt = deal_chunks(plan, {.sets = count}, time_);
    for (std::size_t c = 0; c < plan.chains.size(); ++c)  // deal_chunks has refused sums of 2^63 and more
      for (auto const k : plan.chains[c]) time_of_[c] += time_[k];
    std::int64_t needed = 0;
    for (auto const mine : dealt.sets) schedule(mine, list, workspace, needed);
    if (needed > 0) {
      status = status::infeasible;
      time = {};
      peak = needed;
    } else {
      time.lower_bound = bound(dealt.load.lower_bound, static_cast<std::int64_t>(list.stages) - 1);
    }
  }

 private:
  // The best schedule of one rank. `needed` becomes the most bytes that a chain needs, if they are more than there are.
  void schedule(std::span<std::uint32_t const> mine, list_options const& list, list_workspace& workspace, std::int64_t& needed) {
    scheduled_pipeline best;
    std::vector<std::uint32_t> best_order;
    if (!mine.empty())
      for_each_order(mine, time_of_, [&](std::vector<std::uint32_t> const& order) {
        renumber(order);
        list_schedule(chains_, list, of_rank_, workspace, next_);
        if (next_.status != status::feasible) {
          needed = (std::max)(needed, next_.shortage.needed);
        } else if (best.status != status::feasible || next_.timeline.makespan.value < best.timeline.makespan.value) {
          std::swap(best, next_);
          best_order = order;
        }
      });
    time.value = (std::max)(time.value, best.timeline.makespan.value);
    for (auto const& stage : best.timeline.stages) peak = (std::max)(peak, stage.peak_memory);
    ranks.push_back(best_order);
    pipelines.push_back(std::move(best));
  }

  // Numbers the chunks of some chains from 0.
  void renumber(std::vector<std::uint32_t> const& order) {
    chains_.clear();
    of_rank_.of_chunk.clear();
    for (auto const c : order) {
      for (auto const k : plan_.chains[c]) {
        chains_.members.push_back(static_cast<std::uint32_t>(of_rank_.of_chunk.size()));
        of_rank_.of_chunk.push_back(works_.of_chunk[k]);
      }
      chains_.offsets.push_back(chains_.members.size());
    }
  }

  // For any dealing and any order. On some rank the last stage has at least `load` to do, and on the rank of a chain that chain. It starts
  // when a first chunk has passed all stages before, and after its last task, the backward of a first chunk, that goes back through them.
  [[nodiscard]] std::int64_t bound(std::int64_t load, std::int64_t before) const {
    std::int64_t longest = 0, forward = (std::numeric_limits<std::int64_t>::max)(), backward = forward;
    for (std::size_t c = 0; c < plan_.chains.size(); ++c) {
      auto const& first = works_.of_chunk[plan_.chains[c].front()];
      longest = (std::max)(longest, time_of_[c] + before * (first.forward + first.backward));
      forward = (std::min)(forward, first.forward);
      backward = (std::min)(backward, first.backward);
    }
    auto const one_rank =
        pipelines.size() == 1 ? pipeline_lower_bound(plan_.chains, static_cast<std::uint64_t>(before) + 1, works_).time : 0;
    return (std::max)({longest, load + before * (forward + backward), one_rank});
  }

  chunking<Index> const& plan_;
  chunk_works const& works_;
  std::vector<std::int64_t> time_;     // of each chunk on a stage
  std::vector<std::int64_t> time_of_;  // of each chain
  groups<std::uint32_t> chains_;       // of one rank
  chunk_works of_rank_;
  scheduled_pipeline next_;
};

}  // namespace ballast::inline v0_2::detail
