// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/core/status.hpp>
#include <ballast/pipeline/detail/order_search.hpp>
#include <ballast/pipeline/list_schedule.hpp>
#include <ballast/pipeline/work.hpp>

#include <cstdint>
#include <stop_token>
#include <string>

/// @file
/// @brief `search_order`: a search for the order of chains whose list schedule takes least time.

namespace ballast::inline v0_2 {

/// @brief When the search for an order stops.
struct order_search_limits {
  std::uint64_t simulations = 600;  ///< most schedules that are simulated, at least 1
  std::stop_token stop{};           ///< when a stop is requested, the best schedule so far is returned
  progress_callback progress{};     ///< is told how many of `simulations` are done
};

/// @brief The result of `search_order`: the best schedule, and how `list_schedule` makes it.
struct searched_pipeline : scheduled_pipeline {
  list_options options;           ///< the given ones with the best warm-up; `order.chains` has the best order of the chains
  std::uint64_t simulations = 0;  ///< schedules that were simulated
  bool complete = true;           ///< false if a requested stop ended the search
};

/// @brief Searches for the order of chains, and the warm-up of each stage, whose list schedule has the least makespan.
///
/// The first schedule is that of the options and the order as given. Then come four orders of the chains by their work (from the shortest
/// at both ends to the longest in the middle, descending, short and long in turn, ascending), each with the given warm-up and with one of
/// twice the stages that follow and one micro-batches. Then the best schedule is changed: two chains change places, one moves, or the
/// warm-up of a stage grows or shrinks by its largest micro-batch. A schedule that is no worse replaces the best. The search ends when the
/// makespan equals its lower bound.
///
/// @tparam Work  a `stage_work_model`
/// @param chains   chains of micro-batches in any order; each micro-batch is in one of them
/// @param options  stages, limits of memory, ties, and the warm-up to begin with
/// @param work     times and bytes of a micro-batch on a stage, as for `list_schedule`
/// @param limits   when the search stops
/// @return the best schedule with its lower bound (`pipeline_lower_bound`); or the shortage that proves that no order exists
/// @post never worse than `list_schedule(chains, options, work)`, nor than with fewer simulations; no stage ever exceeds its capacity
/// @throws invalid_input as `list_schedule`, or if `simulations` is 0
/// @par Complexity
/// That of `list_schedule`, once for each simulation.
/// @par Determinism
/// A pure function of its arguments, unless a stop is requested.
template <stage_work_model Work>
[[nodiscard]] searched_pipeline search_order(groups<std::uint32_t> const& chains, list_options const& options, Work const& work,
                                             order_search_limits const& limits = {}) {
  require(limits.simulations > 0, [] { return std::string("simulations must be at least 1"); });
  list_workspace workspace;
  searched_pipeline out;
  list_schedule(chains, options, work, workspace, out);
  out.options = options;
  out.simulations = 1;
  if (out.status == status::infeasible) return out;
  auto const lower_bound = out.timeline.makespan.lower_bound;  // of any order: the search replaces the timeline
  auto const bound = out.timeline.bound;
  detail::order_search<> search(chains, options, lower_bound,
                                {.work = limits.simulations, .stop = limits.stop, .progress = limits.progress}, workspace, out);
  search.run();
  out.options.warm_up = search.choice().warm_up;
  out.simulations = search.simulations();
  out.complete = !search.stopped();
  out.timeline.makespan.lower_bound = lower_bound;
  out.timeline.bound = bound;
  return out;
}

}  // namespace ballast::inline v0_2
