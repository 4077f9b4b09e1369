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
#include <ballast/pipeline/tasks.hpp>
#include <ballast/plan/detail/joined_stages.hpp>
#include <ballast/plan/detail/joint_timeline.hpp>
#include <ballast/plan/training_plan.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
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

/// Simulates every rank of every step; its memory is reused.
template <class = when_called>
class step_timer {
 public:
  /// `chunks` are the virtual stages, `stages` the stages that they belong to.
  step_timer(std::vector<joined_stage> chunks, std::uint64_t stages, layer_evaluator const& evaluate, any_schedule const& schedule,
             batch_shape const& mean, batch_shape const& largest, std::span<batch_shape const> packs)
      : chunks_(std::move(chunks)),
        ends_(static_cast<std::size_t>(stages)),
        evaluate_(evaluate),
        schedule_(schedule),
        splits_(std::visit([](auto const& s) { return s.splits_backward; }, schedule)),
        packs_(packs) {
    for (std::size_t k = 0; k < chunks_.size(); ++k) {
      stage_of_.push_back(std::visit([&](auto const& s) { return s.stage_of(k, stages); }, schedule));
      auto const alike = std::find_if(chunks_.begin(), chunks_.begin() + static_cast<std::ptrdiff_t>(k),
                                      [&](auto const& other) { return other.sum.exchanges == chunks_[k].sum.exchanges; });
      auto const before = static_cast<std::size_t>(alike - chunks_.begin());
      if (before < k)
        exchanges_.push_back(exchanges_[before]);
      else
        exchanges_.emplace_back(evaluate_, chunks_[k].sum, largest);
      auto const more = evaluate_.end_of_step(chunks_[k].sum);
      auto& end = ends_[static_cast<std::size_t>(stage_of_.back())];
      end = {end.exchange + more.exchange, end.optimizer + more.optimizer};
    }
    append_works(mean);  // behind it, in part, gradients travel
    std::vector<std::int64_t> last(ends_.size());
    for (std::size_t k = 0; k < chunks_.size(); ++k)
      last[static_cast<std::size_t>(stage_of_[k])] += works_[k].forward + works_[k].backward + works_[k].weight + works_[k].recompute;
    for (std::size_t s = 0; s < ends_.size(); ++s) {
      ends_[s] = evaluate_.behind(ends_[s], last[s]);
      end_ = (std::max)(end_, ends_[s].exchange + ends_[s].optimizer);
    }
  }

  /// `first` is empty if ranks wait for each other at the end of a step only; else it has, for each place of the table, the first of the
  /// ranks that run it together.
  template <class Index>
  void time(batching<Index> const& steps, training_plan& out, std::span<std::uint32_t const> first = {}) {
    auto const ranks = static_cast<std::size_t>(steps.ranks);
    auto const devices = static_cast<std::int64_t>(steps.ranks * ends_.size());
    std::vector<std::int64_t> makespans(ranks);
    std::int64_t slowest = -1;
    out.end_of_step = end_;
    for (std::size_t s = 0; s < steps.steps(); ++s) {
      std::int64_t bound = 0;
      for (std::size_t r = 0; r < ranks; ++r) {
        simulate(steps, s, r, false);
        makespans[r] = timeline_.makespan.value;
        bound = (std::max)(bound, timeline_.makespan.lower_bound);
        count(out);
      }
      auto const at = std::max_element(makespans.begin(), makespans.end());
      auto const step = first.empty() ? *at : (std::max)(*at, joint_makespan(steps, s, first));
      require(step + end_ <= (std::numeric_limits<std::int64_t>::max)() / devices - out.time.value,
              [&] { return sentence("step ", s, " brings the time of all devices to 2^63 nanoseconds"); });
      for (auto const makespan : makespans) out.shares.waiting += (step - makespan) * static_cast<std::int64_t>(ends_.size());
      for (auto const& end : ends_) {
        out.shares.exchange += end.exchange * static_cast<std::int64_t>(ranks);
        out.shares.optimizer += end.optimizer * static_cast<std::int64_t>(ranks);
        out.shares.bubble += (end_ - end.exchange - end.optimizer) * static_cast<std::int64_t>(ranks);
      }
      out.steps.push_back(step + end_);
      out.time.value += step + end_;
      out.time.lower_bound += bound + end_;
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

  /// The time of a step of micro-batches that are all like the first pack.
  [[nodiscard]] std::int64_t time_of_equal(std::uint64_t micro_batches) {
    works_.clear();
    append_works(packs_.front());
    for (std::uint64_t m = 1; m < micro_batches; ++m) append_again();
    run(micro_batches, false);
    return timeline_.makespan.value + end_;
  }

 private:
  /// Simulates one rank in one step; without micro-batches it takes no time.
  template <class Index>
  void simulate(batching<Index> const& steps, std::size_t step, std::size_t rank, bool events) {
    works_.clear();
    exchanged_ = 0;
    std::uint64_t micro_batches = 0;
    auto last = steps.none;
    for (auto const pack : steps.step(step, rank)) {
      if (pack == steps.none) continue;
      if (pack == last)
        append_again();
      else
        append_works(packs_[static_cast<std::size_t>(pack)]);
      last = pack;
      ++micro_batches;
    }
    run(micro_batches, events);
  }
  /// The time of a step in which ranks run micro-batches together; 0 if none do.
  template <class Index>
  [[nodiscard]] std::int64_t joint_makespan(batching<Index> const& steps, std::size_t step, std::span<std::uint32_t const> first) {
    auto const packs = steps.step(step);
    auto const places = static_cast<std::size_t>(steps.micro_batches);
    first = first.subspan(step * packs.size(), packs.size());
    std::uint64_t used = 0;
    bool together = false;
    for (std::size_t i = 0; i < packs.size(); ++i) {
      if (packs[i] != steps.none) used = (std::max)(used, std::uint64_t{i % places} + 1);
      together = together || first[i] != i / places;
    }
    if (used == 0 || !together) return 0;
    auto const order = order_of(schedule_, ends_.size(), divide_up(used, group()) * group());
    joint_timeline<> joint(order, first, static_cast<std::size_t>(steps.ranks));
    for (std::size_t i = 0; i < packs.size(); ++i) {
      if (packs[i] == steps.none) continue;
      works_.clear();
      append_works(packs_[static_cast<std::size_t>(packs[i])]);
      joint.add(i / places, i % places, works_);
    }
    return joint.makespan();
  }
  /// Simulates the works of some micro-batches.
  void run(std::uint64_t micro_batches, bool events) {
    if (micro_batches == 0) {
      timeline_ = {};
      timeline_.stages.resize(ends_.size());
      return;
    }
    for (; micro_batches % group() != 0; ++micro_batches) works_.resize(works_.size() + chunks_.size());  // micro-batches without tokens
    if (!order_ || order_->micro_batches != micro_batches) order_ = order_of(schedule_, ends_.size(), micro_batches);
    auto const work = [&](std::uint64_t k, std::uint64_t m) { return works_[static_cast<std::size_t>(m * chunks_.size() + k)]; };
    simulate_order(*order_, work, events, workspace_, timeline_);
  }
  void append_works(batch_shape const& batch) {
    auto const before = exchanged_;
    for (std::size_t k = 0; k < chunks_.size(); ++k) {
      auto const& [sum, working, paced] = chunks_[k];
      auto const of = evaluate_(sum, sum.options.front(), batch, stage_of_[k], stage_of_[(std::min)(k + 1, chunks_.size() - 1)]);
      auto const waits = chunks_[k].waits(evaluate_, batch);
      auto const forward = exchanges_[k].forward(batch) + waits.forward, backward = exchanges_[k].backward(batch) + waits.backward;
      exchanged_ += forward + backward;
      std::int64_t more = 0;
      for (auto const& w : working) more = (std::max)(more, evaluate_.working(w, batch));
      auto const weight = splits_ ? of.backward / 2 : 0;
      works_.push_back({.forward = of.forward + forward,
                        .backward = of.backward - weight + backward,
                        .weight = weight,
                        .recompute = of.recompute,
                        .transfer = of.transfer,
                        .kept = of.bytes,
                        .recomputed = more,
                        .residue = splits_ ? of.bytes : 0});
    }
    last_exchanged_ = exchanged_ - before;
  }
  /// Appends the works of the last micro-batch once more.
  void append_again() {
    for (std::size_t k = 0; k < chunks_.size(); ++k) works_.push_back(works_[works_.size() - chunks_.size()]);
    exchanged_ += last_exchanged_;
  }
  void count(training_plan& out) const {
    for (auto const& w : works_) out.shares.recompute += w.recompute;
    for (auto const& w : works_) out.shares.work += w.forward + w.backward + w.weight;
    out.shares.work -= exchanged_;
    out.shares.exchange += exchanged_;
    for (std::size_t s = 0; s < ends_.size(); ++s) {
      auto const& figures = timeline_.stages[s];
      out.shares.bubble += timeline_.makespan.value - figures.busy;
      out.memory[s].activations = (std::max)(out.memory[s].activations, figures.peak_memory);
    }
  }

  /// Micro-batches of a step come in multiples of this number.
  [[nodiscard]] std::uint64_t group() const {
    return std::holds_alternative<interleaved_schedule>(schedule_) ? std::uint64_t{ends_.size()} : 1;
  }

  std::vector<joined_stage> chunks_;
  std::vector<std::uint64_t> stage_of_;
  std::vector<exchange_times<>> exchanges_;
  std::vector<step_end> ends_;  // of each stage
  std::int64_t end_ = 0, exchanged_ = 0, last_exchanged_ = 0;
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
