// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief 128-bit products of 64-bit integers, on every compiler and on the device: exact comparison and exact division.

namespace ballast::inline v0_2 {

/// @brief An unsigned 128-bit integer: `high * 2^64 + low`.
struct wide {
  std::uint64_t high = 0;  ///< the upper 64 bits
  std::uint64_t low = 0;   ///< the lower 64 bits
  friend constexpr bool operator==(wide const&, wide const&) = default;
  /// @brief Whether `a` is less than `b`. @param a any value @param b any value
  friend BALLAST_HD constexpr bool operator<(wide a, wide b) noexcept { return a.high != b.high ? a.high < b.high : a.low < b.low; }
  /// @brief The sum modulo 2^128. @param a any value @param b any value
  friend BALLAST_HD constexpr wide operator+(wide a, wide b) noexcept {
    auto const lower = a.low + b.low;
    return {a.high + b.high + (lower < a.low ? 1U : 0U), lower};
  }
};

#if defined(__SIZEOF_INT128__) && !defined(__CUDA_ARCH__)
namespace detail {
__extension__ typedef unsigned __int128 native_wide;  // NOLINT(modernize-use-using): the extension needs it
}
#endif

/// @brief The exact product, in 128 bits. @param a any value @param b any value @return `a * b`
[[nodiscard]] BALLAST_HD constexpr wide multiply(std::uint64_t a, std::uint64_t b) noexcept {
#if defined(__SIZEOF_INT128__) && !defined(__CUDA_ARCH__)
  auto const product = static_cast<detail::native_wide>(a) * b;
  return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
#else
  constexpr std::uint64_t half = 0xffffffffU;
  auto const low = (a & half) * (b & half);
  auto const cross = (a >> 32) * (b & half) + (low >> 32);  // at most 2^64 - 2^33 + 2^32: no carry is lost
  auto const other = (a & half) * (b >> 32) + (cross & half);
  return {(a >> 32) * (b >> 32) + (cross >> 32) + (other >> 32), (other << 32) | (low & half)};
#endif
}

/// @brief The sign of `a * b - c * d`, computed without overflow. With positive b, d it compares the fractions `a / d` and `c / b`.
/// @param a any value above -2^63 @param b any value above -2^63 @param c any value above -2^63 @param d any value above -2^63
/// @return -1, 0 or 1
[[nodiscard]] BALLAST_HD constexpr int compare_products(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) noexcept {
  auto const sign = [](std::int64_t x, std::int64_t y) { return x == 0 || y == 0 ? 0 : (x < 0) == (y < 0) ? 1 : -1; };
  auto const size = [](std::int64_t x) { return static_cast<std::uint64_t>(x < 0 ? -x : x); };
  auto const left = sign(a, b), right = sign(c, d);
  if (left != right) return left < right ? -1 : 1;
  auto const x = multiply(size(a), size(b)), y = multiply(size(c), size(d));
  if (x == y) return 0;
  return x < y ? -left : left;
}

/// @brief A quotient of integers and its remainder.
struct division {
  std::uint64_t whole = 0;  ///< rounded down
  std::uint64_t rest = 0;   ///< below the divisor
};

/// @brief Divides an integer of 128 bits. @param dividend any value @param divisor not 0; the quotient must be below 2^64
/// @return the quotient, rounded down, and the remainder
[[nodiscard]] BALLAST_HD constexpr division divide(wide dividend, std::uint64_t divisor) noexcept {
  if (dividend.high == 0) return {dividend.low / divisor, dividend.low % divisor};
#if defined(__SIZEOF_INT128__) && !defined(__CUDA_ARCH__)
  auto const whole = static_cast<std::uint64_t>((static_cast<detail::native_wide>(dividend.high) << 64 | dividend.low) / divisor);
  return {whole, dividend.low - whole * divisor};
#else
  // Long division with digits of 32 bits (Knuth, The Art of Computer Programming 2, algorithm D): shift until the first bit is set.
  constexpr std::uint64_t half = 0xffffffffU;
  auto by = divisor;
  int shift = 0;
  for (int s = 32; s > 0; s /= 2) {
    if (by >> (64 - s) != 0) continue;
    by <<= s;
    shift += s;
  }
  auto const high = shift == 0 ? dividend.high : dividend.high << shift | dividend.low >> (64 - shift), low = dividend.low << shift;
  auto const digit = [by](std::uint64_t above, std::uint64_t next) {  // of (above * 2^32 + next) / by, where above < by
    auto guess = above / (by >> 32), rest = above % (by >> 32);
    while (guess > half || guess * (by & half) > (rest << 32 | next)) {
      --guess;
      rest += by >> 32;
      if (rest > half) break;
    }
    return guess;
  };
  auto const first = digit(high, low >> 32);
  auto const middle = (high << 32 | low >> 32) - first * by;  // modulo 2^64
  auto const second = digit(middle, low & half);
  return {first << 32 | second, ((middle << 32 | (low & half)) - second * by) >> shift};
#endif
}

/// @brief `a * b / divisor`, rounded up. @param a any value @param b any value @param divisor not 0; the quotient must be below 2^64
/// @return the quotient
[[nodiscard]] BALLAST_HD constexpr std::uint64_t multiply_divide_up(std::uint64_t a, std::uint64_t b, std::uint64_t divisor) noexcept {
  auto const found = divide(multiply(a, b), divisor);
  return found.whole + (found.rest != 0 ? 1U : 0U);
}

/// @brief `a / b` in millionths, rounded up. @param a any value @param b any value; `a / b` must be below 2^63 / 1,000,000
/// @return the ratio, 0 if `b` is 0; if `b` is 2^64 or more, both lose the bits by which it is too long
[[nodiscard]] BALLAST_HD constexpr std::int64_t in_millionths(wide a, wide b) noexcept {
  auto const halve = [](wide& x) { x = {x.high >> 1, x.high << 63 | x.low >> 1}; };
  for (; b.high != 0; halve(b)) halve(a);
  if (b.low == 0) return 0;
  auto const found = divide(a, b.low);
  return static_cast<std::int64_t>(found.whole * 1'000'000 + multiply_divide_up(found.rest, 1'000'000, b.low));
}

}  // namespace ballast::inline v0_2
