// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/loss/detail/quotient.hpp>
#include <ballast/loss/fixed_point_sum.hpp>

#include <cstdint>
#include <limits>
#include <type_traits>

// Values as unsigned integers of the same order, and what is known of a part of a sequence. Parts are added in any order.

namespace ballast::inline v0_2::detail {

inline constexpr auto top_bit = std::uint64_t{1} << 63;
template <class Value>
inline constexpr auto no_number = std::numeric_limits<Value>::quiet_NaN();

// Of two numbers that are not NaN, the larger one has the larger key; -0 is below 0. No such number has the key 0 or ~0.
template <class Value>
[[nodiscard]] BALLAST_HD constexpr std::uint64_t ordered_key(Value value) noexcept {
  if constexpr (std::is_floating_point_v<Value>) {
    auto const bits = __builtin_bit_cast(std::uint64_t, static_cast<double>(value));
    return bits >= top_bit ? ~bits : bits | top_bit;
  } else {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) ^ top_bit;
  }
}
template <class Value>
[[nodiscard]] BALLAST_HD constexpr Value of_ordered_key(std::uint64_t key) noexcept {
  if constexpr (std::is_floating_point_v<Value>) {
    if (key == 0 || key == ~std::uint64_t{0}) return no_number<Value>;
    return static_cast<Value>(__builtin_bit_cast(double, key >= top_bit ? key ^ top_bit : ~key));
  } else {
    return static_cast<Value>(static_cast<std::int64_t>(key ^ top_bit));
  }
}

struct segment_part {
  std::uint64_t least = ~std::uint64_t{0}, largest = 0;                      // keys
  std::int64_t high = 0, low = 0, saturated = 0, not_finite = 0, count = 0;  // the words of the sum, carried; number of values

  BALLAST_HD constexpr void add(segment_part const& other) noexcept {
    least = other.least < least ? other.least : least;
    largest = largest < other.largest ? other.largest : largest;
    high += other.high + ((low + other.low) >> 32);
    low = (low + other.low) & 0xffffffff;
    saturated += other.saturated;
    not_finite += other.not_finite;
    count += other.count;
  }
};

template <class Value>
[[nodiscard]] BALLAST_HD constexpr segment_part part_of(Value value) noexcept {
  segment_part out;
  out.count = 1;
  out.least = out.largest = ordered_key(value);
  std::int64_t units = 0;
  if constexpr (std::is_floating_point_v<Value>) {
    if (value != value) {  // NaN
      out.least = 0;
      out.largest = ~std::uint64_t{0};
    }
    auto const term = to_fixed_point(static_cast<double>(value), 0x1p24);
    units = term.units;
    out.saturated = term.saturated ? 1 : 0;
    out.not_finite = term.not_finite ? 1 : 0;
  } else {
    units = static_cast<std::int64_t>(value);
  }
  out.high = units >> 32;
  out.low = units & 0xffffffff;
  return out;
}

template <class Value>
[[nodiscard]] BALLAST_HD constexpr Value segment_least(segment_part const& part) noexcept {
  return part.count == 0 ? Value{} : of_ordered_key<Value>(part.least);
}
template <class Value>
[[nodiscard]] BALLAST_HD constexpr Value segment_largest(segment_part const& part) noexcept {
  return part.count == 0 ? Value{} : of_ordered_key<Value>(part.largest);
}
template <class Value>
[[nodiscard]] BALLAST_HD constexpr double segment_mean(segment_part const& part) noexcept {
  if (part.count == 0) return 0.0;
  if (part.saturated != 0 || part.not_finite != 0) return no_number<double>;
  constexpr auto unit = std::is_floating_point_v<Value> ? 0x1p8 : 0x1p32;  // of the high word
  return nearest_double(part.high, part.low, 0x1p32) * unit / static_cast<double>(part.count);
}

}  // namespace ballast::inline v0_2::detail
