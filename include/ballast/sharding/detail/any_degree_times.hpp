// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/sharding/detail/block_price_bound.hpp>
#include <ballast/sharding/detail/degree_times.hpp>
#include <ballast/sharding/detail/lockstep_bound.hpp>
#include <ballast/sharding/detail/rate_bound.hpp>
#include <ballast/sharding/options.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

// The times of a batch on any number of ranks, samples in descending order of length, and a lower bound from them.

namespace ballast::inline v0_2::detail {

/// Which of the numbers of ranks that are quick enough a sample gets.
enum class degree_rule : std::uint8_t {
  cheapest,       // that of least rank-time, of the sizes that are worth trying
  fewest,         // the fewest, of those sizes
  fewest_of_all,  // the fewest
};

/// The times on one rank are kept; those on several ranks are computed when they are asked for.
template <shard_cost_model Cost>
class any_degree_times {
 public:
  template <length_range R>
  any_degree_times(R const& lengths, sharding_options const& o, Cost const& cost)
      : alone(times_of_degrees(lengths, with_one_rank(o), cost)), cost_(cost), lockstep_(o.execution == execution::lockstep) {
    widest_ = static_cast<std::int64_t>(widest_group(o));
    needed_ = passes_of(alone, o.execution);
    add_up();
  }

  degree_times alone;  ///< on one rank

  [[nodiscard]] std::size_t samples() const { return alone.length.size(); }
  [[nodiscard]] std::size_t sample(std::size_t i) const { return alone.sample[i]; }
  [[nodiscard]] std::int64_t at(std::size_t i, std::int64_t degree) const {
    return degree == 1 ? alone.at(i, 0) : static_cast<std::int64_t>(shard_time(cost_, sample(i), alone.length[i], degree));
  }
  /// The fewest ranks, from `degree` on, that a group with this sample may have; 0 if there are none.
  [[nodiscard]] std::int64_t allowed(std::size_t i, std::int64_t degree, bool powers_of_two) const {
    auto d = (std::max)(degree, divide_up(alone.length[i], alone.options.capacity));
    if (powers_of_two) d = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(d)));
    return d <= widest_ && d <= alone.length[i] ? d : 0;
  }
  /// Whether each sample has room on some group.
  [[nodiscard]] bool allows_all(bool powers_of_two) const {
    for (std::size_t i = 0; i < samples() && alone.length[i] > alone.options.capacity; ++i)
      if (allowed(i, 1, powers_of_two) == 0) return false;
    return true;
  }
  /// The number of ranks on which the sample takes at most `within`, by the rule; if there is none, that on which it takes least.
  [[nodiscard]] std::int64_t degree(std::size_t i, std::int64_t within, bool powers_of_two, degree_rule rule) const {
    auto best = allowed(i, 1, powers_of_two);
    if (rule == degree_rule::fewest_of_all) {
      for (auto d = best; d != 0 && at(i, best) > within; d = allowed(i, d + 1, powers_of_two))
        if (at(i, d) < at(i, best)) best = d;
      return best;
    }
    auto quickest = at(i, best), least = quickest * best;
    for (auto const d : sizes()) {
      if (d != allowed(i, d, powers_of_two)) continue;
      auto const time = at(i, d);
      if (quickest > within ? time < quickest : rule == degree_rule::cheapest && time <= within && time * d < least) {
        best = d;
        least = time * d;
        quickest = time;
      }
    }
    return best;
  }
  /// Sizes of groups that are worth trying, ascending: all ranks, powers of two, and those on which some sample takes less time than on
  /// fewer ranks, and at most a twentieth more rank-time than on more.
  [[nodiscard]] std::vector<std::int64_t> const& sizes() const { return sizes_; }
  /// A lower bound on the time of any shards; 0 if a sample has room on no number of ranks.
  [[nodiscard]] std::int64_t bound() const { return samples() == 0 || !allows_all(false) ? 0 : by_rate(by_area()); }
  /// The longest sample on the number of ranks where it takes least, in a micro-batch after the others.
  [[nodiscard]] std::int64_t by_longest() const { return longest_ + needed_.batches * alone.options.cost_per_pass; }
  /// Samples of more tokens than half of all ranks hold, one after the other: no two of them have room beside each other or in one pass.
  [[nodiscard]] std::int64_t by_wide() const { return wide_time_ + (std::max)(wide_, needed_.batches) * alone.options.cost_per_pass; }
  /// The least time from `low` on within which the ranks can hold all tokens, if no token takes less than the quickest one.
  [[nodiscard]] std::int64_t by_rate(std::int64_t low) const {
    return bound_by_rate(alone, divide_up(alone.tokens, alone.options.capacity), low, [&](std::size_t i) { return best_[i].area; });
  }
  /// The least time within which all rank-time fits, with a pass on each rank and for each `capacity` tokens; in lockstep, with the longest
  /// samples where they are.
  [[nodiscard]] std::int64_t by_area() const {
    auto const low = by_rank_time();
    return lockstep_ && samples() > 0 ? (std::max)({low, by_micro_batches(), prices_.run(alone, best_, needed_.batches)}) : low;
  }

 private:
  [[nodiscard]] std::int64_t by_rank_time() const {
    auto const n = samples();
    auto const fixed = alone.options.cost_per_pass, ranks = static_cast<std::int64_t>(alone.options.ranks);
    auto const of_rank = needed_.batches * fixed, passes = needed_.all;
    std::int64_t others = 0;  // least rank-time of the samples that take it within the bound so far
    for (auto const& s : best_) others += s.area;
    auto const with_passes = [&](std::int64_t area) { return divide_up(area + (passes - ranks) * fixed, ranks) + fixed; };
    auto const low = (std::max)({by_longest(), by_wide(), with_passes(others)});
    std::vector<choices> long_ones;
    for (std::size_t i = 0; i < n; ++i)
      if (best_[i].time > low - of_rank) {
        long_ones.push_back(choices_of(i));
        others -= best_[i].area;
      }
    auto const fits = [&](std::int64_t time) {
      auto sum = others;
      for (auto const& s : long_ones) {
        auto const slower = std::upper_bound(s.begin(), s.end(), time - of_rank, [](auto t, area_and_time const& c) { return t < c.time; });
        sum += std::prev(slower)->area;
      }
      return with_passes(sum) <= time;
    };
    return least_fitting(low, fits);
  }
  [[nodiscard]] std::int64_t by_micro_batches() const {
    std::vector<std::int64_t> areas;
    for (auto const& s : best_) areas.push_back(s.area);
    return lockstep_bound(alone, std::move(areas), needed_.batches).run([&](std::size_t i) {
      std::vector<rank_choice> out;  // of neighbouring numbers, an eighth apart at most
      auto const needed = divide_up(alone.length[i], alone.options.capacity);
      for (std::int64_t d = 1; d <= widest_;) {
        rank_choice next{(std::max)(d, needed), (std::min)(d + d / 8, widest_), degree_times::most, degree_times::most};
        d = next.most + 1;
        for (auto k = next.fewest; k < d; ++k) {
          next.time = (std::min)(next.time, at(i, k));
          next.area = (std::min)(next.area, at(i, k) * k);
        }
        if (next.fewest < d) out.push_back(next);
      }
      return out;
    });
  }
  struct area_and_time {
    std::int64_t area, time;
  };
  [[nodiscard]] static sharding_options with_one_rank(sharding_options o) {
    o.most_ranks_shared = 1;
    o.execution = execution::independent;
    return o;
  }
  /// Times of a sample, ascending, and the least rank-time of those up to each.
  using choices = std::vector<area_and_time>;
  [[nodiscard]] choices choices_of(std::size_t i) const {
    choices out;
    for (auto d = divide_up(alone.length[i], alone.options.capacity); d <= widest_; ++d) {
      auto const time = at(i, d);
      out.push_back({time * d, time});
    }
    std::sort(out.begin(), out.end(),
              [](area_and_time a, area_and_time b) { return a.time != b.time ? a.time < b.time : a.area < b.area; });
    for (std::size_t k = 1; k < out.size(); ++k) out[k].area = (std::min)(out[k].area, out[k - 1].area);
    return out;
  }
  /// Marks the sizes on which a sample takes at most a twentieth more rank-time than on more ranks. @param times  from `narrowest` on
  void mark_sizes(std::int64_t narrowest, std::vector<std::int64_t> const& times, std::vector<char>& worth) const {
    auto area = degree_times::most;  // least on more ranks
    for (auto k = times.size(); k-- > 0;) {
      auto const d = narrowest + static_cast<std::int64_t>(k);
      if (times[k] < 0) continue;
      if (times[k] * d / 21 * 20 <= area) worth[static_cast<std::size_t>(d)] = 1;
      area = (std::min)(area, times[k] * d);
    }
  }
  /// The least rank-time of each sample, the longest of their least times, and the sizes that are tried. Throws unless all sums fit.
  void add_up() {
    auto const n = samples();
    best_.resize(n);
    std::vector<char> worth(static_cast<std::size_t>(widest_) + 1, 0);
    for (std::int64_t d = 1; d <= widest_; d *= 2) worth[static_cast<std::size_t>(d)] = 1;
    worth[static_cast<std::size_t>(widest_)] = 1;
    std::vector<std::int64_t> times;  // of a sample on more and more ranks, -1 where fewer are as quick
    std::int64_t largest = 0, sum = 0, narrowest = 1;
    auto quickest = degree_times::most;
    for (std::size_t i = 0; i < n; ++i) {
      if (i > 0 && alone.by_length && alone.length[i] == alone.length[i - 1]) {
        best_[i] = best_[i - 1];
      } else {
        best_[i] = {degree_times::most, degree_times::most};
        quickest = degree_times::most;
        largest = 0;
        times.clear();
        narrowest = divide_up(alone.length[i], alone.options.capacity);
        for (auto d = narrowest; d <= widest_; ++d) {
          auto const time = sample_time(cost_, sample(i), alone.length[i], static_cast<std::uint64_t>(d));
          require(time < degree_times::most / d,
                  [&] { return entry("lengths", sample(i), alone.length[i]) + " brings the sum of times to 2^62 or more"; });
          largest = (std::max)(largest, time * d);
          times.push_back(time < quickest ? time : -1);
          quickest = (std::min)(quickest, time);
          if (time * d < best_[i].area) best_[i] = {time * d, time};
        }
        mark_sizes(narrowest, times, worth);
        longest_ = (std::max)(longest_, quickest);
      }
      if (lockstep_) prices_.add(narrowest, times);
      add_time(sum, largest, sample(i), alone.length[i]);
      if (quickest < degree_times::most && alone.length[i] > alone.options.capacity * static_cast<std::int64_t>(alone.options.ranks) / 2) {
        wide_time_ += quickest;
        ++wide_;
      }
    }
    for (std::int64_t d = 1; d <= widest_; ++d)
      if (worth[static_cast<std::size_t>(d)] != 0) sizes_.push_back(d);
  }

  Cost const& cost_;
  bool lockstep_;
  std::int64_t widest_ = 1, longest_ = 0;
  std::int64_t wide_ = 0, wide_time_ = 0;  // samples longer than half of all ranks hold, and their least times
  needed_passes needed_{};
  block_price_bound prices_;
  std::vector<std::int64_t> sizes_;
  std::vector<area_and_time> best_;  // of each position: its least rank-time over all numbers of ranks
};

}  // namespace ballast::inline v0_2::detail
