// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/sharding/detail/block_state.hpp>
#include <ballast/sharding/detail/degree_times.hpp>
#include <ballast/sharding/detail/group_fit.hpp>
#include <ballast/sharding/detail/homogeneous_passes.hpp>
#include <ballast/sharding/detail/micro_batch_search.hpp>
#include <ballast/sharding/make_shards.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

// Plans on runs of neighbouring ranks by simpler planners, so that a search on the step time never loses to them. Groups have the sizes of
// the times, 1, 2, 4, ... or any.

namespace ballast::inline v0_2::detail {

/// A pass on neighbouring ranks.
struct run_pass {
  std::uint32_t first, width;
};
/// Passes in the order in which they start, and the pass of each position.
struct run_plan {
  std::vector<run_pass> passes;
  std::vector<std::uint32_t> pass_of;
  std::int64_t value = block_plan::none;
};

/// The passes of the runs.
template <index_type Index>
[[nodiscard]] pass_list<Index> passes_of_runs(degree_times const& t, run_plan const& plan) {
  pass_list<Index> out;
  std::vector<std::uint32_t> all(static_cast<std::size_t>(t.options.ranks));
  std::iota(all.begin(), all.end(), std::uint32_t{0});
  for (auto const& p : plan.passes) out.ranks.push_back(std::span(all).subspan(p.first, p.width));
  out.placements.reserve(plan.pass_of.size());
  for (std::size_t i = 0; i < plan.pass_of.size(); ++i)
    out.placements.push_back({.sample = static_cast<Index>(t.sample[i]), .pass = plan.pass_of[i]});
  return out;
}

/// Sets the value: each pass starts when all of its ranks are free, in the given order or the widest first, whichever is done earlier.
inline void settle(run_plan& plan, degree_times const& t) {
  std::vector<std::size_t> level;
  level.reserve(plan.passes.size());
  for (auto const& p : plan.passes)
    level.push_back(static_cast<std::size_t>(std::lower_bound(t.width.begin(), t.width.end(), std::int64_t{p.width}) - t.width.begin()));
  std::vector<std::int64_t> time(plan.passes.size(), t.options.cost_per_pass), load;
  for (std::size_t i = 0; i < plan.pass_of.size(); ++i) time[plan.pass_of[i]] += t.at(i, level[plan.pass_of[i]]);
  auto const done = [&](std::vector<std::uint32_t> const& order) {
    load.assign(static_cast<std::size_t>(t.options.ranks), 0);
    for (auto const p : order) {
      auto const from = load.begin() + static_cast<std::ptrdiff_t>(plan.passes[p].first);
      auto const end = *std::max_element(from, from + static_cast<std::ptrdiff_t>(plan.passes[p].width)) + time[p];
      std::fill_n(from, plan.passes[p].width, end);
    }
    return *std::max_element(load.begin(), load.end());
  };
  std::vector<std::uint32_t> given(plan.passes.size()), number(plan.passes.size());
  std::iota(given.begin(), given.end(), std::uint32_t{0});
  plan.value = done(given);
  auto const widest =
      order_by<std::uint32_t>(plan.passes.size(), [&](std::uint32_t p) { return -static_cast<std::int64_t>(plan.passes[p].width); });
  auto const value = done(widest);
  if (value >= plan.value) return;
  auto const before = plan.passes;
  for (std::uint32_t k = 0; k < widest.size(); ++k) {
    plan.passes[k] = before[widest[k]];
    number[widest[k]] = k;
  }
  for (auto& p : plan.pass_of) p = number[p];
  plan.value = value;
}

/// Whether each rank of each bin has a token.
[[nodiscard]] inline bool all_ranks_hold_tokens(degree_times const& t, bin_list const& bins) {
  std::vector<std::int64_t> tokens(bins.block_of.size(), 0);
  for (std::size_t i = 0; i < bins.bin_of.size(); ++i) tokens[bins.bin_of[i]] += t.length[i];
  return std::all_of(tokens.begin(), tokens.end(), [&](std::int64_t held) { return held >= t.width[bins.level]; });
}

/// The best plan of one size for all samples, if one can be faster than `best`: each on the group of least load, or bins by tokens.
/// @param swaps  whether plans are improved by swaps
[[nodiscard]] inline run_plan equal_runs(degree_times const& t, std::int64_t best, bool swaps) {
  run_plan plan;
  auto const n = t.length.size();
  for (std::size_t l = 0; l < t.levels; ++l) {
    if (t.length[0] > t.room(l)) continue;
    std::int64_t time = divide_up(t.tokens, t.room(l)) * t.options.cost_per_pass;
    for (std::size_t i = 0; i < n; ++i) time += t.at(i, l);
    if (divide_up(time, static_cast<std::int64_t>(t.groups_of(l))) >= (std::min)(best, plan.value)) continue;
    for (auto bins : {least_loaded_blocks(t, l), balanced_token_bins(t, l)}) {
      if (bins.status != status::feasible) continue;
      if (swaps && bins.time / 20 * 19 < (std::min)(best, plan.value)) {
        auto swapped = bins;
        block_exchange(t, swapped).run(64, 0);
        if (all_ranks_hold_tokens(t, swapped)) bins = std::move(swapped);
      }
      if (bins.time >= plan.value) continue;
      plan = {.passes = {}, .pass_of = {bins.bin_of.begin(), bins.bin_of.end()}, .value = bins.time};
      auto const width = static_cast<std::uint32_t>(t.width[l]);
      for (auto const b : bins.block_of) plan.passes.push_back({static_cast<std::uint32_t>(b) * width, width});
    }
  }
  return plan;
}

/// Adds the groups of a micro-batch, the widest on the first ranks, so that powers of two are aligned. `samples` are the positions of its
/// samples.
inline void add_groups(run_plan& plan, degree_times const& t, std::vector<std::size_t> const& samples, group_fit const& fit) {
  std::vector<std::uint32_t> pass(fit.groups.size());
  std::uint32_t first = 0;  // rank
  for (auto const g : fit.widest_first()) {
    pass[g] = static_cast<std::uint32_t>(plan.passes.size());
    plan.passes.push_back({first, static_cast<std::uint32_t>(t.width[fit.groups[g].level])});
    first += plan.passes.back().width;
  }
  plan.pass_of.resize(t.length.size());
  for (std::size_t j = 0; j < fit.group_of.size(); ++j) plan.pass_of[samples[j]] = pass[fit.group_of[j]];
}

/// One pass on each rank, in groups of several sizes, if the batch is that small.
[[nodiscard]] inline run_plan one_pass_runs(degree_times const& t) {
  run_plan plan;
  if (t.tokens > t.options.capacity * static_cast<std::int64_t>(t.options.ranks)) return plan;
  group_planner planner(t);
  auto const samples = all_positions(t);
  auto const& fit = planner.plan(samples);
  if (fit.time >= degree_times::most) return plan;
  add_groups(plan, t, samples, fit);
  plan.value = fit.time;
  return plan;
}

/// The micro-batches of a schedule in lockstep, without its waits.
[[nodiscard]] inline run_plan without_waits(degree_times const& t, micro_batch_search const& search) {
  run_plan plan;
  if (search.best.empty()) return plan;
  for (std::size_t m = 0; m < search.best.size(); ++m) add_groups(plan, t, search.best[m], search.fits[m]);
  settle(plan, t);
  return plan;
}
/// Those of `lockstep_shards`.
[[nodiscard]] inline run_plan lockstep_runs(degree_times t, std::uint64_t counts) {
  t.options.execution = execution::lockstep;
  return without_waits(t, search_lockstep(t, best_homogeneous(t).time, counts));
}
/// The best of all rounds, which may end with all that is left in one micro-batch.
[[nodiscard]] inline run_plan all_round_runs(degree_times const& t, std::int64_t rest_at_once) {
  micro_batch_search search(t);
  search.rest_at_once = rest_at_once;
  search.run_all_rounds(degree_times::most);
  return without_waits(t, search);
}
/// Those of its rounds, if they take less than `limit` with their waits. @param slack  as that of `run_rounds`
/// @param rest_at_once  most micro-batches with all that is left at which rounds may end
[[nodiscard]] inline run_plan round_runs(degree_times const& t, std::int64_t limit, std::int64_t slack = 20,
                                         std::int64_t rest_at_once = 0) {
  micro_batch_search search(t);
  search.rest_at_once = rest_at_once;
  search.run_rounds(limit, slack);
  return without_waits(t, search);
}

// Groups that stay as they are for a whole batch: machines of different widths, each with passes of its own.

/// Groups, and the pass of each position.
struct fixed_group_plan {
  std::int64_t time = degree_times::most;
  std::vector<std::size_t> level;          // of each group
  std::vector<std::size_t> group_of_pass;  // in the order in which a group runs them
  std::vector<std::size_t> pass_of;        // of each position

  /// The first rank of each group: the widest groups get the first ranks, so that powers of two are aligned.
  [[nodiscard]] std::vector<std::uint32_t> first_ranks(degree_times const& t) const {
    std::vector<std::uint32_t> first(level.size());
    std::uint32_t rank = 0;
    for (auto const g : order_by<std::size_t>(level.size(), [&](std::size_t g) { return -static_cast<int>(level[g]); })) {
      first[g] = rank;
      rank += static_cast<std::uint32_t>(t.width[level[g]]);
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
  /// Groups of these levels: each sample, longest first, on the one that is done with it earliest. No time if one has room on none.
  [[nodiscard]] fixed_group_plan earliest_done(std::vector<std::size_t> const& levels) {
    start();
    for (auto const l : levels) groups_.push_back({l, 0, {}});
    for (std::size_t i = 0; i < t_->length.size(); ++i) {
      auto best = groups_.size();
      auto done = degree_times::most;
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        auto& in = groups_[g];
        if (!t_->allows(i, in.level)) continue;
        auto const end = in.load + t_->at(i, in.level) + (room_for(in, i) == in.open.end() ? t_->options.cost_per_pass : 0);
        if (end >= done) continue;
        done = end;
        best = g;
      }
      if (best == groups_.size()) return {};
      put(i, best);
    }
    return finish() ? now_ : fixed_group_plan{};
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
      if (!t_->length.empty() && t_->length[0] > t_->room(l)) continue;
      auto const bins = least_loaded_blocks(*t_, l);
      if (bins.status != status::feasible || bins.time >= out.time) continue;
      out = {bins.time, std::vector<std::size_t>(t_->groups_of(l), l), bins.block_of, bins.bin_of};
    }
    return out;
  }

  void start() {
    groups_.clear();
    now_.group_of_pass.clear();
    now_.pass_of.resize(t_->length.size());
  }
  /// Whether the samples, longest first, fit groups that are done at `limit`. A sample goes to the group of its cheapest level or a wider
  /// one where it adds least rank-time, then where least time is left; otherwise a group of that level is opened.
  bool fits(std::int64_t limit) {
    auto const& o = t_->options;
    start();
    std::uint64_t used = 0;
    for (std::size_t i = 0; i < t_->length.size(); ++i) {
      auto const level = t_->cheapest(i, limit - o.cost_per_pass);
      if (level == t_->levels) return false;
      auto const g = best_group(i, level, limit);
      if (g == groups_.size()) {
        auto const width = static_cast<std::uint64_t>(t_->width[level]);
        if (used + width > o.ranks) return false;
        used += width;
        groups_.push_back({level, 0, {}});
      }
      put(i, g);
    }
    return finish();
  }
  /// The sample into the first open pass of a group with room, or a new one.
  void put(std::size_t i, std::size_t g) {
    auto& into = groups_[g];
    auto at = room_for(into, i);
    if (at == into.open.end()) {
      at = into.open.insert(at, {now_.group_of_pass.size(), t_->room(into.level)});
      now_.group_of_pass.push_back(g);
      into.load += t_->options.cost_per_pass;
    }
    now_.pass_of[i] = at->first;
    into.load += t_->at(i, into.level);
    at->second -= t_->length[i];
    if (at->second < t_->length.back()) into.open.erase(at);
  }
  /// Sets the time of the plan. Returns whether each rank of each pass has a token.
  bool finish() {
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
      auto const area = time * t_->width[in.level], rest = limit - in.load - time;
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
      if (tokens[p] < t_->width[now_.level[now_.group_of_pass[p]]]) return false;
    return true;
  }

  degree_times const* t_;
  std::vector<group> groups_;
  fixed_group_plan now_;
};

[[nodiscard]] inline run_plan runs_of_groups(degree_times const& t, fixed_group_plan const& groups) {
  run_plan plan;
  if (groups.time == degree_times::most) return plan;
  plan = {.passes = {}, .pass_of = {groups.pass_of.begin(), groups.pass_of.end()}, .value = groups.time};
  auto const first = groups.first_ranks(t);
  for (auto const g : groups.group_of_pass) plan.passes.push_back({first[g], static_cast<std::uint32_t>(t.width[groups.level[g]])});
  return plan;
}

/// Groups that do not change within the batch.
[[nodiscard]] inline run_plan fixed_runs(degree_times const& t, std::int64_t lower) {
  return runs_of_groups(t, fixed_group_search(t).run(lower));
}

/// The best groups of one size and one of the ranks that are left.
[[nodiscard]] inline run_plan divided_runs(degree_times const& t) {
  fixed_group_search search(t);
  fixed_group_plan best;
  for (std::size_t l = 0; l < t.levels; ++l) {
    if (t.groups_of(l) > 16) continue;
    std::vector<std::size_t> levels(t.groups_of(l), l);
    auto const left = static_cast<std::int64_t>(t.options.ranks) - t.width[l] * static_cast<std::int64_t>(levels.size());
    if (left > 0) levels.push_back(static_cast<std::size_t>(std::upper_bound(t.width.begin(), t.width.end(), left) - t.width.begin()) - 1);
    if (auto now = search.earliest_done(levels); now.time < best.time) best = std::move(now);
  }
  return runs_of_groups(t, best);
}

}  // namespace ballast::inline v0_2::detail
