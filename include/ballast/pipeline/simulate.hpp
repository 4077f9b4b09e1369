// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/kept_memory.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/pipeline/detail/check_chains.hpp>
#include <ballast/pipeline/detail/check_order.hpp>
#include <ballast/pipeline/detail/order_bound.hpp>
#include <ballast/pipeline/detail/order_runner.hpp>
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
/// @brief Simulates a pipeline whose micro-batches differ in time and memory.

namespace ballast::inline v0_2 {

/// @brief Options of the simulator.
struct pipeline_options {
  std::uint64_t stages = 1;         ///< number of stages of the pipeline, at least 1
  std::uint64_t micro_batches = 1;  ///< number of micro-batches in a step, at least 1
  bool events = false;              ///< whether the result lists every task with its times
};

namespace detail {
struct simulation_memory {
  work_table works;
  runner_memory runner;
  order_bound_memory bound;
  std::vector<std::uint64_t> counts;
  chain_scratch chains;
  pipeline_timeline timeline;
};
}  // namespace detail

/// @brief Scratch memory of the simulator. Keep one if you simulate often.
using pipeline_workspace = kept_memory<detail::simulation_memory>;

/// @brief Simulates an order of tasks in caller-owned memory. The overload without `workspace` says what it computes.
/// @param order      tasks of each stage, in order
/// @param work       times and bytes of a micro-batch on a virtual stage
/// @param events     whether the result lists every task
/// @param workspace  scratch memory, kept between calls
/// @param out        overwritten with the timeline; its memory is used again
/// @throws invalid_input as the other overload; `out` is then unchanged
template <stage_work_model Work>
void simulate_order(pipeline_order const& order, Work const& work, bool events, pipeline_workspace& workspace, pipeline_timeline& out) {
  auto& memory = detail::memory_of(workspace);
  auto const split = detail::check_order(order, memory.counts);
  detail::check_chains(order, memory.chains);
  memory.works.load(order.stage_of.size(), static_cast<std::size_t>(order.micro_batches), work);
  // The result is written to `out` only at the end: a task of the order may wait for itself.
  detail::order_runner<>(order, memory.works, events, memory.runner, memory.timeline).run();
  auto const bound = detail::bound_of(order, memory.works, split, memory.bound);
  std::swap(out, memory.timeline);
  out.makespan.lower_bound = bound.time;
  out.bound = bound.bound;
}

/// @brief Simulates an order of tasks and returns its timeline.
///
/// A stage does its tasks one after the other, each as soon as its inputs have arrived. Transfers overlap with computation and do not wait
/// for each other; between virtual stages on the same stage they take no time.
///
/// @tparam Work  a `stage_work_model`
/// @param order   tasks of each stage, in order
/// @param work    times and bytes of a micro-batch on a virtual stage
/// @param events  whether the result lists every task
/// @return the makespan, with a lower bound for all orders of the same tasks on the same stages that keep the chains; figures of every
/// stage
/// @throws invalid_input if the order lacks or repeats a task, a task waits for itself, the chains do not hold every micro-batch
/// once, a chain's forwards do not ascend or its backwards do not descend on a virtual stage, a member of a work is negative, or the sum of
/// all times or of all bytes reaches 2^63
/// @par Complexity
/// O(tasks) time and memory; O(tasks log micro-batches) time if there are chains, for the lower bound.
/// @par Determinism
/// A pure function of its arguments.
template <stage_work_model Work>
[[nodiscard]] pipeline_timeline simulate_order(pipeline_order const& order, Work const& work, bool events = false) {
  pipeline_workspace workspace;
  pipeline_timeline out;
  simulate_order(order, work, events, workspace, out);
  return out;
}

/// @brief Simulates a published schedule and returns its timeline: makespan, bubble, busy time and peak memory of every stage.
///
/// The order of forwards and input parts is the published one. In zero-bubble schedules, weight parts are placed during the simulation: one
/// fills a wait of at least half its time, and the oldest are done before a forward that would exceed the schedule's `in_flight(…).held`.
///
/// @tparam Schedule  a `pipeline_schedule`, or `any_schedule`
/// @tparam Work      a `stage_work_model`
/// @param schedule  the schedule
/// @param options   stages and micro-batches
/// @param work      times and bytes of a micro-batch on a virtual stage (stages x chunks of them, numbered along the model from 0)
/// @return the makespan, with a lower bound for all orders of the same tasks on the same stages; figures of every stage
/// @throws invalid_input if a count is 0, the micro-batches of an interleaved schedule are not a multiple of the stages, a member of a work
/// is negative, or the sum of all times or of all bytes reaches 2^63
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
