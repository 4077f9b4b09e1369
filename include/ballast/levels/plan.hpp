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
/// @brief `plan_levels`: an epoch in levels, from packs to the order of its steps.

namespace ballast::inline v0_2 {

/// @brief An epoch in levels, and what it is worth.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct level_plan {
  std::vector<timed_level> levels;  ///< as given
  level_packing<Index> packed;      ///< packs of every level, before they were made into steps
  level_batching<Index> steps;      ///< steps of every level
  curriculum_plan order;            ///< which step of which level comes when
  level_figures figures;            ///< metrics of these steps; loads in training order
};

/// @brief Plans an epoch in levels: packs by level, steps of like packs, and their order. `compare_levels` says what that is worth.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  tokens of each sample
/// @param levels   from `choose_levels`, or others; capacities strictly rising
/// @param options  devices, filling, order, seed
/// @param cost     what a sample costs where packs are made alike: `attention_only` for HBP's steps
/// @return packs, steps, their order and metrics
/// @post every sample is in a step exactly once, or is named by `packed.set_aside`, or by `dropped` or `repeated` of its level
/// @throws invalid_input as `pack_levels`, `steps_by_level` and `plan_curriculum`
/// @par Complexity
/// O(samples log samples + devices * steps).
/// @par Determinism
/// The plan is a pure function of its arguments; figures are doubles computed from exact sums.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] level_plan<Index> plan_levels(R const& lengths, std::span<timed_level const> levels, level_plan_options const& options,
                                            Cost const& cost) {
  level_plan<Index> out;
  out.levels.assign(levels.begin(), levels.end());
  auto const [settings, times] = detail::settings_and_times(levels);
  auto const shape = detail::shape_of(settings, options);
  out.packed = pack_levels<Index>(lengths, settings, {.oversize = options.oversize, .fill = options.fill, .times = times});
  out.steps = steps_by_level(out.packed, shape, cost);
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

/// @brief Plans an epoch in levels; packs are made alike by the time of the longest level. See the form above.
/// @tparam Index type of the sample indices @tparam R range of integers
/// @param lengths tokens of each sample @param levels as above @param options as above @return as above @throws invalid_input as above
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] level_plan<Index> plan_levels(R const& lengths, std::span<timed_level const> levels, level_plan_options const& options) {
  return plan_levels<Index>(lengths, levels, options, detail::longest_level_cost(lengths, levels));
}

}  // namespace ballast::inline v0_2
