// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/divided_cost.hpp>
#include <ballast/sharding/detail/sample_time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>

namespace ballast::inline v0_2::detail {

template <class Cost>
inline constexpr bool divides_evenly = false;
template <class Whole>
inline constexpr bool divides_evenly<divided_cost<Whole>> = true;

/// A lower bound on the makespan of any shards: a sample takes at least its least time on a number of ranks that holds it, and all ranks
/// together at least the sum of the least products of ranks and time, and one fixed time for each pass that the tokens need.
template <length_range R, degree_cost_model Cost>
[[nodiscard]] std::int64_t time_bound(R const& lengths, std::int64_t capacity, std::uint64_t ranks, Cost const& cost,
                                      std::int64_t cost_per_pass) {
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  auto const at = read_by_position(lengths);
  auto const all = static_cast<std::int64_t>(ranks);
  std::int64_t longest = 0, work = 0, tokens = 0, whole = 0;  // `whole`: of the work, quotients that are already divided by the ranks
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::ranges::size(lengths)); ++i) {
    auto const length = static_cast<std::int64_t>(at[i]);
    auto const fewest = (std::min)(divide_up(length, capacity), all);
    std::int64_t least = most, area = most;
    for (auto d = divides_evenly<Cost> ? all : fewest; d <= all; ++d) {
      auto const time = sample_time(cost, i, length, static_cast<std::uint64_t>(d));
      least = (std::min)(least, time);
      if (!divides_evenly<Cost> && time <= area / d) area = time * d;
    }
    if constexpr (divides_evenly<Cost>) area = sample_time(cost, i, length, 1);
    tokens += length;
    longest = (std::max)(longest, least);
    whole += area / all;
    work += area % all;
    if (work >= all) {
      work -= all;
      ++whole;
    }
  }
  if (tokens == 0) return 0;
  auto const passes = divide_up(tokens, capacity);
  auto const fixed = passes <= most / 4 / (std::max)(cost_per_pass, std::int64_t{1}) ? divide_up(passes * cost_per_pass + work, all) : 0;
  return (std::max)(longest + cost_per_pass, whole + (std::max)(fixed, std::int64_t{work > 0}));
}

}  // namespace ballast::inline v0_2::detail
