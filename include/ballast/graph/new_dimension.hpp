// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief `new_dimension`: a dimension that no caller declared, such as the k in S0 = 2 k, S1 = 3 k.

namespace ballast::inline v0_2 {

/// @brief A dimension k that was added behind others: an earlier dimension equals `offset + step * k`.
struct new_dimension {
  std::uint32_t from = 0;   ///< index of the earlier dimension
  std::int64_t offset = 0;  ///< value of the earlier dimension where k is 0
  std::int64_t step = 1;    ///< positive

  friend constexpr bool operator==(new_dimension const&, new_dimension const&) = default;
};

}  // namespace ballast::inline v0_2
