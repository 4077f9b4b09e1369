// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

/// @file
/// @brief Integer arithmetic that every room needs: quotients rounded up, multiples, sums checked for overflow.

namespace ballast::inline v0_2 {

/// @brief The quotient, rounded up. @param a not negative @param b positive @return the smallest integer that is at least `a / b`
template <integer T>
[[nodiscard]] BALLAST_HD constexpr T divide_up(T a, T b) noexcept {
  return static_cast<T>(a / b + (a % b != 0 ? 1 : 0));
}
/// @brief Rounds down to a multiple. @param value not negative @param multiple positive
/// @return the largest multiple that is at most `value`
template <integer T>
[[nodiscard]] BALLAST_HD constexpr T round_down(T value, T multiple) noexcept {
  return static_cast<T>(value - value % multiple);
}
/// @brief Rounds up to a multiple. @param value not negative @param multiple positive
/// @return the smallest multiple that is at least `value`; it must be below 2^63
template <integer T>
[[nodiscard]] BALLAST_HD constexpr T round_up(T value, T multiple) noexcept {
  return static_cast<T>(value % multiple == 0 ? value : value + (multiple - value % multiple));
}

/// @brief The first number for which something holds, where it holds for all larger ones too.
/// @param low    the first number that is tried
/// @param high   one past the last number that is tried
/// @param holds  called with a number
/// @return the first number, or `high` if it holds for none
/// @par Complexity
/// O(log(high - low)) calls.
template <integer T, class Holds>
[[nodiscard]] constexpr T first_where(T low, T high, Holds const& holds) {
  while (low < high) {
    auto const middle = static_cast<T>(low + (high - low) / 2);
    if (holds(middle))
      high = middle;
    else
      low = static_cast<T>(middle + 1);
  }
  return low;
}

/// @brief Adds one entry of a caller's argument to a sum.
/// @param sum    the sum so far, in [0, 2^63)
/// @param value  the number to add
/// @param what   name of the argument that holds the number, for the message
/// @param i      index of the number in the argument
/// @throws invalid_input if the number is negative or brings the sum to 2^63
inline void add_checked(std::int64_t& sum, std::int64_t value, char const* what, std::size_t i) {
  require(value >= 0, [&] { return entry(what, i, value) + " must not be negative"; });
  require(value <= (std::numeric_limits<std::int64_t>::max)() - sum,
          [&] { return entry(what, i, value) + " brings a sum to 2^63 or more"; });
  sum += value;
}

}  // namespace ballast::inline v0_2
