// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/divided_cost.hpp>
#include <ballast/sharding/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>

/// @file
/// @brief `least_time`: a lower bound on the makespan of any shards, from the longest sample and from the work of all.

namespace ballast::inline v0_2 {
namespace detail {

template <class Cost>
inline constexpr bool divides_evenly = false;
template <class Whole>
inline constexpr bool divides_evenly<divided_cost<Whole>> = true;

}  // namespace detail

/// @brief A lower bound on the makespan (`time_shards`) of any shards that train each sample in one pass, under any policy of execution.
///
/// It is the larger of two. A sample takes a pass that lasts at least `cost_per_pass` and the least time of the sample on a number of ranks
/// that has room for it. All ranks together are busy for at least the sum of the least products of ranks and time, and for one
/// `cost_per_pass` for each `capacity` tokens.
///
/// @tparam R     range of integers
/// @tparam Cost  a `shard_cost_model`
/// @param lengths  tokens of each sample, positive
/// @param options  capacity, ranks and `cost_per_pass`
/// @param cost     time of a sample by its length and the number of ranks that share it
/// @return the lower bound, in units of the cost; 0 without samples. A sample that no number of ranks has room for counts as shared by all
/// @throws invalid_input for a bad option, or a time outside [0, 2^62)
/// @par Complexity
/// O(samples * ranks) calls of the cost; O(samples) of a `divided_cost`.
template <length_range R, shard_cost_model Cost>
[[nodiscard]] std::int64_t least_time(R const& lengths, sharding_options const& options, Cost const& cost) {
  detail::require_valid(options);
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  auto const at = read_by_position(lengths);
  auto const all = static_cast<std::int64_t>(options.ranks);
  std::int64_t longest = 0, work = 0, tokens = 0, whole = 0;  // `whole`: of the work, quotients that are already divided by the ranks
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::ranges::size(lengths)); ++i) {
    auto const length = static_cast<std::int64_t>(at[i]);
    auto const fewest = (std::min)(divide_up(length, options.capacity), all);
    std::int64_t least = most, area = most;
    for (auto d = detail::divides_evenly<Cost> ? all : fewest; d <= all; ++d) {
      auto const time = detail::sample_time(cost, i, length, static_cast<std::uint64_t>(d));
      least = (std::min)(least, time);
      if (!detail::divides_evenly<Cost> && time <= area / d) area = time * d;
    }
    if constexpr (detail::divides_evenly<Cost>) area = detail::sample_time(cost, i, length, 1);
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
  auto const passes = divide_up(tokens, options.capacity);
  auto const fixed =
      passes <= most / 4 / (std::max)(options.cost_per_pass, std::int64_t{1}) ? divide_up(passes * options.cost_per_pass + work, all) : 0;
  return (std::max)(longest + options.cost_per_pass, whole + (std::max)(fixed, std::int64_t{work > 0}));
}

}  // namespace ballast::inline v0_2
