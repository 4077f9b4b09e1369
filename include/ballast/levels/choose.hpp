// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/classes.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/level_time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

/// @file
/// @brief `choose_levels`: finds the best pack capacities and settings for a histogram of lengths.

namespace ballast::inline v0_2 {

namespace detail {

/// Tokens and squares of the samples up to a length.
struct length_sums {
  std::int64_t tokens = 0, squares = 0;
};
template <class = when_called>
[[nodiscard]] inline std::vector<length_sums> sums_up_to(histogram const& lengths, std::span<std::int64_t const> limits) {
  require_valid(lengths);
  auto const longest = lengths.lengths.empty() ? 1 : lengths.lengths.back();
  require(longest <= (std::int64_t{1} << 31) && lengths.tokens() <= (std::int64_t{1} << 62) / longest,
          [&] { return sentence("the longest length, ", longest, ", brings the sum of squared lengths too near to 2^63"); });
  std::vector<length_sums> out;
  length_sums sum;
  std::size_t i = 0;
  for (auto const limit : limits) {
    for (; i < lengths.lengths.size() && lengths.lengths[i] <= limit; ++i) {
      auto const tokens = lengths.lengths[i] * static_cast<std::int64_t>(lengths.counts[i]);
      sum.tokens += tokens;
      sum.squares += tokens * lengths.lengths[i];
    }
    out.push_back(sum);
  }
  return out;
}
template <class = when_called>
[[nodiscard]] inline std::int64_t time_between(length_sums const& from, length_sums const& to, timed_level const& at) {
  auto const tokens = to.tokens - from.tokens;
  auto const packs = static_cast<std::uint64_t>(divide_up(tokens, at.setting.capacity));
  return at.time(packs, tokens, to.squares - from.squares);
}
[[nodiscard]] constexpr std::int64_t add_times(std::int64_t a, std::int64_t b) {
  require(a <= (std::numeric_limits<std::int64_t>::max)() - b, [] { return "the time of the levels reaches 2^63"; });
  return a + b;
}
inline void require_positive(std::span<timed_level const> levels, char const* name) {
  for (std::size_t i = 0; i < levels.size(); ++i)
    require(levels[i].setting.capacity > 0 && levels[i].setting.sp > 0, [&] {
      return sentence(name, "[", i, "] has capacity ", levels[i].setting.capacity, " and sp = ", levels[i].setting.sp,
                      ": both must be positive");
    });
}

/// The candidates by capacity: `order[first[j]] … order[first[j + 1] - 1]` have the capacity `limits[j]`, in the given order.
struct candidates_by_capacity {
  std::vector<std::int64_t> limits;
  std::vector<std::size_t> order, first;

  explicit candidates_by_capacity(std::span<timed_level const> candidates) : order(candidates.size()) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](auto a, auto b) {
      auto const x = candidates[a].setting.capacity, y = candidates[b].setting.capacity;
      return x != y ? x < y : a < b;
    });
    for (std::size_t k = 0; k < order.size(); ++k)
      if (auto const c = candidates[order[k]].setting.capacity; limits.empty() || limits.back() != c) {
        limits.push_back(c);
        first.push_back(k);
      }
    first.push_back(order.size());
  }
};

}  // namespace detail

/// @brief Levels, and the time of a histogram in these levels.
///
/// Level i trains the samples that are longer than the capacity of level i - 1 and not longer than that of level i.
struct level_choice {
  ballast::status status = ballast::status::feasible;  ///< infeasible if a sample is longer than every candidate
  std::vector<timed_level> levels;                     ///< the chosen levels, by capacity, ascending
  certificate time;                                    ///< device-nanoseconds, and a lower bound over all choices among the candidates
};

/// @brief Returns the time of a histogram in given levels under the assumption that all packs are full: tokens over capacity packs.
/// @param lengths  histogram of sample lengths
/// @param levels   levels with strictly ascending capacities, the last at least the longest length
/// @return device-nanoseconds
/// @throws invalid_input unless the histogram is valid, capacities ascend, and the longest length fits the last level
/// @par Complexity
/// O(distinct lengths + levels).
template <class = when_called>
[[nodiscard]] inline std::int64_t time_of_levels(histogram const& lengths, std::span<timed_level const> levels) {
  detail::require_positive(levels, "levels");
  std::vector<std::int64_t> limits;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    limits.push_back(levels[i].setting.capacity);
    require(i == 0 || limits[i - 1] < limits[i],
            [&] { return sentence("levels[", i, "] has capacity ", limits[i], ", not above its predecessor's"); });
  }
  auto const sums = detail::sums_up_to(lengths, limits);
  require(lengths.lengths.empty() || (!limits.empty() && lengths.lengths.back() <= limits.back()),
          [&] { return sentence("a sample of ", lengths.lengths.back(), " tokens is longer than every level"); });
  std::int64_t time = 0;
  for (std::size_t i = 0; i < levels.size(); ++i)
    time = detail::add_times(time, detail::time_between(i == 0 ? detail::length_sums{} : sums[i - 1], sums[i], levels[i]));
  return time;
}

/// @brief Chooses the levels of least total time: which candidate capacities to use, and the setting of each.
///
/// The choice is exact, by a dynamic programme over intervals of lengths. Let T(j, k) be the least time of all samples up to the j-th
/// capacity in k levels, the last of which has that capacity. T(j, k) is the minimum over i < j of T(i, k - 1) plus the time of the samples
/// in between at the best setting of capacity j.
///
/// @param lengths      histogram of sample lengths
/// @param candidates   settings with their times (`modelled_levels`, or a profile), in any order; several may have the same capacity
/// @param most_levels  largest number of levels; 0 = no limit
/// @return the choice; of equal times, the one with fewest levels, then with short levels. It is optimal, so the lower bound is the time
/// itself
/// @throws invalid_input for an invalid histogram, a candidate out of range, or times that reach 2^63
/// @par Complexity
/// O(distinct lengths + candidates * capacities + capacities^2 * levels).
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] inline level_choice choose_levels(histogram const& lengths, std::span<timed_level const> candidates,
                                                std::size_t most_levels = 0) {
  detail::require_positive(candidates, "candidates");
  constexpr auto never = (std::numeric_limits<std::int64_t>::max)();
  detail::candidates_by_capacity const by_capacity(candidates);
  auto const& [limits, order, first] = by_capacity;
  auto const m = limits.size();
  auto const sums = detail::sums_up_to(lengths, limits);
  level_choice out;
  if (lengths.lengths.empty()) return out;
  auto const longest = lengths.lengths.back();
  if (m == 0 || limits.back() < longest) {
    out.status = status::infeasible;
    return out;
  }

  struct option {
    std::int64_t time = (std::numeric_limits<std::int64_t>::max)();  // g++ 12 does not survive `never` here
    std::size_t from = 0, candidate = 0;
  };
  std::vector<option> between(m * m);  // [i * m + j]: the samples above capacity i - 1 up to capacity j, best setting of j
  for (std::size_t i = 0; i < m; ++i)
    for (auto j = i; j < m; ++j)
      for (auto k = first[j]; k < first[j + 1]; ++k) {
        auto const time = detail::time_between(i == 0 ? detail::length_sums{} : sums[i - 1], sums[j], candidates[order[k]]);
        auto& best = between[i * m + j];
        if (time < best.time) best = {time, i, order[k]};
      }
  auto const rounds = most_levels == 0 ? m : (std::min)(m, most_levels);
  std::vector<option> table(rounds * m);  // [k * m + j]: k + 1 levels, the last of capacity j
  std::size_t levels = 0, last = 0;
  auto least = never;
  for (std::size_t k = 0; k < rounds; ++k)
    for (std::size_t j = k; j < m; ++j) {
      auto& best = table[k * m + j];
      for (auto i = k; i <= j; ++i) {  // the levels before end with capacity i - 1
        if ((k == 0) != (i == 0)) continue;
        auto const before = k == 0 ? 0 : table[(k - 1) * m + i - 1].time;
        if (before == never) continue;
        auto const time = detail::add_times(before, between[i * m + j].time);
        if (time < best.time) best = {time, i, between[i * m + j].candidate};
      }
      if (limits[j] >= longest && best.time < least) {
        least = best.time;
        levels = k + 1;
        last = j;
      }
    }
  out.levels.resize(levels);
  for (auto k = levels; k-- > 0;) {
    auto const& chosen = table[k * m + last];
    out.levels[k] = candidates[chosen.candidate];
    if (k > 0) last = chosen.from - 1;
  }
  out.time = {least, least};
  return out;
}

}  // namespace ballast::inline v0_2
