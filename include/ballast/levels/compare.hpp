// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/levels/detail/shapes.hpp>
#include <ballast/levels/figures.hpp>
#include <ballast/levels/options.hpp>
#include <ballast/levels/pack.hpp>
#include <ballast/levels/plan.hpp>
#include <ballast/levels/steps.hpp>

/// @file
/// @brief `compare_levels`: compares a plan in levels with plans of the same samples in one level.

namespace ballast::inline v0_2 {

/// @brief Metrics of two other plans for the samples of a plan in levels.
struct level_comparison {
  level_figures one_level;  ///< all samples in the longest level, packs of similar cost share a step, as many tokens a step
  level_figures naive;      ///< the same packs in random steps: the baseline of HBP
};

/// @brief Plans the same samples in the longest level only, and returns the metrics of these plans:
/// `plan.figures.speedup_over(compare_levels(…).naive)`.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  the lengths that `plan_levels` was given
/// @param plan     the plan that it returned
/// @param options  the options that it was given
/// @param cost     the cost that it was given
/// @return metrics of one level with balanced steps, and with random steps
/// @throws invalid_input as `plan_levels`
/// @par Complexity
/// O(samples log samples + devices * steps).
/// @par Determinism
/// Both plans are pure functions of the arguments; figures are doubles computed from exact sums.
template <index_type Index, length_range R, cost_model Cost>
[[nodiscard]] level_comparison compare_levels(R const& lengths, level_plan<Index> const& plan, level_options const& options,
                                              Cost const& cost) {
  auto shape = options;
  shape.tokens_per_step = detail::tokens_per_step(detail::settings_and_times(plan.levels).first, options);
  auto const& longest = plan.levels.back();
  auto const packed = pack_levels<Index>(lengths, {&longest.setting, 1}, {.oversize = options.oversize});
  auto const figures = [&](bool balanced) {
    shape.balanced = balanced;
    return figures_of(steps_by_level(packed, shape, cost), packed.lengths, {&longest.time, 1});
  };
  return {figures(true), figures(false)};
}

/// @brief As above, for a plan that was made without a cost.
/// @tparam Index type of the sample indices @tparam R range of integers
/// @param lengths the lengths that `plan_levels` was given
/// @param plan the plan that it returned
/// @param options the options that it was given
/// @return metrics of one level with balanced steps, and with random steps
/// @throws invalid_input as the overload above
template <index_type Index, length_range R>
[[nodiscard]] level_comparison compare_levels(R const& lengths, level_plan<Index> const& plan, level_options const& options) {
  return compare_levels(lengths, plan, options, detail::longest_level_cost(lengths, plan.levels));
}

}  // namespace ballast::inline v0_2
