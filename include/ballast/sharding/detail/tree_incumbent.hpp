// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/sharding/detail/degree_times.hpp>
#include <ballast/sharding/detail/group_fit.hpp>
#include <ballast/sharding/detail/homogeneous_passes.hpp>
#include <ballast/sharding/detail/tree_state.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

// Plans of simpler planners, so that the search on the step time never loses to them.

namespace ballast::inline v0_2::detail {

/// The best plan of one degree for all samples, each on the block of least load, if one can be faster than `best`.
[[nodiscard]] inline block_plan homogeneous_plan(degree_times const& t, std::int64_t best) {
  block_plan plan;
  auto const n = t.length.size();
  for (std::size_t l = 0; l < t.levels; ++l) {
    auto const blocks = static_cast<std::int64_t>(t.options.ranks >> l);
    if (t.length[0] > t.options.capacity << l) continue;
    std::int64_t time = divide_up(t.tokens, t.options.capacity << l) * t.options.cost_per_pass;
    for (std::size_t i = 0; i < n; ++i) time += t.at(i, l);
    if (divide_up(time, blocks) >= (std::min)(best, plan.value)) continue;
    auto const bins = least_loaded_blocks(t, l);
    if (bins.status != status::feasible || bins.time >= plan.value) continue;
    plan.clear();
    plan.value = bins.time;
    for (auto const b : bins.block_of) plan.passes.push_back({static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(l), 0});
    for (std::size_t i = 0; i < n; ++i)
      plan.placements.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(bins.bin_of[i])});
  }
  return plan;
}

/// One pass on each rank, in groups of several degrees, if the batch is that small.
[[nodiscard]] inline block_plan one_pass_plan(degree_times const& t) {
  block_plan plan;
  if (t.tokens > t.options.capacity * static_cast<std::int64_t>(t.options.ranks)) return plan;
  group_planner planner(t);
  auto const& fit = planner.plan(all_positions(t));
  if (fit.time >= degree_times::most) return plan;
  plan.value = fit.time;
  std::vector<std::uint32_t> order(fit.groups.size()), pass(fit.groups.size());
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return fit.groups[a].level != fit.groups[b].level ? fit.groups[a].level > fit.groups[b].level : a < b; });
  std::size_t first = 0;  // rank; blocks are aligned if the widest come first
  for (auto const g : order) {
    auto const level = fit.groups[g].level;
    pass[g] = static_cast<std::uint32_t>(plan.passes.size());
    plan.passes.push_back({static_cast<std::uint32_t>(first >> level), static_cast<std::uint32_t>(level), 0});
    first += std::size_t{1} << level;
  }
  for (std::size_t i = 0; i < fit.group_of.size(); ++i) plan.placements.push_back({static_cast<std::uint32_t>(i), pass[fit.group_of[i]]});
  return plan;
}

}  // namespace ballast::inline v0_2::detail
