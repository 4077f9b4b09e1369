// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/sharding/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

// The times of a batch on groups of several sizes, samples in descending order of length, and bounds from them.

namespace ballast::inline v0_2::detail {

/// Lengths in descending order, and the time of each sample on groups of 1, 2, 4, ... ranks or of other sizes: the levels.
struct degree_times {
  static constexpr std::int64_t most = std::int64_t{1} << 62;
  sharding_options options;
  std::size_t levels = 0;            // numbers of ranks that groups may have
  std::vector<std::int64_t> width;   // ranks of a group of each level, ascending from 1 on
  std::vector<std::size_t> sample;   // index of the sample at each position; equal lengths keep their order
  std::vector<std::int64_t> length;  // at each position
  std::vector<std::int64_t> time;    // of each position, level after level
  std::vector<std::int64_t> least;   // of each position: its least time on groups with room, `most` if there are none
  std::vector<std::size_t> thrifty;  // of each position: the level of least rank-time with room, `levels` if there is none
  std::int64_t tokens = 0;           // of all samples
  std::int64_t whole_time = 0;       // of all samples, each on one rank
  bool by_length = true;             // whether samples of one length take the same times
  bool monotone = true;              // whether no sample takes less rank-time on more ranks, nor less time than a shorter one

  [[nodiscard]] std::int64_t at(std::size_t i, std::size_t level) const { return time[i * levels + level]; }
  [[nodiscard]] std::int64_t area(std::size_t i, std::size_t level) const { return at(i, level) * width[level]; }
  /// Tokens of a pass of a group.
  [[nodiscard]] std::int64_t room(std::size_t level) const { return options.capacity * width[level]; }
  /// Groups of the level beside each other.
  [[nodiscard]] std::size_t groups_of(std::size_t level) const {
    return static_cast<std::size_t>(options.ranks / static_cast<std::uint64_t>(width[level]));
  }
  /// Whether a group of the level may hold the sample: it has room, and no rank is left without a token.
  [[nodiscard]] bool allows(std::size_t i, std::size_t level) const { return length[i] <= room(level) && length[i] >= width[level]; }
  /// Whether groups may have sizes that are no powers of two.
  [[nodiscard]] bool any_sizes() const { return levels > 2 && width[2] == 3; }
  /// Whether groups of the level are the widest of their number, or narrow.
  [[nodiscard]] bool fills(std::size_t level) const {
    return width[level] <= 16 || level + 1 == levels || groups_of(level) > groups_of(level + 1);
  }
  /// Whether the longest sample has room on some group.
  [[nodiscard]] bool allows_all() const { return length.empty() || length[0] <= room(levels - 1); }
  /// The level of least area on which the sample takes at most `longest`; `levels` if there is none.
  [[nodiscard]] std::size_t cheapest(std::size_t i, std::int64_t longest) const {
    if (auto const l = thrifty[i]; l < levels && at(i, l) <= longest && allows(i, l)) return l;
    auto best = levels;
    for (std::size_t l = 0; l < levels; ++l)
      if (at(i, l) <= longest && allows(i, l) && (best == levels || area(i, l) < area(i, best))) best = l;
    return best;
  }
  /// The least rank-time of the sample within a time on groups with room; `most` if there are none.
  [[nodiscard]] std::int64_t least_area(std::size_t i, std::int64_t within) const {
    if (auto const l = thrifty[i]; l < levels && at(i, l) <= within) return area(i, l);
    auto out = most;
    for (std::size_t l = 0; l < levels; ++l)
      if (length[i] <= room(l) && at(i, l) <= within) out = (std::min)(out, area(i, l));
    return out;
  }
  /// Computes the times of one sample, and returns the largest rank-time.
  template <class Cost>
  std::int64_t fill_row(std::size_t i, Cost const& cost) {
    std::int64_t largest = 0;
    least[i] = most;
    thrifty[i] = levels;
    for (std::size_t l = 0; l < levels; ++l) {
      auto const value = sample_time(cost, sample[i], length[i], static_cast<std::uint64_t>(width[l]));
      require(value <= (most - 1) / width[l], [&] { return sum_too_large(sample[i], length[i]); });
      monotone = monotone && value * width[l] >= largest;
      largest = (std::max)(largest, value * width[l]);
      time[i * levels + l] = value;
      if (length[i] > room(l)) continue;
      least[i] = (std::min)(least[i], value);
      if (thrifty[i] == levels || area(i, l) < area(i, thrifty[i])) thrifty[i] = l;
    }
    return largest;
  }
  /// The level on which the sample takes least time; the smaller one of two.
  [[nodiscard]] std::size_t quickest(std::size_t i) const {
    auto best = levels;
    for (std::size_t l = 0; l < levels; ++l)
      if (allows(i, l) && (best == levels || at(i, l) < at(i, best))) best = l;
    return best;
  }
};

/// 1, 2, 4, ... ranks, as many as may share a sample.
[[nodiscard]] inline std::vector<std::int64_t> powers_of_two(sharding_options const& o) {
  std::vector<std::int64_t> out;
  for (std::uint64_t w = 1; w <= widest_group(o); w *= 2) out.push_back(static_cast<std::int64_t>(w));
  return out;
}
/// Numbers of ranks that divide all.
[[nodiscard]] inline std::vector<std::int64_t> divisors(sharding_options const& o) {
  std::vector<std::int64_t> out;
  for (std::uint64_t w = 1; w <= widest_group(o); ++w)
    if (o.ranks % w == 0) out.push_back(static_cast<std::int64_t>(w));
  return out;
}
/// All numbers of ranks.
[[nodiscard]] inline std::vector<std::int64_t> all_sizes(sharding_options const& o) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(widest_group(o)));
  std::iota(out.begin(), out.end(), std::int64_t{1});
  return out;
}

/// Sorts the samples and computes their times. Throws unless the rank-times of all samples, and the fixed times of passes, are below 2^62
/// together.
template <length_range R, shard_cost_model Cost>
[[nodiscard]] degree_times times_of_degrees(R const& lengths, sharding_options const& o, Cost const& cost,
                                            std::vector<std::int64_t> widths) {
  auto const tokens = extent_of(lengths).tokens;
  auto const read = read_by_position(lengths);
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  degree_times out;
  out.options = o;
  out.by_length = !sample_degree_cost_model<Cost>;
  out.tokens = tokens;
  out.width = std::move(widths);
  auto const levels = out.levels = out.width.size();
  std::vector<keyed_item<std::uint64_t>> order(n), scratch;
  for (std::size_t i = 0; i < n; ++i) order[i] = {static_cast<std::int64_t>(read[i]), i};
  sort_largest_first(order, scratch);
  out.sample.resize(n);
  out.length.resize(n);
  out.time.resize(n * levels);
  out.least.resize(n);
  out.thrifty.resize(n);
  std::int64_t left = degree_times::most - 1;
  std::int64_t largest = 0;  // rank-time of the sample, or of the one before it with the same length
  for (std::size_t i = 0; i < n; ++i) {
    auto const length = out.length[i] = order[i].key;
    out.sample[i] = static_cast<std::size_t>(order[i].item);
    auto* const row = out.time.data() + i * levels;
    if (i > 0 && out.by_length && length == out.length[i - 1]) {
      std::copy(row - levels, row, row);
      out.least[i] = out.least[i - 1];
      out.thrifty[i] = out.thrifty[i - 1];
    } else {
      largest = out.fill_row(i, cost);
      for (std::size_t l = 0; l < levels && i > 0; ++l) out.monotone = out.monotone && row[l] <= (row - levels)[l];
    }
    require(largest <= left, [&] { return sum_too_large(out.sample[i], length); });
    left -= largest;
    out.whole_time += row[0];
  }
  // No plan worth making has more passes than samples on every rank, or than its tokens need.
  auto const passes = (std::max)(static_cast<std::int64_t>(n), divide_up(tokens, o.capacity));
  require(passes == 0 || o.cost_per_pass <= left / passes,
          [&] { return sentence("cost_per_pass = ", o.cost_per_pass, " brings the sum of times to 2^62 or more"); });
  return out;
}

/// The same for groups of 1, 2, 4, ... ranks.
template <length_range R, shard_cost_model Cost>
[[nodiscard]] degree_times times_of_degrees(R const& lengths, sharding_options const& o, Cost const& cost) {
  require_valid(o);
  return times_of_degrees(lengths, o, cost, powers_of_two(o));
}
/// The positions of all samples.
[[nodiscard]] inline std::vector<std::size_t> all_positions(degree_times const& t) {
  std::vector<std::size_t> samples(t.length.size());
  std::iota(samples.begin(), samples.end(), std::size_t{0});
  return samples;
}

/// A time, beside the fixed time of passes, that all plans on groups of these sizes take: of the longest sample, and of all rank-times and
/// `extra` rank-time against all ranks. `degree_times::most` if a sample fits no group.
[[nodiscard]] inline std::int64_t least_time(degree_times const& t, std::span<std::size_t const> samples, std::int64_t extra = 0) {
  std::int64_t longest = 0;
  for (auto const i : samples) longest = (std::max)(longest, t.least[i]);
  if (longest == degree_times::most) return longest;
  auto const fits = [&](std::int64_t time) {  // a sample may be shared by more ranks than it has tokens if others are beside it
    auto sum = extra;
    for (auto const i : samples) sum += t.least_area(i, time);
    return divide_up(sum, static_cast<std::int64_t>(t.options.ranks)) <= time;
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
  return low;
}

}  // namespace ballast::inline v0_2::detail
