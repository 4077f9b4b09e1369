// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/verdict.hpp>

namespace ballast_test {

/// The rule that is broken and where, without the numbers.
[[nodiscard]] constexpr ballast::verdict place_of(ballast::verdict const& v) { return {v.fault, v.index}; }

}  // namespace ballast_test
