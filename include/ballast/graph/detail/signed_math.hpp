// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/wide.hpp>

#include <cstdint>
#include <limits>

// Sums and products of signed integers with overflow detection. Private.

namespace ballast::inline v0_2::detail {

/// Computes a + b and a * b; returns false if the result does not fit.
[[nodiscard]] constexpr bool add_signed(std::int64_t a, std::int64_t b, std::int64_t& out) noexcept {
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  if (b >= 0 ? a > most - b : a < -most - b) return false;
  out = a + b;
  return true;
}
[[nodiscard]] constexpr bool multiply_signed(std::int64_t a, std::int64_t b, std::int64_t& out) noexcept {
  auto const size = [](std::int64_t x) { return x < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x); };
  auto const product = multiply(size(a), size(b));
  if (product.high != 0 || product.low > static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)())) return false;
  out = (a < 0) == (b < 0) ? static_cast<std::int64_t>(product.low) : -static_cast<std::int64_t>(product.low);
  return true;
}

}  // namespace ballast::inline v0_2::detail
