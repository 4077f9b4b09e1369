// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>
#include <ballast/loss/detail/quotient.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

/// @file
/// @brief `fixed_point_sum`: a sum of losses in integers, which is the same for any split and order over threads, ranks and micro-batches.

namespace ballast::inline v0_2 {

namespace detail {
// A number as an integer number of units, with flags for what was wrong with it.
struct fixed_point_term {
  std::int64_t units = 0;
  bool saturated = false;
  bool not_finite = false;
};

inline constexpr auto most_units = 0x1p55;
[[nodiscard]] BALLAST_HD constexpr bool few_units(double units) noexcept { return units < most_units && units > -most_units; }
// Rounds few units, halves away from zero. All steps are exact, so the result depends neither on contraction nor on the rounding mode.
[[nodiscard]] BALLAST_HD constexpr std::int64_t whole_units(double units) noexcept {
  auto const whole = static_cast<std::int64_t>(units);
  auto const rest = units - static_cast<double>(whole);
  return whole + (rest >= 0.5 ? 1 : 0) - (rest <= -0.5 ? 1 : 0);
}
[[nodiscard]] BALLAST_HD constexpr fixed_point_term to_fixed_point(double x, double units_per_1) noexcept {
  auto const units = x * units_per_1;  // exact: units_per_1 is a power of two
  if (few_units(units)) [[likely]]
    return {whole_units(units)};
  if (x - x != 0.0) return {.not_finite = true};
  return {static_cast<std::int64_t>(x > 0.0 ? most_units : -most_units), true};
}
}  // namespace detail

/// @brief A sum of floating-point numbers, each rounded once to a multiple of 2^-FractionBits. All-reduce `words` by addition.
///
/// A number whose units reach 2^55 (2^31 with the default scale) is replaced by that limit and counted as saturated. A number that is not
/// finite is left out and counted. Sums of up to 2^39 numbers are exact in the units.
///
/// @tparam FractionBits  bits after the binary point; 24 suits losses (each is off by at most 2^-25), 44 or more suits losses that are
///                       already weighted
/// @par Determinism
/// The same integers for every partition and order, on host and device.
template <int FractionBits = 24>
  requires(FractionBits >= 0 && FractionBits <= 55)
struct fixed_point_sum {
  /// Upper part in units of 2^32, lower part in units, number of saturated numbers, number of numbers that were not finite.
  std::array<std::int64_t, 4> words{};

  /// @brief Adds one number. @tparam T a floating-point type @param x the number
  template <std::floating_point T>
  constexpr void add(T x) noexcept {
    add_all(std::span<T const>(&x, 1));
  }

  /// @brief Adds numbers. @param numbers for example the token losses of a sequence
  constexpr void add(std::span<float const> numbers) noexcept { add_all(numbers); }
  /// @brief Adds numbers. @param numbers for example the token losses of a sequence
  constexpr void add(std::span<double const> numbers) noexcept { add_all(numbers); }

  /// @brief Adds another sum. @param other any sum of this type @return this
  constexpr fixed_point_sum& operator+=(fixed_point_sum const& other) noexcept {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] += other.words[i];
    carry();
    return *this;
  }

  /// @brief The sum of all numbers added. @return the nearest double
  [[nodiscard]] constexpr double value() const noexcept {
    return detail::nearest_double(words[0] + (words[1] >> 32), words[1] & 0xffffffff, 0x1p32) * (0x1p32 / units_per_1);
  }
  /// @brief How many numbers were replaced by the limit. @return their number
  [[nodiscard]] constexpr std::int64_t saturated() const noexcept { return words[2]; }
  /// @brief How many numbers were infinite or NaN. @return their number
  [[nodiscard]] constexpr std::int64_t not_finite() const noexcept { return words[3]; }
  /// @brief Whether no number was saturated or left out. @return true if all numbers are in the sum, each rounded once
  [[nodiscard]] constexpr bool clean() const noexcept { return words[2] == 0 && words[3] == 0; }
  /// @brief Whether two sums are the same integers, whatever the order of their additions.
  friend constexpr bool operator==(fixed_point_sum a, fixed_point_sum b) noexcept {
    a.carry();
    b.carry();
    return a.words == b.words;
  }

 private:
  static constexpr double units_per_1 = static_cast<double>(std::uint64_t{1} << FractionBits);
  static constexpr std::size_t block = std::size_t{1} << 20;  // number of lower parts whose sum fits in 63 bits

  constexpr void carry() noexcept {
    words[0] += words[1] >> 32;
    words[1] &= 0xffffffff;
  }
  template <class T>
  constexpr void add_all(std::span<T const> numbers) noexcept {
    while (!numbers.empty()) {
      auto const some = numbers.first(numbers.size() < block ? numbers.size() : block);
      std::int64_t high = 0, low = 0;
      for (auto const x : some) {
        auto const term = detail::to_fixed_point(static_cast<double>(x), units_per_1);
        high += term.units >> 32;
        low += term.units & 0xffffffff;
        words[2] += term.saturated ? 1 : 0;
        words[3] += term.not_finite ? 1 : 0;
      }
      words[0] += high;
      words[1] += low;
      carry();
      numbers = numbers.subspan(some.size());
    }
  }
};

}  // namespace ballast::inline v0_2
