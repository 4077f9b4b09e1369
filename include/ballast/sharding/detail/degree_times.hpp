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
#include <span>
#include <vector>

// The times of a batch on 1, 2, 4, ... ranks, samples in descending order of length, and bounds from them.

namespace ballast::inline v0_2::detail {

/// Lengths in descending order, and the time of each sample on 1, 2, 4, ... ranks.
struct degree_times {
  static constexpr std::int64_t most = std::int64_t{1} << 62;
  sharding_options options;
  std::size_t levels = 0;            // groups have 1, 2, ..., 2^(levels - 1) ranks
  std::vector<std::size_t> sample;   // index of the sample at each position; equal lengths keep their order
  std::vector<std::int64_t> length;  // at each position
  std::vector<std::int64_t> time;    // of each position, level after level
  std::int64_t tokens = 0;           // of all samples
  std::int64_t whole_time = 0;       // of all samples, each on one rank
  bool monotone = true;              // whether no sample takes less rank-time on more ranks, nor less time than a shorter one

  [[nodiscard]] std::int64_t at(std::size_t i, std::size_t level) const { return time[i * levels + level]; }
  [[nodiscard]] std::int64_t area(std::size_t i, std::size_t level) const { return at(i, level) << level; }
  /// Whether a group of the level may hold the sample: it has room, and no rank is left without a token.
  [[nodiscard]] bool allows(std::size_t i, std::size_t level) const {
    return length[i] <= options.capacity << level && length[i] >= std::int64_t{1} << level;
  }
  /// Whether the longest sample has room on some block.
  [[nodiscard]] bool allows_all() const { return length.empty() || length[0] <= options.capacity << (levels - 1); }
  /// The level of least area on which the sample takes at most `longest`; `levels` if there is none.
  [[nodiscard]] std::size_t cheapest(std::size_t i, std::int64_t longest) const {
    auto best = levels;
    for (std::size_t l = 0; l < levels; ++l)
      if (at(i, l) <= longest && allows(i, l) && (best == levels || area(i, l) < area(i, best))) best = l;
    return best;
  }
  /// Computes the times of one sample, and returns the largest rank-time.
  template <class Cost>
  std::int64_t fill_row(std::size_t i, Cost const& cost) {
    std::int64_t largest = 0;
    for (std::size_t l = 0; l < levels; ++l) {
      auto const value = sample_time(cost, sample[i], length[i], std::uint64_t{1} << l);
      require(value < most >> l, [&] { return sum_too_large(sample[i], length[i]); });
      monotone = monotone && value << l >= largest;
      largest = (std::max)(largest, value << l);
      time[i * levels + l] = value;
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

/// Sorts the samples and computes their times. Throws unless the rank-times of all samples, and the fixed times of passes, are below 2^62
/// together.
template <length_range R, degree_cost_model Cost>
[[nodiscard]] degree_times times_of_degrees(R const& lengths, sharding_options const& o, Cost const& cost) {
  require_valid(o);
  auto const tokens = extent_of(lengths).tokens;
  auto const read = read_by_position(lengths);
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const widest = o.most_ranks_shared == 0 ? o.ranks : (std::min)(o.most_ranks_shared, o.ranks);
  degree_times out;
  out.options = o;
  out.tokens = tokens;
  while (std::uint64_t{1} << out.levels <= widest) ++out.levels;
  auto const levels = out.levels;
  std::vector<keyed_item<std::uint64_t>> order(n), scratch;
  for (std::size_t i = 0; i < n; ++i) order[i] = {static_cast<std::int64_t>(read[i]), i};
  sort_largest_first(order, scratch);
  out.sample.resize(n);
  out.length.resize(n);
  out.time.resize(n * levels);
  std::int64_t left = degree_times::most - 1;
  std::int64_t largest = 0;  // rank-time of the sample, or of the one before it with the same length
  for (std::size_t i = 0; i < n; ++i) {
    auto const length = out.length[i] = order[i].key;
    out.sample[i] = static_cast<std::size_t>(order[i].item);
    auto* const row = out.time.data() + i * levels;
    if (i > 0 && length == out.length[i - 1]) {
      std::copy(row - levels, row, row);
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

/// The positions of all samples.
[[nodiscard]] inline std::vector<std::size_t> all_positions(degree_times const& t) {
  std::vector<std::size_t> samples(t.length.size());
  std::iota(samples.begin(), samples.end(), std::size_t{0});
  return samples;
}

/// A time, beside the fixed time of passes, that all plans by powers of two take: of the longest sample, and of all rank-times and
/// `extra` rank-time against all ranks. `degree_times::most` if a sample fits no group.
[[nodiscard]] inline std::int64_t least_time(degree_times const& t, std::span<std::size_t const> samples, std::int64_t extra = 0) {
  auto const capacity = t.options.capacity;
  std::int64_t longest = 0;
  for (auto const i : samples) {
    auto fastest = degree_times::most;
    for (std::size_t l = 0; l < t.levels; ++l)
      if (t.length[i] <= capacity << l) fastest = (std::min)(fastest, t.at(i, l));
    longest = (std::max)(longest, fastest);
  }
  if (longest == degree_times::most) return longest;
  auto const fits = [&](std::int64_t time) {  // a sample may be shared by more ranks than it has tokens if others are beside it
    auto sum = extra;
    for (auto const i : samples) {
      auto area = degree_times::most;
      for (std::size_t l = 0; l < t.levels; ++l)
        if (t.length[i] <= capacity << l && t.at(i, l) <= time) area = (std::min)(area, t.area(i, l));
      sum += area;
    }
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

/// A lower bound on the time of a batch under the policy of its options, by powers of two.
[[nodiscard]] inline std::int64_t area_bound(degree_times const& t) {
  if (t.length.empty()) return 0;
  auto const& o = t.options;
  auto const ranks = static_cast<std::int64_t>(o.ranks);
  auto const passes = divide_up(std::accumulate(t.length.begin(), t.length.end(), std::int64_t{0}), o.capacity);  // that tokens need
  if (o.execution == execution::lockstep) return least_time(t, all_positions(t)) + divide_up(passes, ranks) * o.cost_per_pass;
  return least_time(t, all_positions(t), (std::max)(passes - ranks, std::int64_t{0}) * o.cost_per_pass) + o.cost_per_pass;
}

}  // namespace ballast::inline v0_2::detail
