// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/chunks/chunk_retention.hpp>
#include <ballast/chunks/chunk_work.hpp>
#include <ballast/chunks/deal_chunks.hpp>
#include <ballast/chunks/make_chunks.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/core/status.hpp>
#include <ballast/pipeline/list_schedule.hpp>
#include <ballast/pipeline/search_order.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `choose_chunks`: the size of a chunk and the number of retained chunks with the least modelled time under a limit of memory.

namespace ballast::inline v0_2 {

namespace detail {

/// The modelled time of a batch in chunks on pipelines.
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
      require(all.fits(), [&] { return sentence("the time of chunk ", k, " reaches 2^63"); });
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

}  // namespace detail

/// @brief Options of `choose_chunks`.
struct chunk_choice_options {
  std::uint64_t ranks = 1;    ///< data-parallel ranks, each a pipeline
  std::uint64_t stages = 1;   ///< stages of a pipeline, all alike
  std::int64_t capacity = 0;  ///< bytes that a stage has for chunks, positive: the same for all settings
  /// Times and bytes of a chunk on one stage; `retained` is not read. `per_chunk` must be positive: without it the smallest chunk always
  /// seems best.
  chunk_work_options work{};
  std::vector<chunk_setting> settings{};  ///< what is tried; empty: `chunk_settings`
  std::uint64_t simulations = 9;          ///< schedules of each rank that are simulated for each setting, at least 1: `search_order`
};

/// @brief One setting that was tried.
struct tried_chunks {
  chunk_setting setting;                                 ///< size and retained chunks
  ballast::status status = ballast::status::infeasible;  ///< `infeasible` if a long sample alone exceeds the capacity
  certificate time;                                      ///< of the slowest rank; no dealing and no order of its chunks takes less
  std::int64_t peak = 0;                                 ///< most bytes of a stage; what is needed at least if infeasible
  std::uint64_t chunks = 0;                              ///< number of chunks of the batch
  friend constexpr bool operator==(tried_chunks const&, tried_chunks const&) = default;
};

/// @brief The result of `choose_chunks`.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct chunk_choice {
  ballast::status status = ballast::status::infeasible;  ///< `infeasible` if every setting is; `unknown` if a limit left some out
  chunk_setting setting;                                 ///< the chosen one
  bool complete = true;                                  ///< false if a limit left settings out
  certificate time;                                      ///< its modelled time; no setting that was tried has a plan that takes less
  std::vector<tried_chunks> tried;  ///< all settings up to a stop, in their order; none if not even chunks of one token fit
  chunking<Index> plan;             ///< the batch in chunks of the chosen size
  groups<std::uint32_t> ranks;      ///< chains of each rank, as `deal_chunks` returns them
  /// The schedule of each rank: its micro-batch m is the m-th chunk of the rank's chains, one after another. Empty for a rank without any.
  std::vector<searched_pipeline> pipelines;
};

/// @brief Chooses the size of a chunk and the number of retained chunks for a global batch, by simulating every setting.
///
/// For each setting the batch is cut (`make_chunks`), its chains are dealt to the ranks (`deal_chunks`), and an order of the chains of each
/// rank is searched (`search_order`). All settings have the same memory: with pipeline stages, size x retained chunks is not the peak, so
/// settings of equal products hold different amounts. The time of a chunk counts the prefix that its tokens attend to, and a fixed time;
/// without the latter, small chunks win always.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model` that does not fall
/// @param lengths  tokens of each sample of a global batch, or of a part of it that has the same mixture
/// @param options  ranks, stages, memory, times and bytes of a chunk, settings
/// @param cost     time of a complete sample on one stage
/// @param limits   `stop` and `wall_clock`: no further setting is tried, but the first one is. `progress` is told how many settings are
/// tried. `work` and `gap` are not read
/// @return the setting of least time, the first of equal ones, with its plan; all settings with their times and peaks
/// @post `peak` is at most the capacity for every feasible setting; `time.value` is the least of theirs
/// @throws invalid_input if there is no sample, ranks, stages, the capacity, `work.per_chunk`, or a size or number of a setting is not
/// positive, or as `make_chunks`, `chunk_work`, `deal_chunks` and `list_schedule`
/// @par Complexity
/// For each setting, `simulations` times that of `list_schedule` for all chunks.
/// @par Determinism
/// A pure function of its arguments, if neither a stop nor the clock ends the search.
/// @par Source
/// The search over (ChunkSize, K): ChunkFlow, arXiv 2503.02356, which compares settings of equal products.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] chunk_choice<Index> choose_chunks(R const& lengths, chunk_choice_options const& options, Cost const& cost,
                                                search_limits limits = {}) {
  auto const& o = options;
  require(o.ranks > 0, [] { return "ranks = 0 must be positive"; });
  require(o.stages > 0, [] { return "stages = 0 must be positive"; });
  require(o.capacity > 0, [&] { return sentence("capacity = ", o.capacity, " must be positive"); });
  require(o.work.per_chunk > 0, [&] {
    return sentence("per_chunk = ", o.work.per_chunk, " must be positive: without it, the smallest chunk always seems best");
  });
  auto const extent = extent_of(lengths);
  require(extent.longest > 0, [] { return "lengths is empty: a setting is chosen for its samples"; });
  auto const settings = o.settings.empty() ? chunk_settings(extent, o.capacity, o.work.per_token) : o.settings;
  for (std::size_t i = 0; i < settings.size(); ++i)
    require(settings[i].size > 0 && settings[i].retained > 0,
            [&] { return entry("settings", i, settings[i].size) + ": size and retained must be positive"; });
  chunk_choice<Index> out;
  list_options const list{.stages = o.stages, .capacity = std::vector<std::int64_t>(static_cast<std::size_t>(o.stages), o.capacity)};
  auto work = o.work;
  limits.work = settings.size();
  search_watch watch(limits);
  for (auto const& setting : settings) {
    if (watch.interrupted(out.tried.size()) && !out.tried.empty()) {
      out.complete = false;
      if (out.status == status::infeasible) out.status = status::unknown;
      break;
    }
    auto plan = make_chunks<Index>(lengths, {.size = setting.size});
    work.retained = setting.retained;
    auto const works = chunk_work(plan, work, cost);
    detail::chunk_trial<Index> trial(plan, works, o.ranks, list, o.simulations);
    out.tried.push_back({setting, trial.status, trial.time, trial.peak, plan.size()});
    if (trial.status != status::feasible) continue;
    auto const least = out.status == status::feasible ? (std::min)(out.time.lower_bound, trial.time.lower_bound) : trial.time.lower_bound;
    if (out.status != status::feasible || trial.time.value < out.time.value) {
      out.status = status::feasible;
      out.setting = setting;
      out.time.value = trial.time.value;
      out.ranks = std::move(trial.ranks);
      out.pipelines = std::move(trial.pipelines);
      out.plan = std::move(plan);
    }
    out.time.lower_bound = least;
  }
  return out;
}

}  // namespace ballast::inline v0_2
