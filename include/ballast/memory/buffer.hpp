// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief `buffer`: memory that is needed from one time to another.

namespace ballast::inline v0_2 {

/// @brief Memory that is in use at the times `lower` … `upper - 1`. Times are any integers, such as positions in an order of operators.
struct buffer {
  std::int64_t lower = 0;      ///< first time at which it is in use
  std::int64_t upper = 0;      ///< first time at which it is not in use any more, above `lower`
  std::int64_t size = 0;       ///< bytes, not negative
  std::int64_t alignment = 1;  ///< its address is a multiple of this, at least 1
  std::int64_t fixed = -1;     ///< the address that it must have; -1: any

  friend constexpr bool operator==(buffer const&, buffer const&) = default;
};

}  // namespace ballast::inline v0_2
