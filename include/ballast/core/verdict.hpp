// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief `verdict`: the result of a validator.

namespace ballast::inline v0_2 {

/// @brief The first rule that a result breaks, the place, and the two numbers that show it.
///
/// Each room's check.hpp lists its rules as an enumeration whose first value is `none`, says what `index` counts for each rule, and has a
/// function `describe` that makes a sentence of a verdict.
///
/// @tparam Fault   enumeration of rules; 0 is `none`
/// @tparam Number  type of the values found and expected
template <class Fault, class Number = std::uint64_t>
struct verdict {
  Fault fault = Fault::none;  ///< the broken rule; `none` if all rules hold
  std::uint64_t index = 0;    ///< where it is broken; the rule says what is counted; 0 if the rule is about the whole result
  Number found = 0;           ///< value in the result; 0 if the rule is not about a number
  Number expected = 0;        ///< value the result should have, or the largest or smallest allowed

  /// @brief Whether all rules hold.
  [[nodiscard]] constexpr bool valid() const noexcept { return fault == Fault::none; }

  friend constexpr bool operator==(verdict const&, verdict const&) = default;
};

}  // namespace ballast::inline v0_2
