// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/wide.hpp>

#include <cstdint>

/// @file
/// @brief The double nearest to a quotient or a fixed-point number of integers, even if the integers are not representable as doubles.

namespace ballast::inline v0_2 {
namespace detail {

// The nearest double to whole + fraction / parts, halves to even; fraction in [0, parts), parts a power of two up to 2^52.
[[nodiscard]] BALLAST_HD constexpr double nearest_double(std::int64_t whole, std::int64_t fraction, double parts) noexcept {
  constexpr auto exact = std::int64_t{1} << 53;
  if (whole >= -exact && whole < exact) return static_cast<double>(whole) + static_cast<double>(fraction) / parts;
  auto const rest = static_cast<double>(whole & 2047) + (fraction != 0 ? 0.5 : 0.0);  // the fraction only says which side of a half it is
  return static_cast<double>(whole >> 11) * 2048.0 + rest;                            // both exact, so rounded once
}

// The nearest double to numerator / divisor, halves to even; divisor > 0 and below 2^127.
[[nodiscard]] BALLAST_HD constexpr double rounded_quotient(std::uint64_t numerator, wide divisor) noexcept {
  constexpr auto exact = std::uint64_t{1} << 53;
  if (numerator == 0) return 0.0;
  if (numerator <= exact && divisor.high == 0 && divisor.low <= exact)
    return static_cast<double>(numerator) / static_cast<double>(divisor.low);
  int shift = -64;  // the quotient of the two normalised to 127 bits, in (1/2, 2), times 2^shift is the quotient
  for (; divisor.high >> 62 == 0; ++shift) divisor = {divisor.high << 1 | divisor.low >> 63, divisor.low << 1};
  wide rest{numerator, 0};
  for (; rest.high >> 62 == 0; --shift) rest.high <<= 1;
  if (rest.high >> 63 != 0) {
    rest = {rest.high >> 1, rest.high << 63};
    ++shift;
  }
  std::uint64_t quotient = 0;  // 64 bits of it, the first one before the point
  for (int bit = 0; bit < 64; ++bit) {
    auto const fits = rest.high != divisor.high ? rest.high > divisor.high : rest.low >= divisor.low;
    if (fits) rest = {rest.high - divisor.high - (rest.low < divisor.low ? 1U : 0U), rest.low - divisor.low};
    quotient = quotient << 1 | (fits ? 1U : 0U);
    rest = {rest.high << 1 | rest.low >> 63, rest.low << 1};
  }
  if ((rest.high | rest.low) != 0) quotient |= 1;  // enough for the one rounding below: 63 bits at least precede it
  auto x = static_cast<double>(quotient) * 0x1p-63;
  for (; shift < -32; shift += 32) x *= 0x1p-32;
  for (; shift > 32; shift -= 32) x *= 0x1p32;
  return shift < 0 ? x / static_cast<double>(std::uint64_t{1} << -shift) : x * static_cast<double>(std::uint64_t{1} << shift);
}

}  // namespace detail
}  // namespace ballast::inline v0_2
