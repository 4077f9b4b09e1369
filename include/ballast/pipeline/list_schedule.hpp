// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/kept_memory.hpp>
#include <ballast/core/status.hpp>
#include <ballast/pipeline/detail/list_rules.hpp>
#include <ballast/pipeline/detail/list_runner.hpp>
#include <ballast/pipeline/detail/makespan_bounds.hpp>
#include <ballast/pipeline/detail/work_table.hpp>
#include <ballast/pipeline/result.hpp>
#include <ballast/pipeline/tasks.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief `list_schedule`: 1F1B that never waits while it may work, for micro-batches that depend on each other, under a limit of memory.

namespace ballast::inline v0_2 {

/// @brief Options of `list_schedule`.
struct list_options {
  std::uint64_t stages = 1;  ///< number of stages of the pipeline, at least 1
  /// Most bytes on each stage (of `kept` and `recomputed`, in any unit, such as tokens); empty if there is no limit.
  std::vector<std::int64_t> capacity{};
  /// Bytes of `kept` in flight on each stage up to which it prefers a forward to a backward; empty for (stages - s) x the largest `kept` on
  /// stage s, which is what 1F1B holds of equal micro-batches.
  std::vector<std::int64_t> warm_up{};
  list_tie tie = list_tie::later_chunk;  ///< which of several ready backwards a stage does
  bool events = false;                   ///< whether the timeline lists every task with its times
};

/// @brief What proves that no order exists: a chain that needs more than a stage has.
struct pipeline_shortage {
  std::uint64_t stage = 0;    ///< the first stage that has too little
  std::uint32_t chain = 0;    ///< number of the chain that needs most there
  std::int64_t capacity = 0;  ///< bytes that the stage has
  std::int64_t needed = 0;    ///< bytes that any order holds there at some time
  friend constexpr bool operator==(pipeline_shortage const&, pipeline_shortage const&) = default;
};

/// @brief The result of `list_schedule`.
struct scheduled_pipeline {
  ballast::status status = ballast::status::infeasible;  ///< feasible or infeasible
  pipeline_order order;                                  ///< the order of each stage's tasks; empty if infeasible
  pipeline_timeline timeline;                            ///< its timeline, as `simulate_order` returns it; empty if infeasible
  pipeline_shortage shortage;                            ///< why it is infeasible; zeros if it is feasible
};

namespace detail {
struct list_schedule_memory {
  work_table works;
  list_rules rules;
  list_memory runner;
  chain_bound_memory bound;
};
}  // namespace detail

/// @brief Scratch memory of `list_schedule`. Keep one if you schedule often.
using list_workspace = kept_memory<detail::list_schedule_memory>;

/// @brief Schedules chains in caller-owned memory. The overload without `workspace` says what it computes.
/// @param chains     chains of micro-batches in the order of their forwards
/// @param options    stages, limits of memory, warm-up and ties
/// @param work       times and bytes of a micro-batch on a stage
/// @param workspace  scratch memory, kept between calls
/// @param out        overwritten with the result; its memory is used again
/// @throws invalid_input as the other overload; `out` is then unchanged
template <stage_work_model Work>
void list_schedule(groups<std::uint32_t> const& chains, list_options const& options, Work const& work, list_workspace& workspace,
                   scheduled_pipeline& out) {
  auto& memory = detail::memory_of(workspace);
  auto const stages = detail::check_list(chains, options.stages, options.capacity, options.warm_up, memory.runner.places);
  memory.works.load(stages, chains.members.size(), work);
  memory.rules.load(chains, memory.works, options.capacity, options.warm_up);
  out.shortage = {};
  for (std::size_t s = 0; s < stages; ++s)
    if (auto const& most = memory.rules.stages[s]; most.needed > most.capacity) {
      out.status = status::infeasible;
      out.shortage = {s, most.neediest, most.capacity, most.needed};
      out.order = {};
      out.timeline = {};
      return;
    }
  detail::list_runner<>(chains, memory.works, memory.rules, options.tie, options.events, memory.runner, out.order, out.timeline).run();
  auto const bound = detail::bound_of(memory.works, chains, memory.bound);
  out.timeline.makespan.lower_bound = bound.time;
  out.timeline.bound = bound.bound;
  out.status = status::feasible;
}

/// @brief Schedules chains of micro-batches on a pipeline as 1F1B does, but never waits while it may work, within a limit of memory.
///
/// Time runs from event to event. A stage that is free does the next forward if it has arrived, fits the capacity, and leaves at most
/// `warm_up` bytes in flight; otherwise a backward that has arrived; otherwise the forward if it fits. Of the stages that are free at one
/// time, the last decides first. Forwards have the same order on every stage: chain after chain. A backward is whole, and waits for that of
/// the next chunk of its chain. A stage has one virtual stage.
///
/// The memory rule never leads to a deadlock. A forward fits if each backward of another chain whose forward has been done would fit after
/// it. Suppose that nothing can run, and a task remains. On the last stage a chain whose forwards are all done has a backward that has
/// arrived. It fits by the rule unless its chain is the last begun there; if that one alone is in flight, it fits because a stage has what
/// any chain needs alone. So the last stage holds only the first part of one chain, whose next forward fits and has not arrived. So the
/// stage before it has done no more forwards, all gradients of earlier chains have arrived there, and the same is true of it, and so on.
/// The first stage waits for no forward: a contradiction.
///
/// @tparam Work  a `stage_work_model`
/// @param chains   chains of micro-batches in the order of their forwards; each micro-batch is in one of them
/// @param options  stages, limits of memory, warm-up and ties
/// @param work     times and bytes of a micro-batch on a stage; a chunk whose activations are not retained has its forward's time in
/// `recompute`, its keys and values in `kept`, and its activations in `recomputed`
/// @return the order and its timeline with a lower bound for any order; or the shortage that proves that no order exists
/// @post no stage ever holds more than its capacity; the result is infeasible only if a chain alone needs more than that
/// @throws invalid_input if there is no stage or micro-batch, the chains do not hold every micro-batch once, `capacity` or `warm_up` has
/// neither no entry nor one per stage, an entry or a member of a work is negative, or the sum of all times or of all bytes reaches 2^63
/// @par Complexity
/// O(tasks x (log stages + log micro-batches + micro-batches in flight)) time, O(tasks) memory.
/// @par Determinism
/// A pure function of its arguments.
template <stage_work_model Work>
[[nodiscard]] scheduled_pipeline list_schedule(groups<std::uint32_t> const& chains, list_options const& options, Work const& work) {
  list_workspace workspace;
  scheduled_pipeline out;
  list_schedule(chains, options, work, workspace, out);
  return out;
}

}  // namespace ballast::inline v0_2
