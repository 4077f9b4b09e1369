// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/gpu/core/atomic.cuh>

#include <cstddef>
#include <cstdint>

// Checks of costs for the twins: one lane checks the cost of the longest length once, and every length is compared with it.

namespace ballast::inline v0_2::gpu::detail {

// Initialises the word for the first bad index: to `count` if the cost of `longest` cannot be represented.
template <class Cost>
struct cost_check_longest {
  Cost cost;
  std::int64_t longest;
  std::uint64_t count;
  std::uint64_t* bad;
  std::int64_t* most;  // cost of the longest length, or -1
  BALLAST_HD void operator()(std::size_t) const {
    *most = -1;
    if constexpr (bounded_cost_model<Cost>) {
      if (cost.fits(longest)) *most = static_cast<std::int64_t>(cost(longest));
    } else {
      *most = static_cast<std::int64_t>(cost(longest));
    }
    *bad = *most < 0 ? count : none_bad;
  }
};

// Throws for the first bad index of a pass over `count` lengths.
inline void cost_require_longest(std::uint64_t bad, std::uint64_t count, std::int64_t longest) {
  require(bad != count,
          [&] { return sentence("longest = ", longest, " has a cost that is negative, not a number or too large for 63 bits"); });
}
template <class Len>
void cost_require_length(std::uint64_t index, Len length, std::int64_t longest) {
  auto const value = static_cast<std::int64_t>(length);
  require(value >= 0 && value <= longest, [&] { return sentence(entry("lengths", index, length), " is not in 0 ... ", longest); });
}

}  // namespace ballast::inline v0_2::gpu::detail
