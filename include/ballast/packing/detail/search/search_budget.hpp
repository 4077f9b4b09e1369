// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/search_watch.hpp>

#include <algorithm>
#include <cstdint>

namespace ballast::inline v0_2::detail {

/// Counts the work of a search against its limits.
class search_budget {
 public:
  explicit search_budget(search_limits const& limits) : watch_(limits) {}

  void spend(std::uint64_t work) noexcept { spent_ += work; }
  [[nodiscard]] std::uint64_t limit() const noexcept { return watch_.limits().work; }
  [[nodiscard]] std::uint64_t spent() const noexcept { return spent_; }
  [[nodiscard]] bool interrupted() const noexcept { return watch_.was_interrupted(); }

  /// Whether the search may continue, up to a spent work of `end`.
  [[nodiscard]] bool allows(std::uint64_t end = ~std::uint64_t{0}) {
    return spent_ < (std::min)(limit(), end) && !watch_.interrupted(spent_);
  }
  /// Whether a phase that has begun may continue: until half of the limit more is spent.
  [[nodiscard]] bool bears() { return spent_ / 3 <= limit() / 2 && !watch_.interrupted(spent_); }
  /// Whether a certificate has at most the wanted gap.
  [[nodiscard]] bool satisfied(certificate const& count) const noexcept { return count.gap() <= watch_.limits().gap; }

 private:
  search_watch watch_;
  std::uint64_t spent_ = 0;
};

}  // namespace ballast::inline v0_2::detail
