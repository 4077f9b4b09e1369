// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/progress.hpp>
#include <ballast/core/version.hpp>

#include <chrono>
#include <cstdint>
#include <stop_token>

/// @file
/// @brief `search_limits`: when a search stops.

namespace ballast::inline v0_2 {

/// @brief When a search stops: limits on its work, its gap and its time.
///
/// Work is counted in operations, so the plan does not depend on the speed of the machine. Only `stop` and `wall_clock` make it depend on
/// time, and the result then says that it is not complete. More work never gives a worse plan.
struct search_limits {
  /// Largest number of elementary operations: about a nanosecond each on a core of 2 to 3 GHz (a few cells of a knapsack's table, one entry
  /// of a simplex inverse, a hundredth of a trial exchange). A phase that has begun is finished first, so more may be spent, but less than
  /// twice as much.
  std::uint64_t work = 1'000'000'000;
  double gap = 0;                          ///< stop when value / lower_bound - 1 is at most this; 0: when proven optimal
  std::stop_token stop{};                  ///< when a stop is requested, the best plan so far is returned
  std::chrono::nanoseconds wall_clock{0};  ///< after this time, the best plan so far is returned; 0: no limit
  progress_callback progress{};            ///< is told how much of `work` is done
};

}  // namespace ballast::inline v0_2
