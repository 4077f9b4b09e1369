// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/search_limits.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace ballast::inline v0_2::detail {

/// Counts the work of a search against its limits.
class search_budget {
 public:
  explicit search_budget(search_limits const& limits)
      : limits_(limits), deadline_(limits.wall_clock.count() > 0 ? clock::now() + limits.wall_clock : clock::time_point{}) {}

  void spend(std::uint64_t work) noexcept { spent_ += work; }
  [[nodiscard]] std::uint64_t limit() const noexcept { return limits_.work; }
  [[nodiscard]] std::uint64_t spent() const noexcept { return spent_; }
  [[nodiscard]] bool interrupted() const noexcept { return interrupted_; }

  /// Whether the search may continue, up to a spent work of `end`.
  [[nodiscard]] bool allows(std::uint64_t end = ~std::uint64_t{0}) { return spent_ < (std::min)(limits_.work, end) && !is_interrupted(); }
  /// Whether a phase that has begun may continue: until half of the limit more is spent.
  [[nodiscard]] bool bears() { return spent_ / 3 <= limits_.work / 2 && !is_interrupted(); }
  /// Whether a certificate has at most the wanted gap.
  [[nodiscard]] bool satisfied(certificate const& count) const noexcept { return count.gap() <= limits_.gap; }

 private:
  using clock = std::chrono::steady_clock;
  [[nodiscard]] bool is_interrupted() {
    return interrupted_ = interrupted_ || limits_.stop.stop_requested() || (limits_.wall_clock.count() > 0 && clock::now() >= deadline_);
  }
  search_limits limits_;
  clock::time_point deadline_;
  std::uint64_t spent_ = 0;
  bool interrupted_ = false;
};

}  // namespace ballast::inline v0_2::detail
