// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/histogram.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/level_time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

// The time of the samples between two lengths, and the candidates grouped by capacity.

namespace ballast::inline v0_2::detail {

/// Tokens and squares of the samples up to a length.
struct length_sums {
  std::int64_t tokens = 0, squares = 0;
};
template <class = when_called>
[[nodiscard]] inline std::vector<length_sums> sums_up_to(histogram const& lengths, std::span<std::int64_t const> limits) {
  require_valid(lengths);
  auto const longest = lengths.lengths.empty() ? 1 : lengths.lengths.back();
  require(longest <= (std::int64_t{1} << 31) && lengths.tokens() <= (std::int64_t{1} << 62) / longest,
          [&] { return "the longest length, " + std::to_string(longest) + ", brings the sum of squared lengths too near to 2^63"; });
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
  require(a <= (std::numeric_limits<std::int64_t>::max)() - b, [] { return std::string("the time of the levels reaches 2^63"); });
  return a + b;
}
inline void require_positive(std::span<timed_level const> levels, char const* name) {
  for (std::size_t i = 0; i < levels.size(); ++i)
    require(levels[i].setting.capacity > 0 && levels[i].setting.sp > 0, [&] {
      return std::string(name) + "[" + std::to_string(i) + "] has capacity " + std::to_string(levels[i].setting.capacity) +
             " and sp = " + std::to_string(levels[i].setting.sp) + ": both must be positive";
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

}  // namespace ballast::inline v0_2::detail
