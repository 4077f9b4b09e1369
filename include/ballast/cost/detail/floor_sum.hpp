// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/version.hpp>

#include <cstdint>

// Lattice points below a line. Private.

namespace ballast::inline v0_2::detail {

/// Sum over i in [0, count) of floor((step * i + start) / divisor), as by Euclid's algorithm.
[[nodiscard]] BALLAST_HD constexpr std::int64_t floor_sum(std::int64_t count, std::int64_t divisor, std::int64_t step,
                                                          std::int64_t start) noexcept {
  std::int64_t sum = 0;
  for (;;) {
    sum += count * (count - 1) / 2 * (step / divisor) + count * (start / divisor);
    auto const top = step % divisor * count + start % divisor;
    if (top < divisor) return sum;
    count = top / divisor;  // count the lattice points below the line by columns instead of rows
    start = top % divisor;
    auto const slope = step % divisor;
    step = divisor;
    divisor = slope;
  }
}

}  // namespace ballast::inline v0_2::detail
