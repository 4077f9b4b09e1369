// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief Binary search by position; can be called on host and device.

namespace ballast::inline v0_2::gpu {

/// @brief Returns the first position at which a condition holds.
/// @tparam Count  an unsigned integer
/// @tparam Holds  callable on host and device with a position
/// @param count  number of positions
/// @param holds  the condition; if it holds at a position, it must hold at all later ones
/// @return the position; `count` if it holds nowhere
/// @par Complexity
/// O(log count) calls.
template <class Count, class Holds>
[[nodiscard]] BALLAST_HD Count first_where(Count count, Holds const& holds) {
  Count low = 0;
  while (low < count) {
    auto const middle = low + (count - low) / 2;
    if (holds(middle))
      count = middle;
    else
      low = middle + 1;
  }
  return low;
}

/// @brief Returns the position of the first value above another. @param values never decreasing @param count number of values
/// @param value the other value @return the position; `count` if there is none
[[nodiscard]] BALLAST_HD inline std::uint64_t first_above(std::uint64_t const* values, std::uint64_t count, std::uint64_t value) {
  return first_where(count, [&](std::uint64_t i) { return values[i] > value; });
}

}  // namespace ballast::inline v0_2::gpu
