// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/unequal_options.hpp>
#include <ballast/core/math.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

/// @file
/// @brief `share_units`: equal units to devices of unequal speed and memory, such that the slowest ends first.

namespace ballast::inline v0_2 {

/// @brief Shares equal units among sets of unequal speed, each up to its capacity, so that the slowest set ends as early as possible.
///
/// In a time T, a set completes floor(T / unit_time) units, or its capacity if that is less. The least T in which all units are completed
/// is found by bisection: water-filling in integers. Where more would be completed, the last of the sets that end at T give up a unit each.
///
/// @param units    number of units: samples of a batch, tokens, heads or columns; from 0 to 2^62
/// @param options  speed and capacity of each set; `largest` is not read
/// @return the units of each set; the time is proven to be the least possible one
/// @throws invalid_input naming the argument that is out of range
/// @par Complexity
/// O(sets log(units x unit_time)).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// The question, and shares by speed with what exceeds a memory given to the others: Jia et al., "Whale", USENIX ATC 2022. The algorithm is
/// the usual bisection.
template <class = when_called>
[[nodiscard]] unit_shares share_units(std::int64_t units, unequal_options const& options) {
  detail::require_valid<>(options);
  require(units >= 0 && units <= std::int64_t{1} << 62, [&] { return sentence("units = ", units, " must be in 0 ... 2^62"); });
  detail::require_countable<>(options, units, "units");
  auto const sets = options.unit_time.size();
  auto const within = [&](std::size_t s, std::int64_t time) {
    auto const done = (std::min)(units, time / options.unit_time[s]);
    return options.capacity.empty() ? done : (std::min)(done, options.capacity[s]);
  };
  auto const missing = [&](std::int64_t time) {
    auto left = units;
    for (std::size_t s = 0; s < sets && left > 0; ++s) left -= (std::min)(left, within(s, time));
    return left;
  };
  auto high = units * *std::max_element(options.unit_time.begin(), options.unit_time.end());
  if (auto const shortage = missing(high); shortage > 0) return {.status = status::infeasible, .shortage = shortage};
  high = first_where(std::int64_t{0}, high, [&](std::int64_t time) { return missing(time) == 0; });
  unit_shares out{.time = {high, high}};
  for (std::size_t s = 0; s < sets; ++s) out.units.push_back(within(s, high));
  auto spare = std::accumulate(out.units.begin(), out.units.end(), -units);  // fewer than sets that complete a unit at this very time
  for (auto s = sets; spare > 0; --spare) {
    do --s;
    while (out.units[s] == 0 || out.units[s] * options.unit_time[s] != high);
    --out.units[s];
  }
  return out;
}

}  // namespace ballast::inline v0_2
