// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/verdict.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief The faults that the validator of timelines reports.

namespace ballast::inline v0_2 {

/// @brief The rule that a timeline breaks.
enum class timeline_fault : std::uint8_t {
  none,            ///< the timeline is valid
  no_such_task,    ///< the micro-batch, virtual stage or pass of an event does not exist
  wrong_stage,     ///< an event is not on the stage of its virtual stage
  wrong_time,      ///< the time of an event is not that of its work, or it begins before 0
  overlap,         ///< an event begins before the previous event on its stage has ended
  task_twice,      ///< a forward, a backward or one of its parts is done a second time
  task_missing,    ///< a forward, a backward or one of its parts is not done
  too_early,       ///< an event begins before its inputs have arrived
  wrong_order,     ///< an event of a chain comes before the one of its chain that it depends on
  wrong_figures,   ///< a stage's start, end, busy time or peak memory does not follow from its events
  wrong_makespan,  ///< the makespan or the span does not follow from the events
  wrong_bound,     ///< the lower bound is above the makespan
};

/// @brief Describes a verdict in a sentence, such as "events[17] begins at 30, but what it needs arrives at 34".
/// @param v  a verdict of `check_timeline`
/// @return the sentence
template <class = when_called>
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
    case timeline_fault::wrong_order:
      return "events[" + index + "] is of micro-batch " + found + ", but micro-batch " + expected + " of its chain must come first";
    case timeline_fault::wrong_figures: return "stages[" + index + "] says " + found + ", but its events make it " + expected;
    case timeline_fault::wrong_makespan: return "makespan or span = " + found + ", but the events make it " + expected;
    case timeline_fault::wrong_bound: return "makespan.lower_bound = " + found + " exceeds " + expected;
  }
  return {};
}

}  // namespace ballast::inline v0_2
