// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief Inputs of the twins of balance/: batches of items, and candidate plans.

namespace ballast::inline v0_2::gpu {

/// @brief The largest number of sets of one batch: this many fit in the shared memory of a block.
inline constexpr std::uint64_t most_sets = 4096;

/// @brief Global batches in memory of a backend: items that are balanced batch by batch.
struct cost_batches {
  std::int64_t const* costs = nullptr;     ///< cost of each item, not negative; those of a batch sum to less than 2^63
  std::uint64_t items = 0;                 ///< number of items of all batches together
  std::uint64_t const* offsets = nullptr;  ///< batches + 1 entries from 0, never decreasing: where each batch begins among the items
  std::uint64_t batches = 0;               ///< number of batches, below 2^32
};

/// @brief Candidate plans for the same items, in memory of a backend.
struct candidate_plans {
  std::int64_t const* costs = nullptr;    ///< cost of each item, not negative; all sum to less than 2^63
  std::uint64_t items = 0;                ///< number of items
  std::uint32_t const* set_of = nullptr;  ///< the set of each item, candidate after candidate; `no_set` leaves the item out
  std::uint64_t candidates = 0;           ///< number of candidates
  std::uint64_t sets = 0;                 ///< number of sets of each plan, 1 … `most_sets`
};

}  // namespace ballast::inline v0_2::gpu
