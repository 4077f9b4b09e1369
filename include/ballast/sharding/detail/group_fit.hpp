// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/sort.hpp>
#include <ballast/sharding/detail/degree_times.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// One micro-batch in which every rank belongs to at most one group, of 1, 2, 4, ... ranks or of other sizes: groups are bins with two
// resources, tokens and time. Samples are named by their position in descending order of length.

namespace ballast::inline v0_2::detail {

/// A bin: the tokens and the time of its samples, without the fixed time of a pass.
struct sample_bin {
  std::size_t level = 0;
  std::int64_t tokens = 0, time = 0;
};

/// A bin in a queue by time.
struct queued_bin {
  std::int64_t time;
  std::size_t bin;
  friend bool operator<(queued_bin const& a, queued_bin const& b) { return a.time != b.time ? a.time < b.time : a.bin < b.bin; }
};

/// Fills `count` bins of one level: each sample to the bin of least time that has room. Returns whether all fit.
inline bool fill_equal_bins(degree_times const& t, std::span<std::size_t const> samples, std::size_t level, std::size_t count,
                            std::vector<sample_bin>& bins, std::vector<std::size_t>& bin_of, std::vector<queued_bin>& queue) {
  auto const room = t.room(level);
  bins.assign(count, {level, 0, 0});
  bin_of.resize(samples.size());
  queue.clear();
  for (std::size_t g = 0; g < count; ++g) queue.push_back({0, g});
  for (std::size_t j = 0; j < samples.size(); ++j) {
    auto const i = samples[j];
    auto at = queue.begin();
    while (at != queue.end() && bins[at->bin].tokens + t.length[i] > room) ++at;
    if (at == queue.end()) return false;
    auto const g = bin_of[j] = at->bin;
    bins[g].tokens += t.length[i];
    at->time = bins[g].time += t.at(i, level);
    std::rotate(at, at + 1, std::lower_bound(at + 1, queue.end(), *at));
  }
  return true;
}

/// Groups of one micro-batch.
struct group_fit {
  std::vector<sample_bin> groups;
  std::vector<std::size_t> group_of;  // of each sample of the micro-batch
  std::uint64_t ranks = 0;            // used
  std::int64_t time = degree_times::most;

  [[nodiscard]] std::vector<std::size_t> widest_first() const {
    return order_by<std::size_t>(groups.size(), [&](std::size_t g) { return -static_cast<int>(groups[g].level); });
  }
  void clear(std::size_t samples) {
    groups.clear();
    group_of.assign(samples, 0);
    ranks = 0;
    time = degree_times::most;
  }
};

/// Plans one micro-batch; keeps its memory from call to call.
class group_planner {
 public:
  explicit group_planner(degree_times const& t) : t_(&t), open_(t.levels) {}

  /// The best groups that the search finds for the samples at ascending positions; `time` is `degree_times::most` if it finds none.
  /// @param below  a time that the groups must stay below, if not the largest; the search goes on only if one attempt succeeds
  /// @param useful  the search ends where groups of powers of two seem to take this time or more
  group_fit const& plan(std::span<std::size_t const> samples, std::int64_t below = degree_times::most,
                        std::int64_t useful = degree_times::most) {
    best_.clear(samples.size());
    if (samples.empty()) {
      best_.time = 0;
      return best_;
    }
    lower_ = bound(samples);
    auto low = lower_;
    auto const fixed = t_->options.cost_per_pass;
    if (lower_ >= below) return best_;
    for (std::size_t l = 0; l < t_->levels && best_.time > lower_ && below == degree_times::most; ++l)
      if (t_->fills(l) && equal_groups(samples, l)) keep(samples);
    if (best_.time == degree_times::most && best_fit(samples, below == degree_times::most ? below : below - 1 - fixed)) keep(samples);
    for (int probe = 0; probe < 16 && degree_times::most > best_.time && best_.time - low > low / 1000; ++probe) {
      if (low >= useful && !t_->any_sizes()) break;
      auto const middle = low + (best_.time - 1 - low) / 2;
      if (best_fit(samples, middle - fixed))
        keep(samples);
      else
        low = middle + 1;
    }
    if (t_->any_sizes() && best_.time > lower_ && best_.time < degree_times::most) reshape(samples, best_);
    return best_;
  }

  /// Gives the groups the numbers of ranks with which the slowest takes least; they may be on none yet. Sets the time, which is
  /// `degree_times::most` if the ranks do not suffice.
  void reshape(std::span<std::size_t const> samples, group_fit& fit) {
    time_.assign(fit.groups.size() * t_->levels, -1);
    first_.assign(fit.groups.size() + 1, 0);
    for (auto const g : fit.group_of) ++first_[g + 1];
    for (std::size_t g = 0; g < fit.groups.size(); ++g) first_[g + 1] += first_[g];
    of_group_.resize(samples.size());
    auto next = first_;
    for (std::size_t j = 0; j < samples.size(); ++j) of_group_[next[fit.group_of[j]]++] = samples[j];
    auto const fixed = t_->options.cost_per_pass;
    std::int64_t low = 0, area = 0;  // of the samples alone
    for (auto const i : samples) {
      low = (std::max)(low, t_->least[i]);
      area += t_->least_area(i, degree_times::most);
    }
    low = (std::max)(low, area / static_cast<std::int64_t>(t_->options.ranks));
    auto high = fit.time == degree_times::most ? degree_times::most - 1 : fit.time - fixed - 1;
    while (high - low > low / 4096) {
      auto const within = low + (high - low) / 2;
      if (auto const slowest = narrowest(fit, within); slowest < degree_times::most) {
        for (std::size_t g = 0; g < fit.groups.size(); ++g) fit.groups[g].level = level_[g];
        fit.time = slowest + fixed;
        high = slowest - 1;
      } else {
        low = within + 1;
      }
    }
    fit.ranks = 0;
    for (std::size_t g = 0; g < fit.groups.size(); ++g) {
      fit.groups[g].time = time_of(g, fit.groups[g].level);
      fit.ranks += static_cast<std::uint64_t>(t_->width[fit.groups[g].level]);
    }
  }

  /// No groups of these sizes take less for these samples in one pass each.
  [[nodiscard]] std::int64_t bound(std::span<std::size_t const> samples) const {
    return samples.empty() ? 0 : least_time(*t_, samples) + t_->options.cost_per_pass;
  }

 private:
  /// The kept plan is replaced if the current one, with its idle ranks used, takes less.
  void keep(std::span<std::size_t const> samples) {
    widen(samples);
    if (now_.time < best_.time) std::swap(now_, best_);
  }

  /// The slowest group gets the ranks of the next size, while that many are idle and it takes less. Sets the time of the plan.
  void widen(std::span<std::size_t const> samples) {
    auto const& o = t_->options;
    for (;;) {
      std::size_t slowest = 0;
      for (std::size_t g = 1; g < now_.groups.size(); ++g)
        if (now_.groups[g].time > now_.groups[slowest].time) slowest = g;
      auto& group = now_.groups[slowest];
      now_.time = group.time + o.cost_per_pass;
      if (group.level + 1 == t_->levels) return;
      auto const width = t_->width[group.level + 1], more = width - t_->width[group.level];
      if (now_.ranks + static_cast<std::uint64_t>(more) > o.ranks || group.tokens < width) return;
      std::int64_t wider = 0;
      for (std::size_t j = 0; j < samples.size(); ++j)
        if (now_.group_of[j] == slowest) wider += t_->at(samples[j], group.level + 1);
      if (wider >= group.time) return;
      group.time = wider;
      ++group.level;
      now_.ranks += static_cast<std::uint64_t>(more);
    }
  }

  /// The time of a group of `reshape` on a level; kept.
  [[nodiscard]] std::int64_t time_of(std::size_t g, std::size_t level) {
    auto& out = time_[g * t_->levels + level];
    if (out < 0) {
      out = 0;
      for (auto k = first_[g]; k < first_[g + 1]; ++k) out += t_->at(of_group_[k], level);
    }
    return out;
  }
  /// The narrowest levels on which no group takes more than `within`, and the time of the slowest; `degree_times::most` if that is too many
  /// ranks.
  [[nodiscard]] std::int64_t narrowest(group_fit const& fit, std::int64_t within) {
    level_.resize(fit.groups.size());
    std::uint64_t ranks = 0;
    std::int64_t slowest = 0;
    for (std::size_t g = 0; g < fit.groups.size(); ++g) {
      auto const tokens = fit.groups[g].tokens;
      std::size_t level = 0;
      while (level < t_->levels && (tokens > t_->room(level) || time_of(g, level) > within)) ++level;
      if (level == t_->levels || tokens < t_->width[level]) return degree_times::most;
      level_[g] = level;
      ranks += static_cast<std::uint64_t>(t_->width[level]);
      if (ranks > t_->options.ranks) return degree_times::most;
      slowest = (std::max)(slowest, time_of(g, level));
    }
    return slowest;
  }

  /// Groups of equal numbers of ranks: each sample to the group of least time that has room.
  bool equal_groups(std::span<std::size_t const> samples, std::size_t level) {
    now_.clear(samples.size());
    if (!fill_equal_bins(*t_, samples, level, t_->groups_of(level), now_.groups, now_.group_of, queue_)) return false;
    // Groups without samples are dropped. Costs of zero can leave them in the middle.
    std::vector<std::size_t> number(now_.groups.size());
    std::size_t kept = 0;
    for (std::size_t g = 0; g < now_.groups.size(); ++g) {
      number[g] = kept;
      if (now_.groups[g].tokens == 0) continue;
      if (now_.groups[g].tokens < t_->width[level]) return false;
      now_.groups[kept++] = now_.groups[g];
    }
    now_.groups.resize(kept);
    for (auto& g : now_.group_of) g = number[g];
    now_.ranks = kept * static_cast<std::uint64_t>(t_->width[level]);
    return true;
  }

  /// Whether the samples fit groups that take at most `longest` without the fixed time. A sample goes where its area grows least, then
  /// where least time is left, among the groups of its cheapest level and wider ones, narrow ones first; a new group has that level.
  bool best_fit(std::span<std::size_t const> samples, std::int64_t longest) {
    now_.clear(samples.size());
    auto const& o = t_->options;
    for (auto const l : used_) open_[l].clear();  // groups of each level by the time that is left, ascending
    used_.clear();
    auto const shortest = t_->length[samples.back()];
    for (std::size_t j = 0; j < samples.size(); ++j) {
      auto const i = samples[j];
      auto const level = t_->cheapest(i, longest);
      if (level == t_->levels) return false;
      auto best = t_->levels;
      std::size_t place = 0;
      for (auto const l : used_) {
        if (l < level || (best < t_->levels && t_->area(i, l) >= t_->area(i, best))) continue;
        auto const& queue = open_[l];
        auto at = static_cast<std::size_t>(std::lower_bound(queue.begin(), queue.end(), queued_bin{t_->at(i, l), 0}) - queue.begin());
        while (at < queue.size() && now_.groups[queue[at].bin].tokens + t_->length[i] > t_->room(l)) ++at;
        if (at == queue.size()) continue;
        best = l;
        place = at;
      }
      if (best == t_->levels) {
        auto const width = static_cast<std::uint64_t>(t_->width[level]);
        if (now_.ranks + width > o.ranks) return false;
        now_.ranks += width;
        now_.groups.push_back({level, 0, 0});
        best = level;
        place = open_[level].size();
        if (auto const at = std::lower_bound(used_.begin(), used_.end(), level); at == used_.end() || *at != level) used_.insert(at, level);
        open_[level].push_back({longest, now_.groups.size() - 1});
      }
      auto& queue = open_[best];
      auto const g = now_.group_of[j] = queue[place].bin;
      now_.groups[g].tokens += t_->length[i];
      now_.groups[g].time += t_->at(i, best);
      auto const at = queue.begin() + static_cast<std::ptrdiff_t>(place);
      at->time -= t_->at(i, best);
      if (now_.groups[g].tokens + shortest > t_->room(best))
        queue.erase(at);
      else
        std::rotate(std::lower_bound(queue.begin(), at, *at), at, at + 1);
    }
    return true;
  }

  degree_times const* t_;
  std::vector<std::vector<queued_bin>> open_;  // of each level
  std::vector<queued_bin> queue_;
  std::vector<std::size_t> used_;  // levels that have groups, ascending
  std::int64_t lower_ = 0;
  std::vector<std::int64_t> time_;                     // of each group and level, -1 until it is asked for
  std::vector<std::size_t> first_, of_group_, level_;  // samples of each group behind each other, and levels that `narrowest` found
  group_fit now_, best_;
};

}  // namespace ballast::inline v0_2::detail
