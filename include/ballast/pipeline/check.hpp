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

/// @brief Checks any timeline against the definition of a pipeline.
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
  detail::timeline_rules rules(timeline, stage_of, micro_batches, work);
  if (auto const v = rules.check_events(); !v.valid()) return v;
  if (auto const v = rules.check_arrivals(); !v.valid()) return v;
  return rules.check_figures();
}

}  // namespace ballast::inline v0_2
