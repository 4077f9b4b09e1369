// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_limits.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

/// @file
/// @brief `search_watch`: what a search asks now and then about its stop token, its clock and its progress. For writers of searches.

namespace ballast::inline v0_2 {

/// @brief Notices a requested stop and the end of the wall-clock time of a search, and tells how far it is.
class search_watch {
 public:
  /// @brief Starts the clock. @param limits the limits of the search
  explicit search_watch(search_limits const& limits)
      : limits_(limits), deadline_(limits.wall_clock.count() > 0 ? clock::now() + limits.wall_clock : clock::time_point{}) {}

  /// @brief The limits of the search.
  [[nodiscard]] search_limits const& limits() const noexcept { return limits_; }
  /// @brief Whether an earlier question was answered by yes.
  [[nodiscard]] bool was_interrupted() const noexcept { return interrupted_; }
  /// @brief Whether the search has to end, whatever its work; once it has, always. Reads the clock if there is a limit on it.
  /// @param spent  work so far, in the unit of `search_limits::work`; told as progress where it has grown by a 128th of the limit
  [[nodiscard]] bool interrupted(std::uint64_t spent) {
    if (spent >= tell_at_) {
      tell_at_ = spent + limits_.work / 128 + 1;
      if (limits_.work > 0) limits_.progress((std::min)(spent, limits_.work), limits_.work);
    }
    return interrupted_ = interrupted_ || limits_.stop.stop_requested() || (limits_.wall_clock.count() > 0 && clock::now() >= deadline_);
  }

 private:
  using clock = std::chrono::steady_clock;
  search_limits limits_;
  clock::time_point deadline_;
  std::uint64_t tell_at_ = 0;
  bool interrupted_ = false;
};

}  // namespace ballast::inline v0_2
