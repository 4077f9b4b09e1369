// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/histogram.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/level_time.hpp>
#include <ballast/levels/detail/length_intervals.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief `choose_levels`: finds the best pack capacities and settings for a histogram of lengths.

namespace ballast::inline v0_2 {

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
    require(i == 0 || limits[i - 1] < limits[i], [&] {
      return "levels[" + std::to_string(i) + "] has capacity " + std::to_string(limits[i]) + ", not above its predecessor's";
    });
  }
  auto const sums = detail::sums_up_to(lengths, limits);
  require(lengths.lengths.empty() || (!limits.empty() && lengths.lengths.back() <= limits.back()),
          [&] { return "a sample of " + std::to_string(lengths.lengths.back()) + " tokens is longer than every level"; });
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
