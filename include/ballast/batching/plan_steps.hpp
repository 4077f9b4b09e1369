// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/kept_together.hpp>
#include <ballast/batching/detail/plan_by_method.hpp>
#include <ballast/batching/detail/plan_in_blocks.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/executor.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/core/search_watch.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

/// @file
/// @brief `plan_steps`: the default planner of steps.

namespace ballast::inline v0_2 {

/// @brief Plans the steps of an epoch: assigns samples to micro-batches, and micro-batches to ranks and steps.
///
/// Usually the planner draws the samples of one step after the other in a random order (`stream_steps`), distributes each draw over the
/// ranks, and packs the samples of a rank into its micro-batches by best-fit decreasing. It makes packs first and deals them to steps if
/// draws leave ranks waiting or room empty, if ranks wait at every micro-batch, or if there are `apart` keys. Use `deal_steps` for packs
/// that exist already.
///
/// If ranks wait per step, the planner tries these methods in order, until the slowest ranks are within 1 % of the mean, or the plan within
/// 0.5 % of `steps_lower_bound`, and the plan is full enough:
/// - Random draws, if the cost ratio (`critical_ratios`) is at most 0.9. Steps are filled to 0.98 if the square ratio is at most 1,
/// otherwise as full as they can be balanced.
/// - Draws in which samples of high cost are gathered in the same steps over the whole epoch, or split over ranks if that is allowed. The
/// share of such samples grows from trial to trial.
/// - Packs made first, sorted by cost in windows of a random order, dealt and balanced. A window is not used if its steps are less random
/// than those of the other methods by more than half of their design effect.
///
/// In an epoch of many steps, the methods are tried on a random part of it, and only those that are good there on all of it. With one
/// micro-batch and 150 steps or more, packs are made first where draws would have to be gathered, and the window is chosen by its time and
/// by its design effect over eight steps in a row. `time_for_randomness` makes that choice, among all methods, in an epoch of any length.
///
/// The fastest plan is returned, with the cost of steps included. If it fills less than 0.97 of the capacity (0.93 with four steps or
/// fewer; or less than `least_fill`), a fuller plan is returned that is at most one percentage point more idle, if there is one.
/// `batching::method` names the method.
///
/// Without keys, an epoch of more than two million samples is planned in random blocks of a million or more, if each has 64 steps; the
/// method named is then that of the first block.
///
/// If ranks wait at every micro-batch, packs of similar cost make up a micro-batch (`dealing::rows`). Pipelines get micro-batches of
/// similar samples. With `apart` keys, packs of one key each are sorted into steps (`dealing::sorted`) or rows.
///
/// If a pack of the plan has more than `max_samples` samples, packs are made first, under that limit, and dealt in windows or rows, for all
/// ways of waiting; `least_fill` is not read then.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @tparam Executor  an `executor`
/// @param lengths      tokens of each sample, at most the capacity. Longer samples are shared by at least the fewest ranks, a power of two,
/// that have room for them, if `most_ranks_shared` allows as many, there are no keys, and ranks are no pipelines and do not wait at each of
/// several micro-batches
/// @param options      shape of a step: `plan_steps(lengths, {.capacity = 131072, .ranks = 64, .micro_batches = 4}, cost)`
/// @param cost         cost of a sample by its length: `sample_cost(model)` for a transformer, or any other callable
/// @param constraints  which samples, and how many, may share a micro-batch, and how many ranks may share a sample
/// @param limits       `stop` and `wall_clock`: the best plan so far is then returned, with `complete == false`, once the method that has
/// begun is finished. `progress` is told how many blocks of an epoch of millions of samples are planned, on the threads of the executor.
/// `work` and `gap` are not read
/// @param execute      `threads{}` plans blocks at the same time; the plan does not depend on it
/// @return the plan, its cost and a lower bound; only the last step may have empty places, if there are too few samples
/// @pre a list of keys is empty or as long as `lengths`; samples with the same `together` key have the same `apart` key
/// @throws invalid_input for a bad option, length, cost or key, if the samples of one `together` key exceed the capacity, or if
/// `max_samples` is combined with keys or shared samples
/// @par Complexity
/// That of the planner used; all of them O(n log n).
/// @par Determinism
/// A pure function of its arguments, if neither a stop nor the clock ends the planning. A release that changes a plan says so in the
/// CHANGELOG.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost, executor Executor = serial>
[[nodiscard]] batching<Index> plan_steps(R const& lengths, batching_options const& options, Cost const& cost,
                                         step_constraints const& constraints = {}, search_limits const& limits = {},
                                         Executor const& execute = {}) {
  return plan_steps<Index>(weigh(lengths, options, cost, constraints.most_ranks_shared), options, constraints, limits, execute);
}

/// @brief As above, for samples that were weighed before.
/// @tparam Index  type of the sample indices
/// @tparam Executor  an `executor`
/// @param samples      result of `weigh`
/// @param options      shape of a step
/// @param constraints  which samples, and how many, may share a micro-batch, and how many ranks may share a sample
/// @param limits       what cuts planning short
/// @param execute      `threads{}` plans blocks at the same time
/// @return the plan, its cost and a lower bound
/// @throws invalid_input as the overload above, or if the samples were weighed for other options and do not fit these
template <index_type Index = std::uint32_t, executor Executor = serial>
[[nodiscard]] batching<Index> plan_steps(weighed_samples const& samples, batching_options const& options,
                                         step_constraints const& constraints = {}, search_limits const& limits = {},
                                         Executor const& execute = {}) {
  auto const& c = constraints;
  auto const most = c.most_ranks_shared;
  require(most != 0 && (most & (most - 1)) == 0, [&] { return sentence("most_ranks_shared = ", most, " must be a power of two"); });
  detail::require_fit<Index>(samples, options, most, detail::why_unshared(c, options));
  auto const n = samples.size();
  detail::require_keys(c.together, n, "together");
  detail::require_keys(c.apart, n, "apart");
  require(c.max_samples == 0 || (c.together.empty() && c.apart.empty() && most == 1),
          [] { return "max_samples cannot be combined with together or apart keys, or with most_ranks_shared above 1"; });
  auto quiet = limits;
  quiet.progress = {};
  search_watch watch(quiet);
  if (c.together.empty() && c.apart.empty()) {
    auto plan = detail::plan_in_blocks<Index>(samples, c, options, watch, limits.progress, execute);
    if (c.max_samples == 0 || std::ranges::all_of(plan.packs, [&](auto const pack) { return pack.size() <= c.max_samples; })) return plan;
    auto limited = detail::plan_limited<Index>(samples, options, c.max_samples, watch);
    limited.complete = limited.complete && plan.complete;
    return limited;
  }
  if (c.together.empty()) return detail::plan_by_method<Index>(samples, c.apart, c, options, watch);

  auto const units = detail::units_of<Index>(n, c.together);
  auto const apart = detail::key_of_units(units, c.apart);
  auto whole = c;
  whole.most_ranks_shared = 1;  // samples with the same key stay together
  auto plan = detail::plan_by_method<Index>(detail::fold(samples, units, options), apart, whole, options, watch);
  plan.packs = detail::spell_out(units, plan.packs);
  for (auto* list : {&plan.dropped, &plan.repeated}) {
    std::vector<Index> samples_of;
    for (auto u : *list) samples_of.insert(samples_of.end(), units[u].begin(), units[u].end());
    std::sort(samples_of.begin(), samples_of.end());
    *list = std::move(samples_of);
  }
  return plan;
}

BALLAST_INSTANTIATE(batching<std::uint32_t> plan_steps(weighed_samples const&, batching_options const&, step_constraints const&,
                                                       search_limits const&, serial const&))
BALLAST_INSTANTIATE(batching<std::uint64_t> plan_steps(weighed_samples const&, batching_options const&, step_constraints const&,
                                                       search_limits const&, serial const&))
BALLAST_INSTANTIATE(batching<std::uint32_t> plan_steps(weighed_samples const&, batching_options const&, step_constraints const&,
                                                       search_limits const&, threads const&))
BALLAST_INSTANTIATE(batching<std::uint64_t> plan_steps(weighed_samples const&, batching_options const&, step_constraints const&,
                                                       search_limits const&, threads const&))

}  // namespace ballast::inline v0_2
