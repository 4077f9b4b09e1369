// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_limits.hpp>

#include <chrono>
#include <cstdint>

namespace ballast::inline v0_2::detail {

// Counts the work of a search for an order against its limits.
class order_budget {
 public:
  explicit order_budget(search_limits const& limits)
      : limits_(limits), deadline_(limits.wall_clock.count() > 0 ? clock::now() + limits.wall_clock : clock::time_point{}) {}

  void spend(std::uint64_t work) noexcept { spent_ += work; }
  [[nodiscard]] std::uint64_t spent() const noexcept { return spent_; }
  [[nodiscard]] bool interrupted() const noexcept { return interrupted_; }
  // Whether the search may go on until `end` is spent. The clock is read once for each 2^18 operations.
  [[nodiscard]] bool allows(std::uint64_t end = ~std::uint64_t{0}) {
    if (spent_ >= limits_.work || spent_ >= end) return false;
    if (spent_ >= next_look_) {
      next_look_ = spent_ + (std::uint64_t{1} << 18);
      interrupted_ = interrupted_ || limits_.stop.stop_requested() || (limits_.wall_clock.count() > 0 && clock::now() >= deadline_);
    }
    return !interrupted_;
  }

 private:
  using clock = std::chrono::steady_clock;
  search_limits limits_;
  clock::time_point deadline_;
  std::uint64_t spent_ = 0, next_look_ = 0;
  bool interrupted_ = false;
};

}  // namespace ballast::inline v0_2::detail
