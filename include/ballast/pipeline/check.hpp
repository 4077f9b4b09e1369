// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/verdict.hpp>
#include <ballast/pipeline/order.hpp>
#include <ballast/pipeline/result.hpp>
#include <ballast/pipeline/work.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief The validator of timelines. It shares no code with the simulator.

namespace ballast::inline v0_2 {

/// @brief The rule that a timeline breaks.
enum class timeline_fault : std::uint8_t {
  none,            ///< it is valid
  no_such_task,    ///< an event's micro-batch, virtual stage or stage is none
  wrong_stage,     ///< an event is not on the stage of its virtual stage
  wrong_time,      ///< an event's time is not that of its work, or it begins before 0
  overlap,         ///< an event begins before the one that stands before it on its stage has ended
  task_twice,      ///< a forward, a backward or one of its parts is done a second time
  task_missing,    ///< a forward, a backward or one of its parts is not done
  too_early,       ///< an event begins before what it needs has arrived
  wrong_figures,   ///< a stage's start, end, busy time or peak memory is not what its events make it
  wrong_makespan,  ///< the makespan or the span is not what the events make it
  wrong_bound,     ///< the lower bound is above the makespan
};

/// @brief The verdict as a sentence, such as "events[17] begins at 30, but what it needs arrives at 34".
/// @param v  a verdict of `check_timeline`
/// @return the sentence
[[nodiscard]] inline std::string describe(verdict<timeline_fault, std::int64_t> const& v) {
  auto const index = std::to_string(v.index), found = std::to_string(v.found), expected = std::to_string(v.expected);
  switch (v.fault) {
    case timeline_fault::none: return "the timeline is valid";
    case timeline_fault::no_such_task: return "events[" + index + "] names a micro-batch, virtual stage or pass that there is not";
    case timeline_fault::wrong_stage: return "events[" + index + "] is on stage " + found + ", not on " + expected;
    case timeline_fault::wrong_time: return "events[" + index + "] takes " + found + ", not " + expected + ", or begins before 0";
    case timeline_fault::overlap: return "events[" + index + "] begins at " + found + ", but its stage is busy until " + expected;
    case timeline_fault::task_twice: return "events[" + index + "] is done a second time";
    case timeline_fault::task_missing: return "micro-batch " + found + " lacks a pass on virtual stage " + expected;
    case timeline_fault::too_early: return "events[" + index + "] begins at " + found + ", but what it needs arrives at " + expected;
    case timeline_fault::wrong_figures: return "stages[" + index + "] says " + found + ", but its events make it " + expected;
    case timeline_fault::wrong_makespan: return "makespan or span = " + found + ", but the events make it " + expected;
    case timeline_fault::wrong_bound: return "makespan.lower_bound = " + found + " exceeds " + expected;
  }
  return {};
}

namespace detail {

// The end of every pass of every cell; -1 where it has not been seen.
struct cell_ends {
  std::int64_t forward = -1;
  std::int64_t input = -1;
  std::int64_t weight = -1;
};

[[nodiscard]] inline verdict<timeline_fault, std::int64_t> check_stage(std::span<pipeline_event const> all, std::size_t first,
                                                                       std::size_t last, stage_figures const& says,
                                                                       std::vector<stage_work> const& works, std::size_t micros) {
  using enum timeline_fault;
  stage_figures is;
  std::int64_t bytes = 0;
  auto const hold = [&](std::int64_t more) { is.peak_memory = (std::max)(is.peak_memory, bytes += more); };
  for (auto i = first; i < last; ++i) {
    auto const& e = all[i];
    auto const& w = works[e.virtual_stage * micros + e.micro_batch];
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
  auto const stage = std::uint64_t{first < last ? all[first].stage : 0};
  for (auto const& [found, expected] :
       {std::pair{says.start, is.start}, {says.end, is.end}, {says.busy, is.busy}, {says.peak_memory, is.peak_memory}})
    if (found != expected) return {wrong_figures, stage, found, expected};
  return {};
}

}  // namespace detail

/// @brief Checks anybody's timeline against the definition of a pipeline.
///
/// Every micro-batch passes forward through every virtual stage once, and backward once, whole or as an input part and a later weight part;
/// each on the stage of its virtual stage, for the time of its work, one at a time, and not before what it needs has arrived. The figures
/// are what the events make them.
///
/// @tparam Work  a `stage_work_model`
/// @param timeline       with its events, by stage, then in the order of execution
/// @param stage_of       by virtual stage: the stage that it is on
/// @param micro_batches  of a step
/// @param work           times and bytes of a micro-batch on a virtual stage, as the simulator was given
/// @return the first rule broken: event by event, then missing tasks, then arrivals, then the figures; its index is the event, the stage
/// or, of a missing task, virtual stage x micro-batches + micro-batch
/// @par Complexity
/// O(events).
template <stage_work_model Work>
[[nodiscard]] verdict<timeline_fault, std::int64_t> check_timeline(pipeline_timeline const& timeline,
                                                                   std::span<std::uint32_t const> stage_of, std::uint64_t micro_batches,
                                                                   Work const& work) {
  using enum timeline_fault;
  auto const micros = static_cast<std::size_t>(micro_batches);
  auto const& events = timeline.events;
  std::vector<stage_work> works;
  for (std::uint64_t k = 0; k < stage_of.size(); ++k)
    for (std::uint64_t m = 0; m < micro_batches; ++m) works.push_back(work(k, m));
  std::vector<detail::cell_ends> ends(works.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    auto const& e = events[i];
    if (e.micro_batch >= micro_batches || e.virtual_stage >= stage_of.size() || e.pass > pipeline_pass::weight ||
        e.stage >= timeline.stages.size())
      return {no_such_task, i, e.micro_batch, e.virtual_stage};
    if (stage_of[e.virtual_stage] != e.stage) return {wrong_stage, i, e.stage, stage_of[e.virtual_stage]};
    auto const cell = e.virtual_stage * micros + e.micro_batch;
    auto const& w = works[cell];
    auto const time = e.pass == pipeline_pass::forward          ? w.forward
                      : e.pass == pipeline_pass::weight         ? w.weight
                      : e.pass == pipeline_pass::backward_input ? w.recompute + w.backward
                                                                : w.recompute + w.backward + w.weight;
    if (e.end - e.start != time || e.start < 0) return {wrong_time, i, e.end - e.start, time};
    if (i > 0 && events[i - 1].stage > e.stage) return {overlap, i, e.start, events[i - 1].end};
    if (i > 0 && events[i - 1].stage == e.stage && e.start < events[i - 1].end) return {overlap, i, e.start, events[i - 1].end};
    auto const put = [&](std::int64_t& end) { return end < 0 ? (end = e.end, true) : false; };
    auto const whole = e.pass == pipeline_pass::backward;
    if ((e.pass == pipeline_pass::forward && !put(ends[cell].forward)) || (e.pass == pipeline_pass::weight && !put(ends[cell].weight)) ||
        ((whole || e.pass == pipeline_pass::backward_input) && !put(ends[cell].input)) || (whole && !put(ends[cell].weight)))
      return {task_twice, i, 2, 1};
  }
  for (std::size_t c = 0; c < ends.size(); ++c)
    if (ends[c].forward < 0 || ends[c].input < 0 || ends[c].weight < 0)
      return {task_missing, c, static_cast<std::int64_t>(c % micros), static_cast<std::int64_t>(c / micros)};
  for (std::size_t i = 0; i < events.size(); ++i) {
    auto const& e = events[i];
    auto const k = std::size_t{e.virtual_stage}, cell = k * micros + e.micro_batch;
    auto const transfer = [&](std::size_t from) {
      return stage_of[from] == stage_of[from + 1] ? 0 : works[from * micros + e.micro_batch].transfer;
    };
    std::int64_t needs = 0;
    if (e.pass == pipeline_pass::forward) {
      if (k > 0) needs = ends[cell - micros].forward + transfer(k - 1);
    } else if (e.pass == pipeline_pass::weight) {
      needs = ends[cell].input;
    } else {
      needs = ends[cell].forward;
      if (k + 1 < stage_of.size()) needs = (std::max)(needs, ends[cell + micros].input + transfer(k));
    }
    if (e.start < needs) return {too_early, i, e.start, needs};
  }
  std::int64_t makespan = 0, span = 0;
  std::size_t first = 0;
  for (std::size_t s = 0; s < timeline.stages.size(); ++s) {
    auto last = first;
    while (last < events.size() && events[last].stage == s) ++last;
    if (auto const v = detail::check_stage(events, first, last, timeline.stages[s], works, micros); !v.valid()) return v;
    if (first < last) {
      makespan = (std::max)(makespan, events[last - 1].end);
      span = (std::max)(span, events[last - 1].end - events[first].start);
    }
    first = last;
  }
  if (timeline.makespan.value != makespan) return {wrong_makespan, 0, timeline.makespan.value, makespan};
  if (timeline.span != span) return {wrong_makespan, 0, timeline.span, span};
  if (timeline.makespan.lower_bound > makespan) return {wrong_bound, 0, timeline.makespan.lower_bound, makespan};
  return {};
}

}  // namespace ballast::inline v0_2
