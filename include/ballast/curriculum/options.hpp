// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/level.hpp>

#include <cstdint>
#include <vector>

/// @file
/// @brief What a planner of curricula is asked: whose steps, how many of them in each epoch, and in which order.

namespace ballast::inline v0_2 {

/// @brief In which order an epoch trains its steps. Keys are those of `curriculum_source`.
enum class curriculum_order : std::uint8_t {
  interleaved,        ///< every source has its share at every point, its steps in random order
  random,             ///< all steps in random order
  ascending,          ///< by key; equal keys in random order
  ascending_buckets,  ///< buckets of like keys one after another, each in random order, smallest keys first
  shuffled_buckets,   ///< buckets of like keys one after another, each in random order, in random order
};

/// @brief The steps of one level, or of one data set at a level.
struct curriculum_source {
  level setting;            ///< how each of its steps is trained
  std::uint64_t steps = 0;  ///< how many there are; may be 0
  std::vector<std::int64_t> keys =
      {};  ///< one for each step (mean length, cost, loss, …), or none: then `setting.capacity` is the key of all
  /// How many steps epoch 0, 1, … trains; the last entry holds for all later epochs. More than `steps` repeats, fewer thins out. Empty:
  /// each step once. See `steps_of_passes` and `largest_remainder`.
  std::vector<std::uint64_t> per_epoch = {};
};

/// @brief The request to a planner of curricula.
struct curriculum_options {
  curriculum_order order = curriculum_order::interleaved;  ///< order of all steps after the warm-up
  std::uint64_t warm_up = 0;          ///< steps that epoch 0 begins with, all from the sources of least capacity; published: 500
  std::uint32_t warm_up_share = 500;  ///< the warm-up takes no more of those sources' steps, in thousandths; 0 … 1000
  std::uint64_t buckets = 16;         ///< buckets of equally many steps, for the two orders by buckets; at least 1
  std::uint64_t seed = 0;             ///< any value; another seed is another order
  std::uint64_t epoch = 0;            ///< the epoch to plan, below 2^31; another epoch is another order of the same seed
};

}  // namespace ballast::inline v0_2
