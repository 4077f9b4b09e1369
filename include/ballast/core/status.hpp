// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief Whether a plan exists. "No plan exists" is a value, never an exception.

namespace ballast::inline v0_2 {

/// @brief Whether a plan was found.
enum class status : std::uint8_t {
  feasible,    ///< the result holds a plan
  infeasible,  ///< it is proven that no plan exists; the result holds the bound that proves it
  unknown,     ///< no plan was found, and none is proven impossible
};

}  // namespace ballast::inline v0_2
