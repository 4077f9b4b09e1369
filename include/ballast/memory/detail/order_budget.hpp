// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_watch.hpp>

#include <cstdint>

namespace ballast::inline v0_2::detail {

// Counts the work of a search for an order against its limits.
class order_budget {
 public:
  explicit order_budget(search_limits const& limits) : watch_(limits) {}

  void spend(std::uint64_t work) noexcept { spent_ += work; }
  [[nodiscard]] std::uint64_t spent() const noexcept { return spent_; }
  [[nodiscard]] bool interrupted() const noexcept { return watch_.was_interrupted(); }
  // Whether the search may go on until `end` is spent. The clock is read once for each 2^18 operations.
  [[nodiscard]] bool allows(std::uint64_t end = ~std::uint64_t{0}) {
    if (spent_ >= watch_.limits().work || spent_ >= end) return false;
    if (spent_ < next_look_) return !interrupted();
    next_look_ = spent_ + (std::uint64_t{1} << 18);
    return !watch_.interrupted(spent_);
  }

 private:
  search_watch watch_;
  std::uint64_t spent_ = 0, next_look_ = 0;
};

}  // namespace ballast::inline v0_2::detail
