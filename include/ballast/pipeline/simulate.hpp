// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/schedule.hpp>
#include <ballast/pipeline/detail/check_order.hpp>
#include <ballast/pipeline/detail/order_runner.hpp>
#include <ballast/pipeline/detail/stage_bound.hpp>
#include <ballast/pipeline/detail/work_table.hpp>
#include <ballast/pipeline/order.hpp>
#include <ballast/pipeline/result.hpp>
#include <ballast/pipeline/work.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// @file
/// @brief The timeline of a pipeline whose micro-batches differ.

namespace ballast::inline v0_2 {

/// @brief The request to the simulator.
struct pipeline_options {
  std::uint64_t stages = 1;         ///< of the pipeline, at least 1
  std::uint64_t micro_batches = 1;  ///< of a step, at least 1
  bool events = false;              ///< whether the result lists every task with its times
};

/// @brief Scratch memory of the simulator; a caller who simulates often keeps one.
struct pipeline_workspace {
  detail::work_table works;                ///< private
  detail::runner_memory runner;            ///< private
  std::vector<detail::stage_bound> bound;  ///< private
  std::vector<std::uint64_t> counts;       ///< private
  pipeline_timeline timeline;              ///< private
};

/// @brief The timeline of an order, into caller-owned memory. See the overload without `workspace`.
/// @param order      each stage's tasks
/// @param work       times and bytes of a micro-batch on a virtual stage
/// @param events     whether the result lists every task
/// @param workspace  scratch memory, kept between calls
/// @param out        overwritten with the timeline; its memory is used again
/// @throws invalid_input as the other overload; `out` is as it was then
template <stage_work_model Work>
void simulate_order(pipeline_order const& order, Work const& work, bool events, pipeline_workspace& workspace, pipeline_timeline& out) {
  auto const split = detail::check_order(order, workspace.counts);
  workspace.works.load(order.stage_of.size(), static_cast<std::size_t>(order.micro_batches), work);
  // Not yet into `out`: the order may turn out never to end.
  detail::order_runner(order, workspace.works, events, workspace.runner, workspace.timeline).run();
  auto const bound = detail::bound_of(workspace.works, order.stage_of, order.stages(), split, workspace.bound);
  std::swap(out, workspace.timeline);
  out.makespan.lower_bound = bound.time;
  out.bound = bound.bound;
}

/// @brief The timeline of a caller's own order of tasks.
///
/// A stage does its tasks one after the other, each as soon as what it needs has arrived. Transfers run beside the computation and do not
/// wait for each other; between virtual stages of one stage they take no time.
///
/// @tparam Work  a `stage_work_model`
/// @param order   each stage's tasks
/// @param work    times and bytes of a micro-batch on a virtual stage
/// @param events  whether the result lists every task
/// @return makespan with a lower bound over all orders of the same tasks on the same stages; figures of every stage
/// @throws invalid_input if the order lacks or repeats a task or waits for itself, a member of a work is negative, or all times, or all
/// bytes, sum up to 2^63
/// @par Complexity
/// O(tasks) time and memory.
/// @par Determinism
/// A pure function of its arguments.
template <stage_work_model Work>
[[nodiscard]] pipeline_timeline simulate_order(pipeline_order const& order, Work const& work, bool events = false) {
  pipeline_workspace workspace;
  pipeline_timeline out;
  simulate_order(order, work, events, workspace, out);
  return out;
}

/// @brief The timeline of a published schedule: makespan, bubble, busy time and peak memory of every stage.
///
/// The zero-bubble schedules order forwards and input parts as published. Weight parts are placed while the timeline is made: one fills a
/// wait of at least half its time, and the oldest are done before a forward that would exceed the schedule's `in_flight(…).held`.
///
/// @tparam Schedule  a `pipeline_schedule`, or `any_schedule`
/// @tparam Work      a `stage_work_model`
/// @param schedule  which one
/// @param options   stages and micro-batches
/// @param work      times and bytes of a micro-batch on a virtual stage (numbered along the model from 0; as many as stages x chunks)
/// @return makespan with a lower bound over all orders of the same tasks on the same stages; figures of every stage
/// @throws invalid_input if a count is 0, or (interleaved) the micro-batches are no multiple of the stages; a member of a work is negative,
/// or all times, or all bytes, sum up to 2^63
/// @par Complexity
/// O(virtual stages x micro-batches) time and memory.
/// @par Determinism
/// A pure function of its arguments.
template <class Schedule, stage_work_model Work>
  requires pipeline_schedule<Schedule> || std::same_as<Schedule, any_schedule>
[[nodiscard]] pipeline_timeline simulate_pipeline(Schedule const& schedule, pipeline_options const& options, Work const& work) {
  return simulate_order(order_of(schedule, options.stages, options.micro_batches), work, options.events);
}

}  // namespace ballast::inline v0_2
