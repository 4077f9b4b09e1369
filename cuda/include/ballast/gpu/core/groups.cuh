// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/gpu/core/call.cuh>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief `groups` in memory of a backend.

namespace ballast::inline v0_2::gpu {

/// @brief Sets of indices on the device, as the two arrays of `ballast::groups`.
/// @tparam On     the backend
/// @tparam Index  type of the member indices
template <class On, index_type Index = std::uint32_t>
struct groups {
  array<std::uint64_t, On> offsets;  ///< size() + 1 entries from 0: where each set begins among the members
  array<Index, On> members;          ///< indices of the items, set after set

  /// @brief Number of sets.
  [[nodiscard]] std::size_t size() const noexcept { return offsets.size() == 0 ? 0 : offsets.size() - 1; }
};

}  // namespace ballast::inline v0_2::gpu
