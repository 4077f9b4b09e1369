// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief What a planner found out. "No plan exists" is a value, never an exception.

namespace ballast::inline v0_2 {

/// @brief The answer to "is there a plan?".
enum class status : std::uint8_t {
  feasible,    ///< a plan is in the result
  infeasible,  ///< it is proven that none exists; the result names the bound that proves it
  unknown,     ///< none was found, and none was ruled out
};

}  // namespace ballast::inline v0_2
