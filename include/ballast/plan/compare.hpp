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
/// @brief `compare_with_usual`: compares a data plan with what trainers usually do.

namespace ballast::inline v0_2 {

/// @brief Figures of three plans of the same samples.
struct plan_comparison {
  plan_figures planned;  ///< figures of the plan itself
  plan_figures naive;    ///< figures of the naive plan: packs by next fit in input order, dealt in order
  plan_figures usual;    ///< figures of the usual plan: packs by best-fit decreasing, dealt at random
};

/// @brief Compares a plan with the naive and the usual plan for the same samples, shape of steps, seed and left-over policy.
///
/// @tparam Index  type of the sample indices
/// @param plan         the plan of an epoch, as `plan_data` returned it
/// @param options      the options that it was planned with
/// @param ms_per_unit  milliseconds that one unit of cost takes on one device
/// @return the figures of all three plans
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

/// @brief Compares a plan with the naive and the usual plan, with times modelled from the shape of a model and a cluster.
///
/// @tparam Index  type of the sample indices
/// @param plan     the plan of an epoch, as `plan_data` returned it for this model
/// @param options  the options that it was planned with
/// @param model    the shape of the model
/// @param on       the devices
/// @return the figures of all three plans
/// @throws invalid_input as the other overload, and as `ms_per_unit`
/// @par Complexity
/// As the other overload.
/// @par Determinism
/// As the other overload.
template <index_type Index>
[[nodiscard]] plan_comparison compare_with_usual(data_plan<Index> const& plan, data_plan_options const& options, transformer const& model,
                                                 cluster const& on = {}) {
  return compare_with_usual(plan, options, ms_per_unit(sample_cost(model), on));
}

}  // namespace ballast::inline v0_2
