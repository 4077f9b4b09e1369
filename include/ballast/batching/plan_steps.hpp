// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/plan_items.hpp>
#include <ballast/batching/detail/units.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/batching/weigh.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `plan_steps`: the default planner of steps, and samples that belong together or must not meet.

namespace ballast::inline v0_2 {

/// @brief Plans the steps of an epoch: which samples share a micro-batch, which micro-batches a rank and a step.
///
/// It packs as it goes: samples are drawn in a random order, a step at a time (`stream_steps`), dealt to the ranks of the step, and packed
/// there, best fit decreasing, into the rank's micro-batches. Packs that were made before are dealt by `deal_steps` instead. `plan_steps`
/// makes packs first and deals them itself where draws leave ranks waiting or room empty, where ranks wait at every micro-batch, and where
/// samples of different keys may not meet.
///
/// Where ranks wait per step and the cost ratio is at most 0.9 (`critical_ratios`), steps are random draws: filled to 0.98 where the square
/// ratio is at most 1, else as full as they can be balanced. Where that leaves the slowest ranks more than 1 % above the mean, or the cost
/// ratio is higher, samples of high cost are gathered with their like over the whole epoch (or split over ranks, where that is allowed):
/// ever more of them until 1 % is reached. Where that is not enough, or leaves too much room empty, packs are made first, sorted by cost in
/// windows of a random order, dealt and balanced: never in steps that are less random than the others by more than half of their design
/// effect. The fastest plan met is returned, the price of steps included; but a fuller one where that fills less than 0.97 (0.93 in three
/// steps or fewer, or `least_fill`) and the fuller one is at most one percentage point more idle. `batching::method` says which it is.
/// Where ranks wait at every micro-batch, rows of like packs are mixed (`dealing::rows`); pipelines get like with like (`pipeline_steps`).
/// Packs of one key each are sorted into steps (`dealing::sorted`).
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths      tokens of each sample, at most the capacity
/// @param options      `plan_steps(lengths, {.capacity = 131072, .ranks = 64, .micro_batches = 4})`
/// @param cost         what a sample costs: `sample_cost(model)` of a transformer, or any other callable
/// @param constraints  samples that belong together or must not meet, ranks that share one
/// @return the plan, its cost and the bound; no place is empty but of the last step, where samples are too few
/// @pre a list of keys is empty or as long as `lengths`; samples of one `together` key have one `apart` key
/// @throws invalid_input for a bad option, length, cost or key, or where samples that belong together exceed the capacity
/// @par Complexity
/// That of the planner used; all of them O(n log n).
/// @par Determinism
/// A pure function of its arguments. A release that changes a plan says so in the CHANGELOG.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] batching<Index> plan_steps(R const& lengths, batching_options const& options, Cost const& cost,
                                         step_constraints const& constraints = {}) {
  return plan_steps<Index>(weigh(lengths, options, cost), options, constraints);
}

/// @brief As above, of samples weighed before.
/// @tparam Index  type of the sample indices
/// @param samples      from `weigh`
/// @param options      as above
/// @param constraints  as above
/// @return as above
/// @throws invalid_input as above, or if the samples were weighed for other options and these cannot hold them
/// @par Complexity
/// As above.
/// @par Determinism
/// As above.
template <index_type Index = std::uint32_t>
[[nodiscard]] batching<Index> plan_steps(weighed_samples const& samples, batching_options const& options,
                                         step_constraints const& constraints = {}) {
  auto const& c = constraints;
  auto const most = c.most_ranks_shared;
  require(most != 0 && (most & (most - 1)) == 0, [&] { return "most_ranks_shared = " + std::to_string(most) + " must be a power of two"; });
  detail::require_fit<Index>(samples, options);
  auto const n = samples.size();
  detail::require_keys(c.together, n, "together");
  detail::require_keys(c.apart, n, "apart");
  if (c.together.empty()) return detail::plan_items<Index>(samples, c.apart, c, options);

  auto const units = detail::units_of<Index>(n, c.together);
  auto const apart = detail::key_of_units(units, c.apart);
  auto whole = c;
  whole.most_ranks_shared = 1;  // what belongs together is not torn apart
  auto plan = detail::plan_items<Index>(detail::fold(samples, units, options), apart, whole, options);
  plan.packs = detail::spell_out(units, plan.packs);
  for (auto* list : {&plan.dropped, &plan.repeated}) {
    std::vector<Index> samples_of;
    for (auto u : *list) samples_of.insert(samples_of.end(), units[u].begin(), units[u].end());
    std::sort(samples_of.begin(), samples_of.end());
    *list = std::move(samples_of);
  }
  return plan;
}

}  // namespace ballast::inline v0_2
