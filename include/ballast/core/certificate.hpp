// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief `certificate`: the achieved value of a plan, with a proven lower bound.

namespace ballast::inline v0_2 {

/// @brief The achieved value of a minimised quantity and a proven lower bound, both exact integers.
struct certificate {
  std::int64_t value = 0;        ///< what the plan achieves
  std::int64_t lower_bound = 0;  ///< no plan achieves less

  /// @brief Relative distance to the lower bound: `value / lower_bound - 1`; 0 when value and bound are equal.
  [[nodiscard]] constexpr double gap() const noexcept {
    if (value == lower_bound) return 0.0;
    return static_cast<double>(value - lower_bound) / static_cast<double>(lower_bound);
  }
  /// @brief Whether the plan is proven optimal: its value equals the lower bound.
  [[nodiscard]] constexpr bool optimal() const noexcept { return value == lower_bound; }

  friend constexpr bool operator==(certificate const&, certificate const&) = default;
};

}  // namespace ballast::inline v0_2
