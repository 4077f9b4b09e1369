// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/check.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/pipeline/result.hpp>
#include <ballast/pipeline/tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief The validator of timelines. It shares no code with the simulator.

namespace ballast::inline v0_2 {

/// @brief The rule that a timeline breaks.
struct timeline_fault : common_fault {
  static constexpr rule no_such_task{"events[{index}] names a micro-batch, virtual stage or pass that there is not"};
  static constexpr rule wrong_stage{"events[{index}] is on stage {found}, not on {expected}"};
  static constexpr rule wrong_time{"events[{index}] takes {found}, not {expected}, or begins before 0"};
  static constexpr rule overlap{"events[{index}] begins at {found}, but its stage is busy until {expected}"};
  static constexpr rule task_twice{"events[{index}] is done a second time"};
  static constexpr rule task_missing{"micro-batch {found} lacks a pass on virtual stage {expected}"};
  static constexpr rule too_early{"events[{index}] begins at {found}, but what it needs arrives at {expected}"};
  static constexpr rule wrong_order{"events[{index}] is of micro-batch {found}, but micro-batch {expected} of its chain must come first"};
  static constexpr rule wrong_figures{"stages[{index}] says {found}, but its events make it {expected}"};
  static constexpr rule wrong_makespan{"makespan or span = {found}, but the events make it {expected}"};
};

namespace detail {

// The definition of a timeline, rule by rule.
template <class = when_called>
class timeline_rules {
 public:
  template <stage_work_model Work>
  timeline_rules(pipeline_timeline const& timeline, std::span<std::uint32_t const> stage_of, std::uint64_t micro_batches, Work const& work)
      : timeline_(timeline), stage_of_(stage_of), micros_(static_cast<std::size_t>(micro_batches)) {
    for (std::uint64_t k = 0; k < stage_of.size(); ++k)
      for (std::uint64_t m = 0; m < micro_batches; ++m) works_.push_back(work(k, m));
    ends_.resize(works_.size());
  }

  /// Checks each event by itself and against the previous one, then that no pass is missing.
  [[nodiscard]] verdict check_events() {
    using broken = timeline_fault;
    auto const& events = timeline_.events;
    for (std::size_t i = 0; i < events.size(); ++i) {
      auto const& e = events[i];
      if (e.micro_batch >= micros_ || e.virtual_stage >= stage_of_.size() || e.pass > pipeline_pass::weight ||
          e.stage >= timeline_.stages.size())
        return {broken::no_such_task, i, e.micro_batch, e.virtual_stage};
      if (stage_of_[e.virtual_stage] != e.stage) return {broken::wrong_stage, i, e.stage, stage_of_[e.virtual_stage]};
      auto const& w = works_[cell(e)];
      auto const time = e.pass == pipeline_pass::forward          ? w.forward
                        : e.pass == pipeline_pass::weight         ? w.weight
                        : e.pass == pipeline_pass::backward_input ? w.recompute + w.backward
                                                                  : w.recompute + w.backward + w.weight;
      if (e.end - e.start != time || e.start < 0) return {broken::wrong_time, i, e.end - e.start, time};
      if (i > 0 && events[i - 1].stage > e.stage) return {broken::overlap, i, e.start, events[i - 1].end};
      if (i > 0 && events[i - 1].stage == e.stage && e.start < events[i - 1].end) return {broken::overlap, i, e.start, events[i - 1].end};
      if (!put(e)) return {broken::task_twice, i, 2, 1};
    }
    for (std::size_t c = 0; c < ends_.size(); ++c)
      if (ends_[c].forward < 0 || ends_[c].input < 0 || ends_[c].weight < 0) return {broken::task_missing, c, c % micros_, c / micros_};
    return {};
  }

  /// Checks that no event begins before its inputs have arrived.
  [[nodiscard]] verdict check_arrivals() const {
    for (std::size_t i = 0; i < timeline_.events.size(); ++i)
      if (auto const needs = arrival(timeline_.events[i]); timeline_.events[i].start < needs)
        return {timeline_fault::too_early, i, timeline_.events[i].start, needs};
    return {};
  }

  /// Checks that on every virtual stage the forwards of a chain ascend and its backwards descend.
  [[nodiscard]] verdict check_chains(groups<std::uint32_t> const& chains) const {
    if (chains.empty()) return {};
    std::vector<std::size_t> before(micros_, micros_), after(micros_, micros_);  // neighbours in the chain; `micros_` if there is none
    std::vector<bool> seen(micros_), forward(ends_.size()), input(ends_.size());
    std::size_t members = 0;
    for (std::size_t c = 0; c < chains.size(); ++c)
      for (std::size_t i = 0; i < chains[c].size(); ++i, ++members) {
        auto const m = std::size_t{chains[c][i]};
        require(m < micros_ && !seen[m], [&] { return sentence("chains: micro-batch ", m, " is listed twice, or there is none"); });
        seen[m] = true;
        if (i > 0) before[m] = chains[c][i - 1];
        if (i + 1 < chains[c].size()) after[m] = chains[c][i + 1];
      }
    require(members == micros_, [] { return "chains must hold every micro-batch once"; });
    for (std::size_t i = 0; i < timeline_.events.size(); ++i) {
      auto const& e = timeline_.events[i];
      if (e.pass == pipeline_pass::weight) continue;
      auto const forwards = e.pass == pipeline_pass::forward;
      auto& done = forwards ? forward : input;
      auto const needs = forwards ? before[e.micro_batch] : after[e.micro_batch];
      if (needs != micros_ && !done[e.virtual_stage * micros_ + needs]) return {timeline_fault::wrong_order, i, e.micro_batch, needs};
      done[cell(e)] = true;
    }
    return {};
  }

  /// Checks that the figures of every stage and of the timeline follow from the events.
  [[nodiscard]] verdict check_figures() const {
    using broken = timeline_fault;
    auto const& events = timeline_.events;
    std::int64_t makespan = 0, span = 0;
    std::size_t first = 0;
    for (std::size_t s = 0; s < timeline_.stages.size(); ++s) {
      auto last = first;
      while (last < events.size() && events[last].stage == s) ++last;
      if (auto const v = check_stage(first, last, timeline_.stages[s]); !v.valid()) return v;
      if (first < last) {
        makespan = (std::max)(makespan, events[last - 1].end);
        span = (std::max)(span, events[last - 1].end - events[first].start);
      }
      first = last;
    }
    if (timeline_.makespan.value != makespan) return {broken::wrong_makespan, 0, timeline_.makespan.value, makespan};
    if (timeline_.span != span) return {broken::wrong_makespan, 0, timeline_.span, span};
    return check_certificate(timeline_.makespan, makespan);
  }

 private:
  // The end of every pass of a micro-batch on a virtual stage; -1 if it has not occurred.
  struct cell_ends {
    std::int64_t forward = -1;
    std::int64_t input = -1;
    std::int64_t weight = -1;
  };

  [[nodiscard]] std::size_t cell(pipeline_event const& e) const { return e.virtual_stage * micros_ + e.micro_batch; }
  /// Stores the end of an event's pass; returns false if the pass occurred before.
  [[nodiscard]] bool put(pipeline_event const& e) {
    auto& ends = ends_[cell(e)];
    auto const first = [&](std::int64_t& end) { return end < 0 ? (end = e.end, true) : false; };
    switch (e.pass) {
      case pipeline_pass::forward: return first(ends.forward);
      case pipeline_pass::weight: return first(ends.weight);
      case pipeline_pass::backward_input: return first(ends.input);
      case pipeline_pass::backward: return first(ends.input) && first(ends.weight);
    }
    return false;
  }
  [[nodiscard]] std::int64_t arrival(pipeline_event const& e) const {
    auto const k = std::size_t{e.virtual_stage}, here = cell(e);
    auto const transfer = [&](std::size_t from) {
      return stage_of_[from] == stage_of_[from + 1] ? 0 : works_[from * micros_ + e.micro_batch].transfer;
    };
    if (e.pass == pipeline_pass::forward) return k == 0 ? 0 : ends_[here - micros_].forward + transfer(k - 1);
    if (e.pass == pipeline_pass::weight) return ends_[here].input;
    auto const forward = ends_[here].forward;
    return k + 1 == stage_of_.size() ? forward : (std::max)(forward, ends_[here + micros_].input + transfer(k));
  }
  [[nodiscard]] verdict check_stage(std::size_t first, std::size_t last, stage_figures const& says) const {
    using broken = timeline_fault;
    stage_figures is;
    std::int64_t bytes = 0;
    auto const hold = [&](std::int64_t more) { is.peak_memory = (std::max)(is.peak_memory, bytes += more); };
    for (auto i = first; i < last; ++i) {
      auto const& e = timeline_.events[i];
      auto const& w = works_[cell(e)];
      if (i == first) is.start = e.start;
      is.end = e.end;
      is.busy += e.end - e.start;
      if (e.pass == pipeline_pass::forward) {
        hold(w.kept);
      } else if (e.pass == pipeline_pass::weight) {
        bytes -= w.residue;
      } else {
        hold(w.recomputed);
        bytes -= w.recomputed + w.kept;
        if (e.pass == pipeline_pass::backward_input) hold(w.residue);
      }
    }
    auto const stage = std::uint64_t{first < last ? timeline_.events[first].stage : 0};
    for (auto const& [found, expected] :
         {std::pair{says.start, is.start}, {says.end, is.end}, {says.busy, is.busy}, {says.peak_memory, is.peak_memory}})
      if (found != expected) return {broken::wrong_figures, stage, found, expected};
    return {};
  }

  pipeline_timeline const& timeline_;
  std::span<std::uint32_t const> stage_of_;
  std::size_t micros_;
  std::vector<stage_work> works_;  // work of every cell: virtual stage x micro-batches + micro-batch
  std::vector<cell_ends> ends_;
};

}  // namespace detail

/// @brief Checks a timeline against the definition of a pipeline.
///
/// Every micro-batch passes once forward and once backward through every virtual stage; a backward is one task, or an input part and a
/// later weight part. Each task is on the stage of its virtual stage, takes the time of its work, runs alone, and does not begin before its
/// inputs have arrived. On a virtual stage, the forwards of a chain ascend, and its backwards (input parts) descend. The figures must
/// follow from the events.
///
/// @tparam Work  a `stage_work_model`
/// @param timeline       the timeline, with its events: stage by stage, in the order of execution
/// @param stage_of       for each virtual stage, its stage
/// @param micro_batches  number of micro-batches in a step
/// @param work           times and bytes of a micro-batch on a virtual stage, as the simulator was given
/// @param chains         micro-batches that depend on each other, as in `pipeline_order`; empty if they are independent
/// @return the first broken rule: event by event, then missing tasks, then arrivals, then the order of chains, then the figures; its index
/// is the event, the stage or, for a missing task, virtual stage x micro-batches + micro-batch
/// @throws invalid_input if `chains` is not empty and does not hold every micro-batch once
/// @par Complexity
/// O(events + virtual stages x micro-batches).
template <stage_work_model Work>
[[nodiscard]] verdict check_timeline(pipeline_timeline const& timeline, std::span<std::uint32_t const> stage_of,
                                     std::uint64_t micro_batches, Work const& work, groups<std::uint32_t> const& chains = {}) {
  detail::timeline_rules<> rules(timeline, stage_of, micro_batches, work);
  if (auto const v = rules.check_events(); !v.valid()) return v;
  if (auto const v = rules.check_arrivals(); !v.valid()) return v;
  if (auto const v = rules.check_chains(chains); !v.valid()) return v;
  return rules.check_figures();
}

}  // namespace ballast::inline v0_2
