// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief What a validator found.

namespace ballast::inline v0_2 {

/// @brief The first rule that a result breaks, where, and the two numbers that show it.
///
/// Each room's check.hpp lists its rules as an enumeration whose first is `none`, says what `index` counts, and has a `describe` that makes
/// a sentence of a verdict.
///
/// @tparam Fault   enumeration of rules; 0 is `none`
/// @tparam Number  of what was found and expected
template <class Fault, class Number = std::uint64_t>
struct verdict {
  Fault fault = Fault::none;  ///< the rule broken; `none` where all hold
  std::uint64_t index = 0;    ///< where: the validator says of what; 0 where the whole result is at fault
  Number found = 0;           ///< what the result has there; 0 where no number is at fault
  Number expected = 0;        ///< what it should have, or may have at most or at least

  /// @brief Whether no rule is broken.
  [[nodiscard]] constexpr bool valid() const noexcept { return fault == Fault::none; }

  friend constexpr bool operator==(verdict const&, verdict const&) = default;
};

}  // namespace ballast::inline v0_2
