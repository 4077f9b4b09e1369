// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/sharding/detail/block_state.hpp>
#include <ballast/sharding/detail/degree_times.hpp>
#include <ballast/sharding/detail/fixed_group_search.hpp>
#include <ballast/sharding/detail/group_fit.hpp>
#include <ballast/sharding/detail/homogeneous_passes.hpp>
#include <ballast/sharding/detail/micro_batch_search.hpp>

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

/// Adds the groups of a micro-batch, the widest on the first ranks, so that blocks are aligned. `samples` are the positions of its samples.
inline void add_groups(block_plan& plan, std::vector<std::size_t> const& samples, group_fit const& fit) {
  std::vector<std::uint32_t> order(fit.groups.size()), pass(fit.groups.size());
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return fit.groups[a].level != fit.groups[b].level ? fit.groups[a].level > fit.groups[b].level : a < b; });
  std::size_t first = 0;  // rank
  for (auto const g : order) {
    auto const level = fit.groups[g].level;
    pass[g] = static_cast<std::uint32_t>(plan.passes.size());
    plan.passes.push_back({static_cast<std::uint32_t>(first >> level), static_cast<std::uint32_t>(level), 0});
    first += std::size_t{1} << level;
  }
  for (std::size_t j = 0; j < fit.group_of.size(); ++j)
    plan.placements.push_back({static_cast<std::uint32_t>(samples[j]), pass[fit.group_of[j]]});
}

/// One pass on each rank, in groups of several degrees, if the batch is that small.
[[nodiscard]] inline block_plan one_pass_plan(degree_times const& t) {
  block_plan plan;
  if (t.tokens > t.options.capacity * static_cast<std::int64_t>(t.options.ranks)) return plan;
  group_planner planner(t);
  auto const samples = all_positions(t);
  auto const& fit = planner.plan(samples);
  if (fit.time >= degree_times::most) return plan;
  plan.value = fit.time;
  add_groups(plan, samples, fit);
  return plan;
}

/// Groups that do not change within the batch.
[[nodiscard]] inline block_plan fixed_plan(degree_times const& t, std::int64_t lower) {
  block_plan plan;
  auto const groups = fixed_group_search(t).run(lower);
  if (groups.time == degree_times::most) return plan;
  plan.value = groups.time;
  auto const first = groups.first_ranks();
  for (auto const g : groups.group_of_pass)
    plan.passes.push_back({static_cast<std::uint32_t>(first[g] >> groups.level[g]), static_cast<std::uint32_t>(groups.level[g]), 0});
  for (std::size_t i = 0; i < groups.pass_of.size(); ++i)
    plan.placements.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(groups.pass_of[i])});
  return plan;
}

/// The micro-batches of a schedule in lockstep, without its waits.
[[nodiscard]] inline block_plan lockstep_plan(degree_times const& t, std::size_t counts) {
  block_plan plan;
  micro_batch_search search(t);
  search.run(counts);
  if (search.best.empty()) return plan;
  std::vector<std::int64_t> load(static_cast<std::size_t>(t.options.ranks), 0);
  for (std::size_t m = 0; m < search.best.size(); ++m) {
    auto const first = plan.passes.size();
    std::vector<std::int64_t> time(search.fits[m].groups.size(), t.options.cost_per_pass);
    auto const placed = plan.placements.size();
    add_groups(plan, search.best[m], search.fits[m]);
    for (auto k = placed; k < plan.placements.size(); ++k) {
      auto const& p = plan.placements[k];
      time[p.pass - first] += t.at(p.position, plan.passes[p.pass].level);
    }
    for (std::size_t k = 0; k < time.size(); ++k) {
      auto const& pass = plan.passes[first + k];
      for (std::size_t r = std::size_t{pass.block} << pass.level; r < (std::size_t{pass.block} + 1) << pass.level; ++r) load[r] += time[k];
    }
  }
  plan.value = *std::max_element(load.begin(), load.end());
  return plan;
}

}  // namespace ballast::inline v0_2::detail
