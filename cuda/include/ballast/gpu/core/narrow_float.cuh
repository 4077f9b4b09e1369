// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/version.hpp>

#include <concepts>
#include <cstdint>

/// @file
/// @brief 16-bit floating-point numbers in memory of a backend, without headers of CUDA. Their bits are those of `__nv_bfloat16` and
/// `__half`, and of `at::BFloat16` and `at::Half`: pass such arrays by `reinterpret_cast`.

namespace ballast::inline v0_2::gpu {

namespace detail {
[[nodiscard]] BALLAST_HD inline std::uint32_t bits_of(float x) { return __builtin_bit_cast(std::uint32_t, x); }
[[nodiscard]] BALLAST_HD inline float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
// The upper 32 - Shift bits, rounded to the nearest, halves to even.
template <int Shift>
[[nodiscard]] BALLAST_HD constexpr std::uint32_t rounded_bits(std::uint32_t bits) {
  return (bits + ((std::uint32_t{1} << (Shift - 1)) - 1) + (bits >> Shift & 1)) >> Shift;
}
}  // namespace detail

/// @brief A number of 8 bits of exponent and 7 of fraction: the upper half of a `float`.
struct bfloat16 {
  std::uint16_t bits;  ///< sign, exponent, fraction
  bfloat16() = default;
  /// @brief The number nearest to a `float`, halves to even. @param x any number
  BALLAST_HD explicit bfloat16(float x) {
    auto const all = detail::bits_of(x);
    bits = static_cast<std::uint16_t>((all & 0x7fffffffU) > 0x7f800000U ? all >> 16 | 0x40U : detail::rounded_bits<16>(all));
  }
  /// @brief The number nearest to that of a `double` in a `float`. @param x any number
  BALLAST_HD explicit bfloat16(double x) : bfloat16(static_cast<float>(x)) {}
  /// @brief The same number.
  [[nodiscard]] BALLAST_HD explicit operator float() const { return detail::float_of(std::uint32_t{bits} << 16); }
  /// @brief The same number.
  [[nodiscard]] BALLAST_HD explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
};

/// @brief A number of 5 bits of exponent and 10 of fraction (IEEE binary16).
struct float16 {
  std::uint16_t bits;  ///< sign, exponent, fraction
  float16() = default;
  /// @brief The number nearest to a `float`, halves to even; infinite from 65520 on. @param x any number
  BALLAST_HD explicit float16(float x) {
    auto const all = detail::bits_of(x);
    auto const size = all & 0x7fffffffU, sign = all >> 16 & 0x8000U;
    if (size > 0x7f800000U)
      bits = static_cast<std::uint16_t>(sign | 0x7e00U);
    else if (size >= 0x477ff000U)
      bits = static_cast<std::uint16_t>(sign | 0x7c00U);
    else if (size < 0x38800000U)  // below the least normal number: the sum has its fraction in units of 2^-24, rounded
      bits = static_cast<std::uint16_t>(sign | (detail::bits_of(detail::float_of(size) + 0.5F) - 0x3f000000U));
    else
      bits = static_cast<std::uint16_t>(sign | detail::rounded_bits<13>(size - (112U << 23)));
  }
  /// @brief The number nearest to that of a `double` in a `float`. @param x any number
  BALLAST_HD explicit float16(double x) : float16(static_cast<float>(x)) {}
  /// @brief The same number.
  [[nodiscard]] BALLAST_HD explicit operator float() const {
    auto const size = std::uint32_t{bits} & 0x7fffU, sign = (std::uint32_t{bits} & 0x8000U) << 16;
    if (size >= 0x7c00U) return detail::float_of(sign | 0x7f800000U | size << 13);
    auto const all = size >= 0x400U ? (size << 13) + (112U << 23)  // else the fraction is in units of 2^-24
                                    : detail::bits_of(detail::float_of(0x3f000000U | size) - 0.5F);
    return detail::float_of(sign | all);
  }
  /// @brief The same number.
  [[nodiscard]] BALLAST_HD explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
};

/// @brief The type of losses and gradients on the device: `float`, `double`, `bfloat16` or `float16`.
template <class T>
concept device_number = std::floating_point<T> || std::same_as<T, bfloat16> || std::same_as<T, float16>;

}  // namespace ballast::inline v0_2::gpu
