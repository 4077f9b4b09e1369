// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/search_limits.hpp>

#include <chrono>
#include <cstdint>

namespace ballast::inline v0_2::detail {

/// Counts work against the limits of a search.
template <class = when_called>
class layout_budget {
 public:
  explicit layout_budget(search_limits const& limits)
      : limits_(limits), deadline_(limits.wall_clock.count() > 0 ? clock::now() + limits.wall_clock : clock::time_point{}) {}

  /// Counts operations that are not part of the work of a search.
  void spend(std::uint64_t work) { spent_ += work; }
  /// Whether the search must end, with `work` operations of its own.
  [[nodiscard]] bool over(std::uint64_t work = 0) {
    return spent_ + work >= limits_.work || interrupted_ || (calls_++ % 64 == 0 && interrupted());
  }
  [[nodiscard]] bool interrupted() {
    return interrupted_ = interrupted_ || limits_.stop.stop_requested() || (limits_.wall_clock.count() > 0 && clock::now() >= deadline_);
  }
  [[nodiscard]] bool was_interrupted() const { return interrupted_; }

 private:
  using clock = std::chrono::steady_clock;
  search_limits const& limits_;
  clock::time_point deadline_;
  std::uint64_t spent_ = 0, calls_ = 0;
  bool interrupted_ = false;
};

}  // namespace ballast::inline v0_2::detail
