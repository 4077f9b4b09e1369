// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/cost/level_time.hpp>
#include <ballast/curriculum/plan_curriculum.hpp>
#include <ballast/levels/figures.hpp>
#include <ballast/levels/options.hpp>
#include <ballast/levels/pack.hpp>
#include <ballast/levels/result.hpp>
#include <ballast/levels/steps.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief `plan_levels`: plans an epoch in levels, from packs to the order of steps. `compare_levels` compares the plan with plans in one
/// level.

namespace ballast::inline v0_2 {

/// @brief The plan of an epoch in levels, with its metrics.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct level_plan {
  std::vector<timed_level> levels;  ///< the given levels
  level_packing<Index> packed;      ///< packs of every level, as `pack_levels` returned them
  level_batching<Index> steps;      ///< steps of every level
  curriculum_plan order;            ///< order of the steps of all levels
  level_figures figures;            ///< metrics of the steps; `loads` are in training order
};

/// @brief Plans an epoch in levels: packs by level, makes steps of packs of similar cost, and orders the steps.
///
/// `compare_levels` compares the plan with plans of one level.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  tokens of each sample
/// @param levels   levels with strictly ascending capacities, for example from `choose_levels`
/// @param options  devices, fill policy, order and seed
/// @param cost     cost of a sample by its length, which decides which packs are similar: `attention_only` for the steps of HBP
/// @return packs, steps, order and metrics
/// @post every sample is in exactly one place of a step, or is listed in `packed.set_aside`, or in `dropped` or `repeated` of its level
/// @throws invalid_input as `pack_levels`, `steps_by_level` and `plan_curriculum`
/// @par Complexity
/// O(samples log samples + devices * steps).
/// @par Determinism
/// The plan is a pure function of its arguments; figures are doubles computed from exact sums.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] level_plan<Index> plan_levels(R const& lengths, std::span<timed_level const> levels, level_options const& options,
                                            Cost const& cost) {
  level_plan<Index> out;
  out.levels.assign(levels.begin(), levels.end());
  auto const [settings, times] = detail::settings_and_times(levels);
  for (auto const& l : settings) (void)detail::shape_of(l, settings, options);  // throws before anything is packed
  auto packed = options;
  packed.times = times;
  out.packed = pack_levels<Index>(lengths, settings, packed);
  out.steps = steps_by_level(out.packed, options, cost);
  std::vector<curriculum_source> sources;
  for (std::size_t i = 0; i < settings.size(); ++i) sources.push_back({.setting = settings[i], .steps = out.steps.steps[i].steps()});
  auto order = options.order;
  order.seed = options.seed;
  order.epoch = options.epoch;
  out.order = plan_curriculum(sources, order);
  out.figures = figures_of(out.steps, out.packed.lengths, times);
  out.figures.loads = detail::in_training_order(out.figures.loads, out.order, static_cast<std::size_t>(options.devices));
  return out;
}

/// @brief As above, where the time in the longest level decides which packs are similar.
/// @tparam Index type of the sample indices @tparam R range of integers
/// @param lengths tokens of each sample
/// @param levels levels with strictly ascending capacities, for example from `choose_levels`
/// @param options devices, fill policy, order and seed
/// @return packs, steps, order and metrics
/// @throws invalid_input as the overload above
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] level_plan<Index> plan_levels(R const& lengths, std::span<timed_level const> levels, level_options const& options) {
  return plan_levels<Index>(lengths, levels, options, detail::longest_level_cost(lengths, levels));
}

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
