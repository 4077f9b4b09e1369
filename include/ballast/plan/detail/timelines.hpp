// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/result.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/evaluate.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/pipeline/order.hpp>
#include <ballast/pipeline/result.hpp>
#include <ballast/pipeline/simulate.hpp>
#include <ballast/pipeline/work.hpp>
#include <ballast/plan/training_plan.hpp>
#include <ballast/staging/result.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

// The micro-batches of a plan, and the timelines of its ranks. Private.

namespace ballast::inline v0_2::detail {

/// Sizes of the micro-batches that are in steps.
struct step_batches {
  batch_shape mean, largest;
  std::uint64_t most_of_a_rank = 1;  ///< most micro-batches of a rank in one step
};

template <class Index>
[[nodiscard]] step_batches batches_of(batching<Index> const& steps, std::span<batch_shape const> packs) {
  step_batches out;
  std::array<std::int64_t, 3> sum{}, most{};
  std::int64_t count = 0;
  std::uint64_t of_rank = 0;
  for (std::size_t place = 0; place < steps.table.size(); ++place) {
    if (place % steps.micro_batches == 0) of_rank = 0;
    auto const pack = steps.table[place];
    if (pack == steps.none) continue;
    require(pack < packs.size(), [&] { return entry("table", place, pack) + " is no pack"; });
    auto const values = packs[static_cast<std::size_t>(pack)].values();
    for (std::size_t k = 0; k < values.size(); ++k) {
      add_checked(sum[k], values[k], "packs", static_cast<std::size_t>(pack));
      most[k] = (std::max)(most[k], values[k]);
    }
    ++count;
    out.most_of_a_rank = (std::max)(out.most_of_a_rank, ++of_rank);
  }
  for (auto& s : sum) s = count == 0 ? 0 : divide_up(s, count);
  out.mean = {sum[0], sum[1], sum[2]};
  out.largest = {most[0], most[1], most[2]};
  return out;
}

/// Turns each stage of a plan into one layer with one option: the sum of its layers, under the options that they take.
template <class = when_called>
[[nodiscard]] inline std::vector<layer> joined_stages(std::span<layer const> layers, joint_stages<> const& plan) {
  std::vector<layer> out;
  auto const& cuts = plan.partition.boundaries;
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    layer stage{.name = {}, .options = {{}}};
    auto& taken = stage.options.front();
    for (std::size_t i = cuts[s]; i < cuts[s + 1]; ++i) {
      auto const& option = layers[i].options[plan.option[i]];
      stage.forward = stage.forward + layers[i].forward;
      stage.backward = stage.backward + layers[i].backward;
      taken.work = taken.work + option.work;
      taken.bytes = taken.bytes + option.bytes;
    }
    if (cuts[s + 1] < layers.size()) stage.boundary = layers[cuts[s + 1] - 1].boundary;
    out.push_back(std::move(stage));
  }
  return out;
}

/// Simulates every rank of every step; its memory is reused.
template <class = when_called>
class step_timer {
 public:
  step_timer(std::vector<layer> stages, layer_evaluator const& evaluate, any_schedule const& schedule, std::span<batch_shape const> packs)
      : stages_(std::move(stages)),
        evaluate_(evaluate),
        schedule_(schedule),
        splits_(std::visit([](auto const& s) { return s.splits_backward; }, schedule)),
        packs_(packs) {}

  template <class Index>
  void time(batching<Index> const& steps, training_plan& out) {
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
  /// Simulates one rank in one step; without micro-batches it takes no time.
  template <class Index>
  void simulate(batching<Index> const& steps, std::size_t step, std::size_t rank, bool events) {
    works_.clear();
    std::uint64_t micro_batches = 0;
    for (auto const pack : steps.pack_numbers_of(step, rank)) {
      append_works(packs_[static_cast<std::size_t>(pack)]);
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
  void append_works(batch_shape const& batch) {
    for (auto const& stage : stages_) {
      auto const of = evaluate_(stage, stage.options.front(), batch);
      auto const weight = splits_ ? of.backward / 2 : 0;
      works_.push_back({.forward = of.forward,
                        .backward = of.backward - weight,
                        .weight = weight,
                        .recompute = of.recompute,
                        .transfer = of.transfer,
                        .kept = of.bytes,
                        .recomputed = 0,
                        .residue = splits_ ? of.bytes : 0});
    }
  }
  void count(training_plan& out) const {
    for (auto const& w : works_) out.shares.recompute += w.recompute;
    for (auto const& w : works_) out.shares.work += w.forward + w.backward + w.weight;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      auto const& figures = timeline_.stages[s];
      out.shares.bubble += timeline_.makespan.value - figures.busy;
      out.memory[s].activations = (std::max)(out.memory[s].activations, figures.peak_memory);
    }
  }

  std::vector<layer> stages_;
  layer_evaluator const& evaluate_;
  any_schedule const& schedule_;
  bool splits_;
  std::span<batch_shape const> packs_;
  std::vector<stage_work> works_;
  std::optional<pipeline_order> order_;
  pipeline_workspace workspace_;
  pipeline_timeline timeline_;
};

}  // namespace ballast::inline v0_2::detail
