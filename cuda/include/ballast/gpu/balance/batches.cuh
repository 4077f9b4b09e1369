// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief What the twins of balance/ read: batches of items, and candidate plans for them.

namespace ballast::inline v0_2::gpu {

/// @brief The most sets of one batch: what fits in the shared memory of a block.
inline constexpr std::uint64_t most_sets = 4096;

/// @brief Global batches in memory of a backend: items that are dealt together, one batch after the other.
struct cost_batches {
  std::int64_t const* costs = nullptr;     ///< of each item, none negative; those of a batch sum to less than 2^63
  std::uint64_t items = 0;                 ///< of all batches together
  std::uint64_t const* offsets = nullptr;  ///< where each batch begins among the items, from 0, and the end of all; never decreasing
  std::uint64_t batches = 0;               ///< one less than offsets, below 2^32
};

/// @brief Candidate plans for the same items, in memory of a backend.
struct candidate_plans {
  std::int64_t const* costs = nullptr;    ///< of each item, none negative, with a sum below 2^63
  std::uint64_t items = 0;                ///< how many
  std::uint32_t const* set_of = nullptr;  ///< candidate after candidate, the set of each item; `no_set` leaves it out
  std::uint64_t candidates = 0;           ///< how many
  std::uint64_t sets = 0;                 ///< of each plan, 1 … `most_sets`
};

}  // namespace ballast::inline v0_2::gpu
