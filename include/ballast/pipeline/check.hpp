// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/groups.hpp>
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
[[nodiscard]] verdict<timeline_fault, std::int64_t> check_timeline(pipeline_timeline const& timeline,
                                                                   std::span<std::uint32_t const> stage_of, std::uint64_t micro_batches,
                                                                   Work const& work, groups<std::uint32_t> const& chains = {}) {
  detail::timeline_rules<> rules(timeline, stage_of, micro_batches, work);
  if (auto const v = rules.check_events(); !v.valid()) return v;
  if (auto const v = rules.check_arrivals(); !v.valid()) return v;
  if (auto const v = rules.check_chains(chains); !v.valid()) return v;
  return rules.check_figures();
}

}  // namespace ballast::inline v0_2
