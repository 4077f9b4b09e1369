// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/hash.hpp>
#include <ballast/cost/level_time.hpp>
#include <ballast/curriculum/plan_curriculum.hpp>
#include <ballast/levels/figures.hpp>
#include <ballast/levels/options.hpp>
#include <ballast/levels/pack.hpp>
#include <ballast/levels/steps.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

/// @file
/// @brief `plan_levels`: plans an epoch in levels, from packs to the order of steps. `compare_levels` compares the plan with plans in one
/// level, `table_of` writes it as one table by device.

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

/// @brief A plan in levels as one table by device, for a trainer.
/// @tparam Index  type of the sample indices and pack numbers
template <index_type Index = std::uint32_t>
struct device_table {
  groups<Index> packs;               ///< sample indices of each pack; packs of all levels, the shortest level first
  std::vector<Index> table;          ///< pack number or `none`, by step in training order, then device, then micro-batch
  std::vector<std::uint32_t> level;  ///< number of each step's level
  std::uint64_t devices = 1;         ///< number of devices; devices that share a pack are neighbours: device d belongs to rank d / sp
  std::uint64_t micro_batches = 1;   ///< the largest number of any level; levels with fewer have `none` in the other places
  static constexpr Index none = batching<Index>::none;  ///< marks an empty place; -1 if read as signed
};

/// @brief Hash of a table by device: FNV-1a over its shape, packs, places and levels.
///
/// @tparam Index  index type of the table
/// @param plan  any table
/// @return 64 bits; equal tables have equal hashes, whatever their index type
/// @par Complexity
/// O(samples + places).
template <index_type Index>
[[nodiscard]] constexpr std::uint64_t hash(device_table<Index> const& plan) noexcept {
  fnv1a h;
  h.append(plan.devices);
  h.append(plan.micro_batches);
  h.append(hash(plan.packs));
  for (auto const p : plan.table) h.append(p == plan.none ? (std::numeric_limits<std::uint64_t>::max)() : std::uint64_t{p});
  for (auto const l : plan.level) h.append(l);
  return h.value();
}

/// @brief Writes a plan in levels as one table by device.
///
/// @tparam Index  type of the sample indices
/// @param plan  result of `plan_levels`
/// @return packs, places in training order, and the level of each step
/// @throws invalid_input if the index type cannot number all packs
/// @par Complexity
/// O(samples + devices * steps).
/// @par Determinism
/// A pure function of its argument.
template <index_type Index>
[[nodiscard]] device_table<Index> table_of(level_plan<Index> const& plan) {
  device_table<Index> out;
  std::vector<std::size_t> first;  // pack of each level
  for (std::size_t l = 0; l < plan.steps.steps.size(); ++l) {
    auto const& steps = plan.steps.steps[l];
    auto const before = out.packs.members.size();
    first.push_back(out.packs.size());
    for (auto const offset : std::span(steps.packs.offsets).subspan(1)) out.packs.offsets.push_back(before + offset);
    out.packs.members.insert(out.packs.members.end(), steps.packs.members.begin(), steps.packs.members.end());
    out.devices = steps.ranks * plan.steps.levels[l].sp;
    if (steps.steps() > 0) out.micro_batches = (std::max)(out.micro_batches, steps.micro_batches);
  }
  require_index<Index>(out.packs.size() + 1, "packs");  // the last number is `none`
  auto const places = static_cast<std::size_t>(out.devices * out.micro_batches);
  out.table.assign(plan.order.size() * places, out.none);
  for (std::size_t i = 0; i < plan.order.size(); ++i) {
    auto const at = plan.order.at(i);
    auto const& steps = plan.steps.steps[at.source];
    out.level.push_back(at.source);
    for (std::uint64_t d = 0; d < out.devices; ++d)
      for (std::uint64_t m = 0; m < steps.micro_batches; ++m)
        if (auto const pack = steps.at(at.index, static_cast<std::size_t>(d / at.setting.sp), static_cast<std::size_t>(m));
            pack != out.none)
          out.table[i * places + static_cast<std::size_t>(d * out.micro_batches + m)] = static_cast<Index>(first[at.source] + pack);
  }
  return out;
}

}  // namespace ballast::inline v0_2
