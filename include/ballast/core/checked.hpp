// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/version.hpp>
#include <ballast/core/wide.hpp>

#include <cstdint>

/// @file
/// @brief `checked`: an integer type that detects overflow. A cost formula is written once as a template over its number type; its member
/// `fits` evaluates the same formula in `checked`, so the check and the formula cannot disagree.

namespace ballast::inline v0_2 {

/// @brief An integer in [0, 2^63), or `none` after a negative term or a result that is too large. It has only sums and products.
struct checked {
  static constexpr std::int64_t most = 9223372036854775807;  ///< 2^63 - 1
  static constexpr std::int64_t none = -1;                   ///< not representable
  std::int64_t value;                                        ///< the integer or `none`

  /// @brief Takes an integer. @param v any; negative ones become `none`
  BALLAST_HD constexpr explicit checked(std::int64_t v) noexcept : value(v < 0 ? none : v) {}
  /// @brief Whether it is an integer and not `none`.
  [[nodiscard]] BALLAST_HD constexpr bool fits() const noexcept { return value != none; }

  /// @brief The sum, or `none`. @param a a term @param b a term
  friend BALLAST_HD constexpr checked operator+(checked a, checked b) noexcept {
    return checked(!a.fits() || !b.fits() || a.value > most - b.value ? none : a.value + b.value);
  }
  /// @brief The product, or `none`. @param a a factor @param b a factor
  friend BALLAST_HD constexpr checked operator*(checked a, checked b) noexcept {
    if (!a.fits() || !b.fits()) return checked(none);
    auto const product = multiply(static_cast<std::uint64_t>(a.value), static_cast<std::uint64_t>(b.value));
    return checked(product.high != 0 ? none : static_cast<std::int64_t>(product.low));  // from 2^63 on, it is negative
  }
};

/// @brief n (n + 1) / 2, computed without an intermediate result above it. @tparam Number `std::int64_t` or `checked`
/// @param n not negative @return the n-th triangular number
template <class Number>
[[nodiscard]] BALLAST_HD constexpr Number triangle(std::int64_t n) noexcept {
  return n % 2 == 0 ? Number(n / 2) * Number(n + 1) : Number(n / 2 + 1) * Number(n);
}

}  // namespace ballast::inline v0_2
