// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/deal_steps.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/transformer_cost.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/next_fit.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/plan/cluster.hpp>
#include <ballast/plan/detail/placed_samples.hpp>
#include <ballast/plan/figures.hpp>
#include <ballast/plan/plan_data.hpp>

/// @file
/// @brief `compare_with_usual`: a data plan beside what trainers do without one.

namespace ballast::inline v0_2 {

/// @brief Three plans of the same samples in figures.
struct plan_comparison {
  plan_figures planned;  ///< of the plan
  plan_figures naive;    ///< of packs by next fit in input order, dealt in order
  plan_figures usual;    ///< of packs by best-fit decreasing, dealt at random
};

/// @brief Compares a plan with the naive and the usual plan of the same samples, of the same shape, seed and policy for left-overs.
///
/// @tparam Index  type of the sample indices
/// @param plan         an epoch, as `plan_data` made it
/// @param options      what it was asked
/// @param ms_per_unit  milliseconds that one unit of cost takes on one device
/// @return the figures of all three
/// @throws invalid_input as `deal_steps` and `figures_of`
/// @par Complexity
/// O(n log n).
/// @par Determinism
/// Figures are doubles, computed from exact sums.
template <index_type Index>
[[nodiscard]] plan_comparison compare_with_usual(data_plan<Index> const& plan, data_plan_options const& options, double ms_per_unit) {
  auto const& o = options.steps;
  auto const samples = detail::placed_samples(plan.samples, o).samples;
  packing_options const pack{.capacity = o.capacity};
  auto const score = [&](batching<Index> const& steps) { return figures_of(steps, samples, o, ms_per_unit); };
  return {.planned = figures_of(plan.steps, plan.samples, o, ms_per_unit),
          .naive = score(deal_steps(next_fit<Index>(samples.tokens, pack).packs, samples, o, {.how = dealing::in_order})),
          .usual = score(deal_steps(best_fit_decreasing<Index>(samples.tokens, pack).packs, samples, o, {.how = dealing::random}))};
}

/// @brief The same in the time that the shape of a model implies on a cluster, for a plan that was made for that model.
///
/// @tparam Index  type of the sample indices
/// @param plan     as above
/// @param options  as above
/// @param model    the shape that it was planned for
/// @param on       the devices
/// @return as above
/// @throws invalid_input as above and as `ms_per_unit`
/// @par Complexity
/// As above.
/// @par Determinism
/// As above.
template <index_type Index>
[[nodiscard]] plan_comparison compare_with_usual(data_plan<Index> const& plan, data_plan_options const& options, transformer const& model,
                                                 cluster const& on = {}) {
  return compare_with_usual(plan, options, ms_per_unit(sample_cost(model), on));
}

}  // namespace ballast::inline v0_2
