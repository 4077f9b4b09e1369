// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/verdict.hpp>
#include <ballast/pipeline/detail/timeline_rules.hpp>
#include <ballast/pipeline/fault.hpp>
#include <ballast/pipeline/result.hpp>
#include <ballast/pipeline/work.hpp>

#include <cstdint>
#include <span>

/// @file
/// @brief The validator of timelines. It shares no code with the simulator.

namespace ballast::inline v0_2 {

/// @brief Checks a timeline against the definition of a pipeline.
///
/// Every micro-batch passes once forward and once backward through every virtual stage; a backward is one task, or an input part and a
/// later weight part. Each task is on the stage of its virtual stage, takes the time of its work, runs alone, and does not begin before its
/// inputs have arrived. The figures must follow from the events.
///
/// @tparam Work  a `stage_work_model`
/// @param timeline       the timeline, with its events: stage by stage, in the order of execution
/// @param stage_of       for each virtual stage, its stage
/// @param micro_batches  number of micro-batches in a step
/// @param work           times and bytes of a micro-batch on a virtual stage, as the simulator was given
/// @return the first broken rule: event by event, then missing tasks, then arrivals, then the figures; its index is the event, the stage
/// or, for a missing task, virtual stage x micro-batches + micro-batch
/// @par Complexity
/// O(events).
template <stage_work_model Work>
[[nodiscard]] verdict<timeline_fault, std::int64_t> check_timeline(pipeline_timeline const& timeline,
                                                                   std::span<std::uint32_t const> stage_of, std::uint64_t micro_batches,
                                                                   Work const& work) {
  detail::timeline_rules<> rules(timeline, stage_of, micro_batches, work);
  if (auto const v = rules.check_events(); !v.valid()) return v;
  if (auto const v = rules.check_arrivals(); !v.valid()) return v;
  return rules.check_figures();
}

}  // namespace ballast::inline v0_2
