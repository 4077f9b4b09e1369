// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>
#include <string_view>

/// @file
/// @brief Whether a plan exists. "No plan exists" is a value, never an exception.

namespace ballast::inline v0_2 {

/// @brief Whether a plan was found.
enum class status : std::uint8_t {
  feasible,    ///< the result holds a plan
  infeasible,  ///< it is proven that no plan exists; the result holds the bound that proves it
  unknown,     ///< no plan was found, and none is proven impossible
};

/// @brief The name of a status. @param found any enumerator @return a word, such as "feasible"
[[nodiscard]] constexpr std::string_view to_string(status found) noexcept {
  return found == status::feasible ? "feasible" : found == status::infeasible ? "infeasible" : "unknown";
}

}  // namespace ballast::inline v0_2
