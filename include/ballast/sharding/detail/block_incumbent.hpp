// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/sharding/detail/block_state.hpp>
#include <ballast/sharding/detail/degree_times.hpp>
#include <ballast/sharding/detail/group_fit.hpp>
#include <ballast/sharding/detail/homogeneous_passes.hpp>
#include <ballast/sharding/detail/micro_batch_search.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
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
  std::vector<std::uint32_t> pass(fit.groups.size());
  std::size_t first = 0;  // rank
  for (auto const g : fit.widest_first()) {
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

// Groups of 1, 2, 4, ... ranks that stay as they are for a whole batch: machines of different widths, each with passes of its own.

/// Groups, and the pass of each position.
struct fixed_group_plan {
  std::int64_t time = degree_times::most;
  std::vector<std::size_t> level;          // of each group
  std::vector<std::size_t> group_of_pass;  // in the order in which a group runs them
  std::vector<std::size_t> pass_of;        // of each position

  /// The first rank of each group: the widest groups get the first ranks, so that blocks are aligned.
  [[nodiscard]] std::vector<std::size_t> first_ranks() const {
    std::vector<std::size_t> first(level.size());
    std::size_t rank = 0;
    for (auto const g : order_by<std::size_t>(level.size(), [&](std::size_t g) { return -static_cast<int>(level[g]); })) {
      first[g] = rank;
      rank += std::size_t{1} << level[g];
    }
    return first;
  }
};

/// Searches the step time.
class fixed_group_search {
 public:
  explicit fixed_group_search(degree_times const& t) : t_(&t) {}

  /// The best plan that is found, from groups of one size on; none if there are none of one size.
  [[nodiscard]] fixed_group_plan run(std::int64_t lower) {
    fixed_group_plan best = equal_groups();
    auto low = lower;
    for (int probe = 0; probe < 20 && degree_times::most > best.time && best.time - low > low / 1000; ++probe) {
      auto const middle = low + (best.time - 1 - low) / 2;
      if (fits(middle) && now_.time < best.time)
        std::swap(best, now_);
      else
        low = middle + 1;
    }
    return best;
  }

 private:
  struct group {
    std::size_t level;
    std::int64_t load;
    std::vector<std::pair<std::size_t, std::int64_t>> open;  // passes with room for another sample, and their room
  };

  [[nodiscard]] fixed_group_plan equal_groups() const {
    fixed_group_plan out;
    for (std::size_t l = 0; l < t_->levels; ++l) {
      if (!t_->length.empty() && t_->length[0] > t_->options.capacity << l) continue;
      auto const bins = least_loaded_blocks(*t_, l);
      if (bins.status != status::feasible || bins.time >= out.time) continue;
      out = {bins.time, std::vector<std::size_t>(static_cast<std::size_t>(t_->options.ranks >> l), l), bins.block_of, bins.bin_of};
    }
    return out;
  }

  /// Whether the samples, longest first, fit groups that are done at `limit`. A sample goes to the group of its cheapest level or a wider
  /// one where it adds least rank-time, then where least time is left; otherwise a group of that level is opened.
  bool fits(std::int64_t limit) {
    auto const& o = t_->options;
    auto const shortest = t_->length.back();
    groups_.clear();
    now_.group_of_pass.clear();
    now_.pass_of.resize(t_->length.size());
    std::uint64_t used = 0;
    for (std::size_t i = 0; i < t_->length.size(); ++i) {
      auto const level = t_->cheapest(i, limit - o.cost_per_pass);
      if (level == t_->levels) return false;
      auto g = best_group(i, level, limit);
      if (g == groups_.size()) {
        if (used + (std::uint64_t{1} << level) > o.ranks) return false;
        used += std::uint64_t{1} << level;
        groups_.push_back({level, 0, {}});
      }
      auto& into = groups_[g];
      auto at = room_for(into, i);
      if (at == into.open.end()) {
        at = into.open.insert(at, {now_.group_of_pass.size(), o.capacity << into.level});
        now_.group_of_pass.push_back(g);
        into.load += o.cost_per_pass;
      }
      now_.pass_of[i] = at->first;
      into.load += t_->at(i, into.level);
      at->second -= t_->length[i];
      if (at->second < shortest) into.open.erase(at);
    }
    now_.time = 0;
    now_.level.clear();
    for (auto const& g : groups_) {
      now_.time = (std::max)(now_.time, g.load);
      now_.level.push_back(g.level);
    }
    return all_ranks_hold_tokens();
  }
  /// The first open pass of a group with room for a sample.
  [[nodiscard]] auto room_for(group& in, std::size_t i) const -> decltype(in.open.begin()) {
    return std::find_if(in.open.begin(), in.open.end(), [&](auto const& pass) { return pass.second >= t_->length[i]; });
  }
  [[nodiscard]] std::size_t best_group(std::size_t i, std::size_t level, std::int64_t limit) {
    auto best = groups_.size();
    auto least = degree_times::most, left = degree_times::most;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      auto& in = groups_[g];
      if (in.level < level || !t_->allows(i, in.level)) continue;
      auto const time = t_->at(i, in.level) + (room_for(in, i) == in.open.end() ? t_->options.cost_per_pass : 0);
      if (time > limit - in.load) continue;
      auto const area = time << in.level, rest = limit - in.load - time;
      if (area > least || (area == least && rest >= left)) continue;
      least = area;
      left = rest;
      best = g;
    }
    return best;
  }
  [[nodiscard]] bool all_ranks_hold_tokens() const {
    std::vector<std::int64_t> tokens(now_.group_of_pass.size(), 0);
    for (std::size_t i = 0; i < t_->length.size(); ++i) tokens[now_.pass_of[i]] += t_->length[i];
    for (std::size_t p = 0; p < tokens.size(); ++p)
      if (tokens[p] < std::int64_t{1} << now_.level[now_.group_of_pass[p]]) return false;
    return true;
  }

  degree_times const* t_;
  std::vector<group> groups_;
  fixed_group_plan now_;
};

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
