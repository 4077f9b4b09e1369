// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief `list_tie`: which of several ready backwards a stage does.

namespace ballast::inline v0_2 {

/// @brief Which of several ready backwards a stage does. Only one of each chain is ready at a time.
enum class list_tie : std::uint8_t {
  later_chunk,    ///< the one with most chunks of its chain before it, then the earliest in the order: long chains go back without a rest
  earlier_chain,  ///< the earliest in the order: first in, first out
  later_chain,    ///< the latest in the order: last in, first out
};

}  // namespace ballast::inline v0_2
