// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/sharding/detail/degree_times.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

// The bound by the tokens that ranks hold within a time if every token takes as little as the quickest.

namespace ballast::inline v0_2::detail {

/// The passes that a batch needs at least.
struct needed_passes {
  std::int64_t all;      // of all ranks together: each rank runs one
  std::int64_t batches;  // of a rank
};
[[nodiscard]] inline needed_passes passes_of(degree_times const& t, execution policy) {
  auto const ranks = static_cast<std::int64_t>(t.options.ranks), held = divide_up(t.tokens, t.options.capacity);
  auto const batches = policy == execution::lockstep ? divide_up(held, ranks) : 1;  // each micro-batch costs every rank a pass
  return {policy == execution::lockstep ? batches * ranks : (std::max)(held, ranks), batches};
}

/// The least time from `low` on that fits, for a property that longer times keep.
template <class Fits>
[[nodiscard]] std::int64_t least_fitting(std::int64_t low, Fits const& fits) {
  auto high = low;
  for (auto step = std::int64_t{1}; !fits(high); step *= 2) {
    low = high + 1;
    high = (std::min)(low + (std::max)(step, low / 8), degree_times::most);
    if (high == degree_times::most) break;
  }
  return first_where(low, high, fits);
}

/// The least time from `low` on within which the ranks can hold all tokens. `least_area(i)` is the least rank-time of a position.
template <class LeastArea>
[[nodiscard]] std::int64_t bound_by_rate(degree_times const& t, std::int64_t passes, std::int64_t low, LeastArea const& least_area) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < t.length.size(); ++i)
    if (!(t.by_length && t.length[i] == t.length[i - 1]) &&
        compare_products(least_area(i), t.length[best], least_area(best), t.length[i]) < 0)
      best = i;
  auto const area = least_area(best), length = t.length[best], fixed = t.options.cost_per_pass;
  if (area == 0) return low;
  auto const fits = [&](std::int64_t time) {    // whether ranks that run k passes each hold all tokens, for the best k
    auto const by_time = [&](std::int64_t k) {  // rounded up
      if (time - k * fixed < 0) return std::int64_t{0};
      auto const held = multiply(static_cast<std::uint64_t>(time - k * fixed), static_cast<std::uint64_t>(length));
      if (held.high >= static_cast<std::uint64_t>(area)) return t.tokens;
      return static_cast<std::int64_t>((std::min)(multiply_divide_up(static_cast<std::uint64_t>(time - k * fixed),
                                                                     static_cast<std::uint64_t>(length), static_cast<std::uint64_t>(area)),
                                                  static_cast<std::uint64_t>(t.tokens)));
    };
    auto const by_room = [&](std::int64_t k) { return k >= passes ? t.tokens : k * t.options.capacity; };
    // The most passes that the time fills.
    auto const filled = first_where(std::int64_t{1}, passes + 1, [&](std::int64_t k) { return by_room(k) > by_time(k); }) - 1;
    return (std::max)(by_room(filled), by_time(filled + 1)) >= divide_up(t.tokens, static_cast<std::int64_t>(t.options.ranks));
  };
  return least_fitting(low, fits);
}

}  // namespace ballast::inline v0_2::detail
