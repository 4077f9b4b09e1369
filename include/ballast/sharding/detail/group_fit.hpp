// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/sharding/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

// One micro-batch in which every rank belongs to at most one group, of 1, 2, 4, ... ranks: groups are bins with two resources, tokens and
// time. Samples are named by their position in descending order of length.

namespace ballast::inline v0_2::detail {

/// Lengths in descending order, and the time of each sample on 1, 2, 4, ... ranks.
struct degree_times {
  static constexpr std::int64_t most = std::int64_t{1} << 62;
  sharding_options options;
  std::size_t levels = 0;            // groups have 1, 2, ..., 2^(levels - 1) ranks
  std::vector<std::size_t> sample;   // index of the sample at each position; equal lengths keep their order
  std::vector<std::int64_t> length;  // at each position
  std::vector<std::int64_t> time;    // of each position, level after level

  [[nodiscard]] std::int64_t at(std::size_t i, std::size_t level) const { return time[i * levels + level]; }
  [[nodiscard]] std::int64_t area(std::size_t i, std::size_t level) const { return at(i, level) << level; }
  /// Whether a group of the level may hold the sample: it has room, and no rank is left without a token.
  [[nodiscard]] bool allows(std::size_t i, std::size_t level) const {
    return length[i] <= options.capacity << level && length[i] >= std::int64_t{1} << level;
  }
  /// The level of least area on which the sample takes at most `longest`; `levels` if there is none.
  [[nodiscard]] std::size_t cheapest(std::size_t i, std::int64_t longest) const {
    auto best = levels;
    for (std::size_t l = 0; l < levels; ++l)
      if (at(i, l) <= longest && allows(i, l) && (best == levels || area(i, l) < area(i, best))) best = l;
    return best;
  }
};

/// Sorts the samples and computes their times. Throws unless all areas together are below 2^62.
template <length_range R, degree_cost_model Cost>
[[nodiscard]] degree_times times_of_degrees(R const& lengths, sharding_options const& o, Cost const& cost) {
  require_valid(o);
  (void)extent_of(lengths);
  auto const read = read_by_position(lengths);
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const widest = o.most_ranks_shared == 0 ? o.ranks : (std::min)(o.most_ranks_shared, o.ranks);
  degree_times out;
  out.options = o;
  while (std::uint64_t{1} << out.levels <= widest) ++out.levels;
  out.sample.resize(n);
  std::iota(out.sample.begin(), out.sample.end(), std::size_t{0});
  std::sort(out.sample.begin(), out.sample.end(),
            [&](std::size_t a, std::size_t b) { return read[a] != read[b] ? read[a] > read[b] : a < b; });
  out.length.resize(n);
  out.time.resize(n * out.levels);
  std::int64_t left = degree_times::most - 1;
  for (std::size_t i = 0; i < n; ++i) {
    auto const length = out.length[i] = static_cast<std::int64_t>(read[out.sample[i]]);
    std::int64_t largest = 0;
    for (std::size_t l = 0; l < out.levels; ++l) {
      auto const what = [&] { return entry("lengths", out.sample[i], length) + " on " + std::to_string(std::int64_t{1} << l) + " ranks"; };
      if constexpr (requires { cost.fits(length, length); })
        require(cost.fits(length, std::int64_t{1} << l), [&] { return what() + " takes a time of 2^63 or more"; });
      auto const time = static_cast<std::int64_t>(cost(length, std::int64_t{1} << l));
      require(time >= 0, [&] { return what() + " takes a negative time"; });
      require(time <= left >> l, [&] { return what() + " brings the sum of times to 2^62 or more"; });
      largest = (std::max)(largest, time << l);
      out.time[i * out.levels + l] = time;
    }
    left -= largest;
  }
  require(o.cost_per_pass <= left / static_cast<std::int64_t>((std::max)(n, std::size_t{1})),
          [&] { return "cost_per_pass = " + std::to_string(o.cost_per_pass) + " brings the sum of times to 2^62 or more"; });
  return out;
}

/// Groups of one micro-batch.
struct group_fit {
  struct group {
    std::size_t level = 0;
    std::int64_t tokens = 0, time = 0;  // the time without the fixed time of a pass
  };
  std::vector<group> groups;
  std::vector<std::size_t> group_of;  // of each sample of the micro-batch
  std::uint64_t ranks = 0;            // used
  std::int64_t time = degree_times::most;

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
  explicit group_planner(degree_times const& t) : t_(&t) {}

  /// The best groups that the search finds for the samples at ascending positions; `time` is `degree_times::most` if it finds none.
  group_fit const& plan(std::span<std::size_t const> samples) {
    best_.clear(samples.size());
    if (samples.empty()) {
      best_.time = 0;
      return best_;
    }
    lower_ = bound(samples);
    for (std::size_t l = 0; l < t_->levels && best_.time > lower_; ++l)
      if (equal_groups(samples, l)) keep(samples);
    auto low = lower_;
    auto const fixed = t_->options.cost_per_pass;
    if (best_.time == degree_times::most && best_fit(samples, degree_times::most)) keep(samples);
    for (int probe = 0; probe < 16 && low < best_.time && best_.time < degree_times::most; ++probe) {
      auto const middle = low + (best_.time - 1 - low) / 2;
      if (best_fit(samples, middle - fixed))
        keep(samples);
      else
        low = middle + 1;
    }
    return best_;
  }

  /// No groups of powers of two take less for these samples in one pass each: the longest sample, and the areas against all ranks.
  [[nodiscard]] std::int64_t bound(std::span<std::size_t const> samples) const {
    if (samples.empty()) return 0;
    auto const& o = t_->options;
    std::int64_t longest = 0;
    for (auto const i : samples) {
      auto fastest = degree_times::most;
      for (std::size_t l = 0; l < t_->levels; ++l)
        if (t_->length[i] <= o.capacity << l) fastest = (std::min)(fastest, t_->at(i, l));
      longest = (std::max)(longest, fastest);
    }
    if (longest == degree_times::most) return longest;
    auto const fits = [&](std::int64_t time) {  // a sample may be shared by more ranks than it has tokens if others are beside it
      std::int64_t sum = 0;
      for (auto const i : samples) {
        auto area = degree_times::most;
        for (std::size_t l = 0; l < t_->levels; ++l)
          if (t_->length[i] <= o.capacity << l && t_->at(i, l) <= time) area = (std::min)(area, t_->area(i, l));
        sum += area;
      }
      return divide_up(sum, static_cast<std::int64_t>(o.ranks)) <= time;
    };
    auto low = longest, high = longest;  // all times below `low` are too short
    for (int step = 0; step < 62 && !fits(high); ++step) {
      low = high + 1;
      high = (std::max)(high * 2, std::int64_t{1});
    }
    for (int probe = 0; probe < 12 && low < high; ++probe) {
      auto const middle = low + (high - low) / 2;
      if (fits(middle))
        high = middle;
      else
        low = middle + 1;
    }
    return low + o.cost_per_pass;
  }

 private:
  /// The kept plan is replaced if the current one, with its idle ranks used, takes less.
  void keep(std::span<std::size_t const> samples) {
    widen(samples);
    if (now_.time < best_.time) std::swap(now_, best_);
  }

  /// The slowest group gets as many more ranks as it has, while that many are idle and it takes less. Sets the time of the plan.
  void widen(std::span<std::size_t const> samples) {
    auto const& o = t_->options;
    for (;;) {
      std::size_t slowest = 0;
      for (std::size_t g = 1; g < now_.groups.size(); ++g)
        if (now_.groups[g].time > now_.groups[slowest].time) slowest = g;
      auto& group = now_.groups[slowest];
      now_.time = group.time + o.cost_per_pass;
      auto const width = std::uint64_t{1} << group.level;
      if (now_.ranks + width > o.ranks || group.level + 1 == t_->levels || group.tokens < static_cast<std::int64_t>(2 * width)) return;
      std::int64_t wider = 0;
      for (std::size_t j = 0; j < samples.size(); ++j)
        if (now_.group_of[j] == slowest) wider += t_->at(samples[j], group.level + 1);
      if (wider >= group.time) return;
      group.time = wider;
      ++group.level;
      now_.ranks += width;
    }
  }

  /// Groups of equal numbers of ranks: each sample to the group of least time that has room.
  bool equal_groups(std::span<std::size_t const> samples, std::size_t level) {
    now_.clear(samples.size());
    auto const room = t_->options.capacity << level;
    now_.groups.assign(static_cast<std::size_t>(t_->options.ranks >> level), {level, 0, 0});
    for (std::size_t j = 0; j < samples.size(); ++j) {
      auto const i = samples[j];
      auto best = now_.groups.size();
      for (std::size_t g = 0; g < now_.groups.size(); ++g)
        if (now_.groups[g].tokens + t_->length[i] <= room && (best == now_.groups.size() || now_.groups[g].time < now_.groups[best].time))
          best = g;
      if (best == now_.groups.size()) return false;
      now_.groups[best].tokens += t_->length[i];
      now_.groups[best].time += t_->at(i, level);
      now_.group_of[j] = best;
    }
    // Groups without samples are dropped. Costs of zero can leave them in the middle.
    std::vector<std::size_t> number(now_.groups.size());
    std::size_t kept = 0;
    for (std::size_t g = 0; g < now_.groups.size(); ++g) {
      number[g] = kept;
      if (now_.groups[g].tokens == 0) continue;
      if (now_.groups[g].tokens < std::int64_t{1} << level) return false;
      now_.groups[kept++] = now_.groups[g];
    }
    now_.groups.resize(kept);
    for (auto& g : now_.group_of) g = number[g];
    now_.ranks = static_cast<std::uint64_t>(kept) << level;
    return true;
  }

  /// Whether the samples fit groups that take at most `longest` without the fixed time. A sample goes where its area grows least, then
  /// where least time is left, among the groups of its cheapest level and wider ones; a new group has its cheapest level.
  bool best_fit(std::span<std::size_t const> samples, std::int64_t longest) {
    now_.clear(samples.size());
    auto const& o = t_->options;
    for (std::size_t j = 0; j < samples.size(); ++j) {
      auto const i = samples[j];
      auto const level = t_->cheapest(i, longest);
      if (level == t_->levels) return false;
      auto best = now_.groups.size();
      std::int64_t least_area = 0, least_left = 0;
      for (std::size_t g = 0; g < now_.groups.size(); ++g) {
        auto const& group = now_.groups[g];
        if (group.level < level || group.tokens + t_->length[i] > o.capacity << group.level) continue;
        auto const left = longest - group.time - t_->at(i, group.level), area = t_->area(i, group.level);
        if (left < 0 || (best != now_.groups.size() && (area > least_area || (area == least_area && left >= least_left)))) continue;
        best = g;
        least_area = area;
        least_left = left;
      }
      if (best == now_.groups.size()) {
        if (now_.ranks + (std::uint64_t{1} << level) > o.ranks) return false;
        now_.ranks += std::uint64_t{1} << level;
        now_.groups.push_back({level, 0, 0});
      }
      now_.groups[best].tokens += t_->length[i];
      now_.groups[best].time += t_->at(i, now_.groups[best].level);
      now_.group_of[j] = best;
    }
    return true;
  }

  degree_times const* t_;
  std::int64_t lower_ = 0;
  group_fit now_, best_;
};

}  // namespace ballast::inline v0_2::detail
