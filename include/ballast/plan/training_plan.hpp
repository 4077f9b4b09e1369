// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/memory.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/pipeline/order.hpp>
#include <ballast/pipeline/result.hpp>
#include <ballast/pipeline/simulate.hpp>
#include <ballast/pipeline/work.hpp>
#include <ballast/plan/cluster.hpp>
#include <ballast/plan/detail/run_stages.hpp>
#include <ballast/plan/plan_data.hpp>
#include <ballast/plan/run_model.hpp>
#include <ballast/plan/run_result.hpp>
#include <ballast/plan/shortage.hpp>
#include <ballast/staging/joint.hpp>
#include <ballast/staging/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

/// @file
/// @brief `plan_whole_run`: data plan, model plan and timeline in one; the modelled time of every step, memory, and what limits the run.

namespace ballast::inline v0_2 {

/// @brief The request. `stages` and `memory` have no default.
struct whole_run_options {
  std::uint64_t stages = 0;                        ///< stages of each rank's pipeline, 1 … 2^20
  std::int64_t memory = 0;                         ///< bytes of each device, less what the caller wants in reserve; not negative
  any_schedule schedule = one_f_one_b_schedule{};  ///< with one chunk a stage
};

namespace detail {

// Simulates every rank of every step, in memory that is used again.
class run_timer {
 public:
  run_timer(run_stages const& stages, any_schedule const& schedule, std::span<batch_shape const> packs)
      : stages_(stages), schedule_(schedule), packs_(packs) {}

  template <class Index>
  void run(batching<Index> const& steps, whole_run& out) {
    auto const ranks = static_cast<std::size_t>(steps.ranks);
    auto const devices = static_cast<std::int64_t>(steps.ranks * stages_.size());
    std::vector<std::int64_t> makespans(ranks);
    std::int64_t slowest = -1;
    for (std::size_t s = 0; s < steps.steps(); ++s) {
      std::int64_t bound = 0;
      for (std::size_t r = 0; r < ranks; ++r) {
        simulate(steps, s, r, false);
        makespans[r] = timeline_.makespan.value;
        bound = (std::max)(bound, timeline_.makespan.lower_bound);
        count(out);
      }
      auto const at = std::max_element(makespans.begin(), makespans.end());
      auto const step = *at;
      require(step <= (std::numeric_limits<std::int64_t>::max)() / devices - out.time.value,
              [&] { return "step " + std::to_string(s) + " brings the time of all devices to 2^63 nanoseconds"; });
      for (auto const makespan : makespans) out.shares.waiting += (step - makespan) * static_cast<std::int64_t>(stages_.size());
      out.steps.push_back(step);
      out.time.value += step;
      out.time.lower_bound += bound;
      if (step <= slowest) continue;
      slowest = step;
      out.slowest_step = s;
      out.slowest_rank = static_cast<std::uint64_t>(at - makespans.begin());
    }
    if (steps.steps() == 0) return;
    simulate(steps, static_cast<std::size_t>(out.slowest_step), static_cast<std::size_t>(out.slowest_rank), true);
    out.timeline = timeline_;
    out.works = works_;
  }

 private:
  // The timeline of one rank in one step; without micro-batches it takes no time.
  template <class Index>
  void simulate(batching<Index> const& steps, std::size_t step, std::size_t rank, bool events) {
    works_.clear();
    std::uint64_t micro_batches = 0;
    for (auto const pack : steps.pack_numbers_of(step, rank)) {
      stages_.append_works(packs_[static_cast<std::size_t>(pack)], works_);
      ++micro_batches;
    }
    if (micro_batches == 0) {
      timeline_ = {};
      timeline_.stages.resize(stages_.size());
      return;
    }
    if (!order_ || order_->micro_batches != micro_batches) order_ = order_of(schedule_, stages_.size(), micro_batches);
    auto const work = [&](std::uint64_t k, std::uint64_t m) { return works_[static_cast<std::size_t>(m * stages_.size() + k)]; };
    simulate_order(*order_, work, events, workspace_, timeline_);
  }
  void count(whole_run& out) const {
    for (auto const& w : works_) out.shares.recompute += w.recompute;
    for (auto const& w : works_) out.shares.work += w.forward + w.backward + w.weight;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      auto const& figures = timeline_.stages[s];
      out.shares.bubble += timeline_.makespan.value - figures.busy;
      out.memory[s].activations = (std::max)(out.memory[s].activations, figures.peak_memory);
    }
  }

  run_stages const& stages_;
  any_schedule const& schedule_;
  std::span<batch_shape const> packs_;
  std::vector<stage_work> works_;
  std::optional<pipeline_order> order_;
  pipeline_workspace workspace_;
  pipeline_timeline timeline_;
};

}  // namespace detail

/// @brief Plans the stages of a model for the micro-batches of a data plan, and times every step of the run.
///
/// One plan serves all steps: stages and what they recompute are chosen together (`plan_stages`), level in time for the mean micro-batch
/// and within memory for the largest. Then every rank of every step is a timeline of its own packs, in their order; a step takes as long
/// as its slowest rank. Not in the model: the exchange of gradients, the optimiser, the working set of the layer in hand. Where the
/// schedule splits backwards, both parts take half, and hold all until the second is done.
///
/// @tparam Index  index type of the data plan
/// @param steps    which packs each rank works on in each step; a rank is a pipeline
/// @param packs    the packs in numbers; see `shapes_of`
/// @param model    layers and rates; see `run_model_of`
/// @param options  stages, schedule, memory
/// @return stages, times, memory, what limits the run, and the timeline of the slowest rank; infeasible where no cut fits
/// @post no stage is above its memory in any step; the four shares add up to the time of all devices
/// @throws invalid_input for a bad option or model, a schedule of several chunks, sizes that do not fit each other, or times or bytes that
/// come near to 2^63
/// @par Complexity
/// That of `plan_stages`, and O(micro-batches * stages) for the timelines.
/// @par Determinism
/// A pure function of its arguments, in integers.
/// @par Source
/// This library (docs/plan.md).
template <index_type Index>
[[nodiscard]] whole_run plan_whole_run(batching<Index> const& steps, std::span<batch_shape const> packs, run_model const& model,
                                       whole_run_options const& options) {
  require(packs.size() == steps.packs.size(),
          [&] { return "packs has " + std::to_string(packs.size()) + " entries for " + std::to_string(steps.packs.size()) + " packs"; });
  require(options.stages >= 1 && options.stages <= std::uint64_t{1} << 20,
          [&] { return "stages = " + std::to_string(options.stages) + " must be in 1 ... 2^20"; });
  require(options.memory >= 0, [&] { return "memory = " + std::to_string(options.memory) + " must not be negative"; });
  auto const batches = detail::batches_of(steps, packs);
  detail::require_valid(model, batches.largest);
  std::vector<std::int64_t> const capacity(static_cast<std::size_t>(options.stages), options.memory);
  whole_run out;
  out.mean = batches.mean;
  out.largest = batches.largest;
  out.layers = detail::stage_layers_of(model, batches);
  out.in_flight = held_by_stage(options.schedule, options.stages, batches.most_of_a_rank);
  out.model =
      plan_stages<>(std::span<stage_layer const>(out.layers), {.stages = options.stages, .capacity = capacity, .in_flight = out.in_flight});
  out.status = out.model.plan.status;
  if (out.status != status::feasible) {
    if (out.layers.size() >= options.stages) out.shortage = shortage_of(out.layers, out.in_flight, options.memory);
    return out;
  }
  auto const splits = std::visit([](auto const& s) { return s.splits_backward; }, options.schedule);
  detail::run_stages const stages(model, out.model, splits);
  for (auto const& s : out.model.stages) out.memory.push_back({.state = s.state, .activations = 0, .budget = options.memory});
  detail::run_timer(stages, options.schedule, packs).run(steps, out);
  return out;
}

/// @brief The same for a data plan and a language model on a cluster, each rank a pipeline of tensor-parallel groups.
///
/// @tparam Index  index type of the data plan
/// @param data     an epoch, as `plan_data` made it
/// @param model    the shape
/// @param on       the devices
/// @param spread   degrees; ZeRO shards over `spread.data` devices, usually the ranks
/// @param options  stages, schedule, memory
/// @return as the other overload
/// @throws invalid_input as the other overload, `run_model_of` and `shapes_of`
/// @par Complexity
/// As the other overload.
/// @par Determinism
/// As the other overload.
template <index_type Index>
[[nodiscard]] whole_run plan_whole_run(data_plan<Index> const& data, transformer const& model, cluster const& on, parallelism const& spread,
                                       whole_run_options const& options) {
  auto const packs = shapes_of(data.steps.packs, std::span<std::int64_t const>(data.tokens));
  return plan_whole_run(data.steps, packs, run_model_of(model, on, spread), options);
}

}  // namespace ballast::inline v0_2
