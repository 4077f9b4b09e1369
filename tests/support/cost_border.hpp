// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "support/catch.hpp"

#include <cstdint>
#include <limits>

namespace ballast_test {

__extension__ typedef __int128 int128;
inline constexpr auto most = (std::numeric_limits<std::int64_t>::max)();

/// `fits` is true up to some length and false beyond it, and that length is the last whose exact cost is below 2^63.
/// `exact` computes in 128 bits, and never decreases.
template <class Cost, class Exact>
void check_border(Cost const& cost, Exact const& exact) {
  auto const representable = [&](std::int64_t length) { return exact(int128{length}) <= int128{most}; };
  std::int64_t low = 0, high = most;  // the longest representable length, by bisection
  if (!representable(0)) {
    CHECK_FALSE(cost.fits(0));
    return;
  }
  while (low < high) {
    auto const middle = low + (high - low) / 2 + 1;
    if (representable(middle))
      low = middle;
    else
      high = middle - 1;
  }
  CAPTURE(low);
  CHECK(cost.fits(low));
  CHECK(int128{cost(low)} == exact(int128{low}));
  if (low < most) CHECK_FALSE(cost.fits(low + 1));
  CHECK(cost.fits(most) == (low == most));
  CHECK(cost.fits(0));
  CHECK_FALSE(cost.fits(-1));
}

}  // namespace ballast_test
