// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/wide.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

/// @file
/// @brief Roots and powers of counts, the same bits on host and device: integers, or single operations that IEEE 754 rounds correctly.

namespace ballast::inline v0_2 {
namespace detail {

// Counts of one sequence stay below this; so do roots and powers with 44 bits of fraction.
inline constexpr std::int64_t count_limit = std::int64_t{1} << 40;

// An exponent in [0, 1] is an integer in units of 2^-62.
inline constexpr std::uint64_t whole_exponent = std::uint64_t{1} << 62;

// A real number above 0: mantissa / 2^63 * 2^exponent, with a mantissa of 64 bits.
struct real64 {
  std::uint64_t mantissa = 0;
  int exponent = 0;
};

// The square root, correctly rounded; the compiler turns it into one instruction.
[[nodiscard]] BALLAST_HD inline double square_root(double x) noexcept { return std::sqrt(x); }

// 1 + z / 3 + z^2 / 5 + …, in units of 2^-63; z in units of 2^-64.
template <std::size_t... K>
[[nodiscard]] BALLAST_HD constexpr std::uint64_t odd_series(std::uint64_t z, std::index_sequence<K...>) noexcept {
  constexpr auto last = sizeof...(K);
  std::uint64_t sum = 0;
  ((sum = (std::uint64_t{1} << 63) / (2 * (last - K) - 1) + multiply(sum, z).high), ...);
  return sum;
}

// 2^63 / k!, rounded down.
[[nodiscard]] BALLAST_HD constexpr std::uint64_t inverse_factorial(std::size_t k) noexcept {
  auto term = std::uint64_t{1} << 63;
  for (std::size_t j = 2; j <= k; ++j) term /= j;
  return term;
}
// 1 + y + y^2 / 2! + …, in units of 2^-63; y in units of 2^-64.
template <std::size_t... K>
[[nodiscard]] BALLAST_HD constexpr std::uint64_t exponential_series(std::uint64_t y, std::index_sequence<K...>) noexcept {
  constexpr auto last = sizeof...(K);
  std::uint64_t sum = 0;
  ((sum = std::integral_constant<std::uint64_t, inverse_factorial(last - 1 - K)>::value + multiply(sum, y).high), ...);
  return sum;
}

// log2(count) in units of 2^-58, wrong by a few of them at most; count in [1, 2^40).
[[nodiscard]] BALLAST_HD constexpr std::uint64_t log2_of(std::uint64_t count) noexcept {
  int exponent = 0;
  for (auto rest = count; rest > 1; rest >>= 1) ++exponent;
  auto power = std::uint64_t{1} << exponent;
  if ((count - power) * 256 > power * 106) {  // past about sqrt(2): measure from the next power, so that the series stays short
    power *= 2;
    ++exponent;
  }
  auto const below = count < power;
  auto const divisor = count + power;
  auto rest = below ? power - count : count - power;  // ln(count / power) = 2 artanh(s), s = rest / divisor
  std::uint64_t s = 0;                                // in units of 2^-63, by 21 bits at a time: nothing passes 64 bits
  for (int i = 0; i < 3; ++i) {
    s = s << 21 | (rest << 21) / divisor;
    rest = (rest << 21) % divisor;
  }
  s <<= 1;
  auto const artanh = multiply(s, odd_series(multiply(s, s).high, std::make_index_sequence<13>{})).high;
  auto const fraction = multiply(artanh, 0xb8aa3b295c17f0bbU).high >> 3;  // 2 / ln 2 in units of 2^-62
  auto const whole = static_cast<std::uint64_t>(exponent) << 58;
  return below ? whole - fraction : whole + fraction;
}

// count^(power / 2^62), within a relative 2^-54; count in [1, 2^40), power in [0, 2^62].
[[nodiscard]] BALLAST_HD constexpr real64 power_of(std::uint64_t count, std::uint64_t power) noexcept {
  auto const product = multiply(log2_of(count), power);
  auto const exponent = product.high << 2 | product.low >> 62;       // in units of 2^-58
  auto const y = multiply(exponent << 6, 0xb17217f7d1cf79abU).high;  // its fraction times ln 2
  return {exponential_series(y, std::make_index_sequence<20>{}), static_cast<int>(exponent >> 58)};
}

[[nodiscard]] BALLAST_HD constexpr double to_double(real64 x) noexcept {
  return static_cast<double>(x.mantissa) * 0x1p-63 * static_cast<double>(std::uint64_t{1} << x.exponent);
}

// A number from 0 to 2^40 in fixed point, as two counters that ranks add up: whole + fraction / 2^44.
inline constexpr int fraction_bits = 44;
inline constexpr std::int64_t fraction_mask = (std::int64_t{1} << fraction_bits) - 1;
struct fixed44 {
  std::int64_t whole = 0;
  std::int64_t fraction = 0;
};

// count^(1 - power / 2^62), rounded down; count in [1, 2^40).
[[nodiscard]] BALLAST_HD inline fixed44 complement_power(std::int64_t count, std::uint64_t power) noexcept {
  if (power == whole_exponent / 2) {
    auto const root = square_root(static_cast<double>(count));
    auto const units = static_cast<std::uint64_t>(root * 0x1p44);  // the root is below 2^20
    return {static_cast<std::int64_t>(units >> fraction_bits), static_cast<std::int64_t>(units) & fraction_mask};
  }
  auto const x = power_of(static_cast<std::uint64_t>(count), whole_exponent - power);
  return {static_cast<std::int64_t>(x.mantissa >> (63 - x.exponent)),
          static_cast<std::int64_t>(x.mantissa << x.exponent << 1 >> (64 - fraction_bits))};
}

}  // namespace detail
}  // namespace ballast::inline v0_2
