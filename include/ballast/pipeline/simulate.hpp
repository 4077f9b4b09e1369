// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/kept_memory.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/pipeline/detail/chain_places.hpp>
#include <ballast/pipeline/detail/makespan_bounds.hpp>
#include <ballast/pipeline/detail/order_runner.hpp>
#include <ballast/pipeline/detail/work_table.hpp>
#include <ballast/pipeline/order.hpp>
#include <ballast/pipeline/result.hpp>
#include <ballast/pipeline/tasks.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

/// @file
/// @brief Simulates a pipeline whose micro-batches differ in time and memory.

namespace ballast::inline v0_2 {

namespace detail {

// Validation of an order of tasks.

// Returns whether backwards are split. A task that is listed twice is found in the simulation, because it waits forever.
template <class = when_called>
[[nodiscard]] inline bool check_order(pipeline_order const& order, std::vector<std::uint64_t>& counts) {
  auto const stages = order.offsets.empty() ? std::size_t{0} : order.stages(), virtual_stages = order.stage_of.size();
  constexpr auto most = (std::numeric_limits<std::uint32_t>::max)();
  require(stages > 0 && virtual_stages > 0 && order.micro_batches > 0 && order.micro_batches <= most,
          [] { return "order: there must be a stage, a virtual stage and 1 ... 2^32 - 1 micro-batches"; });
  require(order.fill.empty() || order.fill.size() == stages, [&] {
    return sentence("order.fill has ", order.fill.size(), " entries, which is neither none nor one for each of ", stages, " stages");
  });
  counts.assign(stages, 0);
  for (std::size_t k = 0; k < virtual_stages; ++k) {
    require(order.stage_of[k] < stages, [&] { return sentence(entry("order.stage_of", k, order.stage_of[k]), " must be below ", stages); });
    counts[order.stage_of[k]] += order.micro_batches;
  }
  require(order.offsets.front() == 0 && order.offsets.back() == order.tasks.size(),
          [] { return "order.offsets must rise from 0 to the number of tasks"; });
  auto any_split = false;
  for (std::size_t s = 0; s < stages; ++s) {
    require(order.offsets[s] <= order.offsets[s + 1] && order.offsets[s + 1] <= order.tasks.size(),
            [&] { return sentence("order.offsets[", s + 1, "] breaks the rise from 0 to the number of tasks"); });
    std::uint64_t of[4] = {};
    for (auto i = static_cast<std::size_t>(order.offsets[s]); i < order.offsets[s + 1]; ++i) {
      auto const task = order.tasks[i];
      require(task.micro_batch < order.micro_batches && task.virtual_stage < virtual_stages && order.stage_of[task.virtual_stage] == s &&
                  task.pass <= pipeline_pass::weight,
              [&] {
                return sentence("order.tasks[", i, "] (micro-batch ", task.micro_batch, " on virtual stage ", task.virtual_stage,
                                ") does not belong to stage ", s);
              });
      ++of[static_cast<std::size_t>(task.pass)];
    }
    auto const [forwards, wholes, inputs, weights] = of;
    auto const filled = !order.fill.empty();
    require(forwards == counts[s] &&
                (filled ? wholes == 0 && inputs == counts[s] && weights == 0 : wholes + inputs == counts[s] && weights == inputs),
            [&] { return sentence("order: stage ", s, " does not list each of its tasks once"); });
    any_split = any_split || inputs != 0;
  }
  return any_split;
}

// Validation of the chains of an order whose tasks are valid by themselves.

struct chain_scratch {
  std::vector<chain_place> places;
  std::vector<std::uint32_t> forwards, backwards;  // of each chain on each virtual stage, how many have been listed
};

// A piece attends to keys and values, and passes gradients to them, on its own virtual stage. A virtual stage is on one stage, and a stage
// does its tasks one after the other as they are listed. So what a piece needs from its chain is there when its turn comes, if and only if
// the list has it before: the order is the whole dependency, and no time of the simulation depends on the chains. A weight part needs its
// own input part alone.
template <class = when_called>
inline void check_chains(pipeline_order const& order, chain_scratch& scratch) {
  if (order.chains.empty() && order.chains.members.empty()) return;
  place_chains(order.chains, static_cast<std::size_t>(order.micro_batches), "order.chains", scratch.places);
  auto const chains = order.chains.size();
  scratch.forwards.assign(order.stage_of.size() * chains, 0);
  scratch.backwards.assign(order.stage_of.size() * chains, 0);
  for (std::size_t i = 0; i < order.tasks.size(); ++i) {
    auto const task = order.tasks[i];
    if (task.pass == pipeline_pass::weight) continue;
    auto const forward = task.pass == pipeline_pass::forward;
    auto const place = scratch.places[task.micro_batch];
    auto& listed = (forward ? scratch.forwards : scratch.backwards)[task.virtual_stage * chains + place.chain];
    require(listed == (forward ? place.index : place.after), [&] {
      return sentence("order.tasks[", i, "] on stage ", order.stage_of[task.virtual_stage], ": the ", (forward ? "forward" : "backward"),
                      " of micro-batch ", task.micro_batch, " is number ", listed, " of its chain there, not number ",
                      forward ? place.index : place.after, "; forwards of a chain ascend, backwards descend");
    });
    ++listed;
  }
}

// The lower bound on the makespan of the tasks of a checked order.

struct order_bound_memory {
  std::vector<stage_bound> stages;
  chain_bound_memory chains;
};

// The bound of chains is for whole backwards and one virtual stage per stage; there it is never below the other.
template <class = when_called>
[[nodiscard]] inline makespan_bound bound_of(pipeline_order const& order, work_table const& table, bool split, order_bound_memory& memory) {
  auto chained = !split && !order.chains.empty();
  for (std::size_t k = 0; chained && k < order.stage_of.size(); ++k) chained = order.stage_of[k] == k;
  return chained ? bound_of(table, order.chains, memory.chains) : bound_of(table, order.stage_of, order.stages(), split, memory.stages);
}

}  // namespace detail

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
