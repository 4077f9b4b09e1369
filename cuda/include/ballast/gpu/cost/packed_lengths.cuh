// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>

#include <cstdint>

/// @file
/// @brief Packs as inputs of the cost twins: `groups` over lengths, in memory of a backend.

namespace ballast::inline v0_2::gpu {

/// @brief Packs in memory of a backend.
/// @tparam Len    an integer
/// @tparam Index  type of the members
template <integer Len, index_type Index = std::uint32_t>
struct packed_lengths {
  Len const* lengths = nullptr;            ///< tokens of each sample
  std::uint64_t samples = 0;               ///< number of samples
  Index const* members = nullptr;          ///< sample indices, pack after pack; null: the samples are in the order of the packs
  std::uint64_t placed = 0;                ///< number of members
  std::uint64_t const* offsets = nullptr;  ///< packs + 1 entries, never decreasing: where each pack begins among the members
  std::uint64_t packs = 0;                 ///< number of packs; members that no pack covers are left out
};

}  // namespace ballast::inline v0_2::gpu
