// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

/// @file
/// @brief `scaled`: turns a floating cost into an integer one. Planners decide only on integers.

namespace ballast::inline v0_2 {

namespace detail {
/// The nearest integer to a number in [0, 2^62), halves up. Adding 0.5 would round once more, and might be fused with a product before.
constexpr std::int64_t nearest(double value) { return (static_cast<std::int64_t>(2 * value) + 1) / 2; }
}  // namespace detail

/// @brief A floating cost turned into an integer cost: `units_per_1` units for a cost of 1, rounded to nearest, halves up.
///
/// @tparam Cost  a callable from a length to a floating-point number that is not negative
template <class Cost>
  requires std::floating_point<std::invoke_result_t<Cost const&, std::int64_t>>
struct scaled_cost {
  Cost cost;               ///< the floating cost
  double units_per_1 = 1;  ///< integer units per unit of `cost`
  /// @brief The cost in integer units. @param length tokens, with `fits(length)`
  constexpr std::int64_t operator()(std::int64_t length) const { return detail::nearest(exact(length)); }
  /// @brief Whether the scaled cost is a number in [0, 2^53): up to there, doubles represent all integers. @param length tokens
  [[nodiscard]] constexpr bool fits(std::int64_t length) const {
    auto const units = exact(length);
    return units >= 0.0 && units < 9007199254740992.0;  // false for NaN
  }

 private:
  [[nodiscard]] constexpr double exact(std::int64_t length) const { return static_cast<double>(cost(length)) * units_per_1; }
};

/// @brief Makes an integer cost of a floating one, rounded once.
///
/// @tparam Cost  a callable from a length to a floating-point number
/// @param cost         a floating cost that is not negative: seconds, FLOPs, …
/// @param units_per_1  integer units for a cost of 1 (with 1e9, seconds become nanoseconds); finite and positive
/// @return a `bounded_cost_model`
/// @throws invalid_input if `units_per_1` is not finite and positive
template <class Cost>
  requires std::floating_point<std::invoke_result_t<Cost const&, std::int64_t>>
[[nodiscard]] constexpr scaled_cost<Cost> scaled(Cost cost, double units_per_1) {
  require(units_per_1 > 0.0 && units_per_1 < 1e300,
          [&] { return "units_per_1 = " + std::to_string(units_per_1) + " must be finite and positive"; });
  return {cost, units_per_1};
}

}  // namespace ballast::inline v0_2
