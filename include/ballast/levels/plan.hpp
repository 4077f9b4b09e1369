// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/cost/level_time.hpp>
#include <ballast/curriculum/plan_curriculum.hpp>
#include <ballast/levels/detail/shapes.hpp>
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
/// @brief `plan_levels`: plans an epoch in levels, from packs to the order of steps.

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

}  // namespace ballast::inline v0_2
