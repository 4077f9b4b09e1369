// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <chrono>
#include <cstdint>
#include <stop_token>

/// @file
/// @brief How long a search may go on.

namespace ballast::inline v0_2 {

/// @brief How long a search may go on.
///
/// Work is counted, not timed, so a plan does not depend on the machine; only `stop` and `wall_clock` make it depend on when they strike,
/// and the result then says that it is not complete. More work never gives a worse plan.
struct search_limits {
  /// Elementary operations, about a nanosecond each on a plain core of 2 to 3 GHz (a few cells of a knapsack's table, an entry of a
  /// simplex's inverse, a hundredth of a trial exchange). A phase that has begun ends first, so more may be spent, but not twice as much.
  std::uint64_t work = 1'000'000'000;
  double gap = 0;                          ///< stop once value / lower_bound - 1 is at most this; 0: proven optimal
  std::stop_token stop{};                  ///< when requested, the best plan so far is returned
  std::chrono::nanoseconds wall_clock{0};  ///< when passed, the best plan so far is returned; 0: no limit
};

}  // namespace ballast::inline v0_2
