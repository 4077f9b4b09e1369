// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/level.hpp>
#include <ballast/core/metrics/step_balance.hpp>
#include <ballast/cost/level_time.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/curriculum/plan_curriculum.hpp>
#include <ballast/levels/pack.hpp>
#include <ballast/levels/steps.hpp>
#include <ballast/packing/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `plan_levels`: an epoch in levels, from packs to the order of its steps, beside the same samples in one level.

namespace ballast::inline v0_2 {

/// @brief The request. Only `devices` has no good default.
struct level_plan_options {
  std::uint64_t devices = 1;        ///< of the run; a level has devices / sp ranks, so sp divides them
  std::uint64_t micro_batches = 1;  ///< of a rank in the level whose steps hold most tokens; other levels have as many as hold the same
  ballast::oversize oversize = ballast::oversize::reject;    ///< of a sample above the longest level; every policy but `own`
  level_fill fill = level_fill::where_it_pays;               ///< whether long packs are filled up from shorter levels
  ballast::left_over left_over = ballast::left_over::split;  ///< what happens to an incomplete last step of a level
  curriculum_options order{.warm_up = 500};                  ///< order of the steps; its seed and epoch are not read
  std::uint64_t seed = 0;                                    ///< any value; another seed is another plan
  std::uint64_t epoch = 0;                                   ///< another epoch is another order
};

/// @brief One way to run the data, in numbers.
struct level_run {
  level_figures figures;            ///< steps, ratios, and the modelled time
  std::uint64_t packs = 0;          ///< packs that stand in steps
  double fill = 0;                  ///< share of their capacity that holds tokens
  std::vector<std::int64_t> loads;  ///< nanoseconds that each device works in each step, in training order: `steps * devices` values
};

/// @brief An epoch in levels, and what it is worth.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct level_plan {
  std::vector<timed_level> levels;  ///< as given
  level_packing<Index> packed;      ///< packs of every level, before they were made into steps
  level_batching<Index> steps;      ///< steps of every level
  curriculum_plan order;            ///< which step of which level comes when
  level_run planned;                ///< this plan
  level_run one_level;              ///< all samples in the longest level, steps of like packs and as many tokens
  level_run naive;                  ///< the same packs in random steps: the baseline of HBP

  /// @brief Modelled time of the naive run over that of the plan; 1 without steps.
  [[nodiscard]] double speedup() const noexcept {
    return planned.figures.seconds > 0 ? naive.figures.seconds / planned.figures.seconds : 1.0;
  }
};

/// @brief What a trainer follows: a plan in levels as one table, read by device.
/// @tparam Index  type of the sample indices and pack numbers
template <index_type Index = std::uint32_t>
struct device_table {
  groups<Index> packs;                                  ///< of all levels, the shortest level first; sample indices
  std::vector<Index> table;                             ///< `steps * devices * micro_batches` pack numbers in training order, or `none`
  std::vector<std::uint32_t> level;                     ///< of each step
  std::uint64_t devices = 1;                            ///< those that share a pack stand side by side: device d is of rank d / sp
  std::uint64_t micro_batches = 1;                      ///< the most of any level; `none` where a level has fewer
  static constexpr Index none = batching<Index>::none;  ///< an empty place; -1 when read as signed
};

namespace detail {

// The model's cost of a sample in units so coarse that the sum over a run of any size stays below 2^63.
[[nodiscard]] inline quadratic_cost step_cost(level_time const& at, std::span<std::int64_t const> lengths) {
  auto const nanoseconds = at(0, token_load(lengths), attention_load(lengths));
  int shift = 0;
  while (nanoseconds >> shift > (std::int64_t{1} << 61) / 1000) ++shift;
  return {.linear = (std::max)(at.per_token >> shift, std::int64_t{1}), .quadratic = at.per_square >> shift};
}

// Packs, fill and loads; `order` lists the steps as (level, step).
template <index_type Index, class Order>
[[nodiscard]] level_run run_of(level_batching<Index> const& plan, Order const& order, std::span<std::int64_t const> lengths,
                               std::span<level_time const> times, std::uint64_t devices) {
  level_run run{.figures = figures_of(plan, lengths, times), .packs = 0, .fill = 0, .loads = {}};
  double room = 0, tokens = 0;
  run.loads.reserve(order.size() * static_cast<std::size_t>(devices));
  for (auto const& [l, s] : order) {
    auto const& steps = plan.steps[l];
    for (std::uint64_t r = 0; r < steps.ranks; ++r) {
      std::int64_t load = 0;
      for (auto const pack : steps.packs_of(s, static_cast<std::size_t>(r))) {
        std::int64_t in_pack = 0, squares = 0;
        for (auto const i : pack) {
          auto const length = lengths[static_cast<std::size_t>(i)];
          in_pack += length;
          squares += length * length;
        }
        load += times[l](1, in_pack, squares) / std::int64_t{plan.levels[l].sp};
        ++run.packs;
        room += static_cast<double>(plan.levels[l].capacity);
        tokens += static_cast<double>(in_pack);
      }
      run.loads.insert(run.loads.end(), plan.levels[l].sp, load);
    }
  }
  run.fill = room > 0 ? tokens / room : 0.0;
  return run;
}

}  // namespace detail

/// @brief Plans an epoch in levels: packs by level, steps of like packs, and their order.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  tokens of each sample
/// @param levels   from `choose_levels`, or others; capacities strictly rising
/// @param o        devices, filling, order, seed
/// @param cost     what a sample costs where packs are made alike: `attention_only` for HBP's steps
/// @return packs, steps, their order, and the modelled time beside that of one level
/// @post every sample stands in a step exactly once, or is named by `packed.set_aside`, or by `dropped` or `repeated` of its level
/// @throws invalid_input as `pack_levels`, `steps_by_level` and `plan_curriculum`
/// @par Complexity
/// O(samples log samples + devices * steps).
/// @par Determinism
/// The plan is a pure function of its arguments; figures are doubles computed from exact sums.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] level_plan<Index> plan_levels(R const& lengths, std::span<timed_level const> levels, level_plan_options const& o,
                                            Cost const& cost) {
  level_plan<Index> out;
  out.levels.assign(levels.begin(), levels.end());
  std::vector<level> settings;
  std::vector<level_time> times;
  for (auto const& [setting, time] : levels) {
    settings.push_back(setting);
    times.push_back(time);
  }
  require(o.micro_batches > 0 && o.micro_batches < std::uint64_t{1} << 20,
          [&] { return "micro_batches = " + std::to_string(o.micro_batches) + " must be in 1 ... 2^20 - 1"; });
  level_batching_options shape{.devices = o.devices, .left_over = o.left_over, .seed = o.seed, .epoch = o.epoch};
  std::int64_t tokens_per_step = 0;  // of every run below
  for (auto const& l : settings) {
    auto const one = detail::shape_of(l, {&l, 1}, shape);  // refuses what is out of range
    auto const tokens = static_cast<std::int64_t>(one.ranks) * l.capacity;
    require(tokens <= (std::int64_t{1} << 61) / static_cast<std::int64_t>(o.micro_batches),
            [&] { return "micro_batches = " + std::to_string(o.micro_batches) + " of " + std::to_string(tokens) + " tokens exceed 2^61"; });
    tokens_per_step = (std::max)(tokens_per_step, tokens * static_cast<std::int64_t>(o.micro_batches));
  }
  shape.tokens_per_step = tokens_per_step;

  out.packed = pack_levels<Index>(lengths, settings, {.oversize = o.oversize, .fill = o.fill, .times = times});
  out.steps = steps_by_level(out.packed, shape, cost);
  std::vector<curriculum_source> sources;
  for (std::size_t i = 0; i < settings.size(); ++i) sources.push_back({.setting = settings[i], .steps = out.steps.steps[i].steps()});
  auto order = o.order;
  order.seed = o.seed;
  order.epoch = o.epoch;
  out.order = plan_curriculum(sources, order);
  using places = std::vector<std::pair<std::size_t, std::size_t>>;
  places in_order;
  for (std::size_t i = 0; i < out.order.size(); ++i) in_order.emplace_back(out.order.source[i], out.order.index[i]);
  out.planned = detail::run_of(out.steps, in_order, out.packed.lengths, times, o.devices);

  auto const longest = std::span(settings).last(1);
  auto const whole = pack_levels<Index>(lengths, longest, {.oversize = o.oversize});
  for (auto const balanced : {true, false}) {
    shape.balanced = balanced;
    auto const steps = steps_by_level(whole, shape, cost);
    places all;
    for (std::size_t s = 0; s < steps.size(); ++s) all.emplace_back(0, s);
    (balanced ? out.one_level : out.naive) = detail::run_of(steps, all, whole.lengths, std::span(times).last(1), o.devices);
  }
  return out;
}

/// @brief Plans an epoch in levels, steps made alike by the time of the longest level.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths  tokens of each sample
/// @param levels   as above
/// @param o        as above
/// @return as above
/// @throws invalid_input as above
/// @par Complexity
/// As above.
/// @par Determinism
/// As above.
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] level_plan<Index> plan_levels(R const& lengths, std::span<timed_level const> levels, level_plan_options const& o) {
  require(!levels.empty(), [] { return std::string("levels is empty"); });
  std::vector<std::int64_t> trained;
  for (auto const length : lengths) trained.push_back((std::min)(static_cast<std::int64_t>(length), levels.back().setting.capacity));
  return plan_levels<Index>(lengths, levels, o, detail::step_cost(levels.back().time, trained));
}

/// @brief Writes a plan as one table.
///
/// @tparam Index  type of the sample indices
/// @param plan  from `plan_levels`
/// @return packs, steps in training order, and the level of each
/// @throws invalid_input if there are more packs than the index type numbers
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
  require(out.packs.size() < static_cast<std::size_t>(out.none),
          [&] { return std::to_string(out.packs.size()) + " packs need a 64-bit index: call with <std::uint64_t>"; });
  auto const row = static_cast<std::size_t>(out.devices * out.micro_batches);
  out.table.assign(plan.order.size() * row, out.none);
  for (std::size_t i = 0; i < plan.order.size(); ++i) {
    auto const at = plan.order.at(i);
    auto const& steps = plan.steps.steps[at.source];
    out.level.push_back(at.source);
    for (std::uint64_t d = 0; d < out.devices; ++d)
      for (std::uint64_t m = 0; m < steps.micro_batches; ++m)
        if (auto const pack = steps.at(at.index, static_cast<std::size_t>(d / at.setting.sp), static_cast<std::size_t>(m));
            pack != out.none)
          out.table[i * row + static_cast<std::size_t>(d * out.micro_batches + m)] = static_cast<Index>(first[at.source] + pack);
  }
  return out;
}

}  // namespace ballast::inline v0_2
