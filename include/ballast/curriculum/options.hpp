// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/level.hpp>

#include <cstdint>
#include <vector>

/// @file
/// @brief Sources and options of a curriculum: which steps there are, how many are trained in each epoch, and in which order.

namespace ballast::inline v0_2 {

/// @brief The order in which an epoch trains its steps. Keys are `curriculum_source::keys`.
enum class curriculum_order : std::uint8_t {
  interleaved,        ///< every source has its share at every point of the epoch; the steps of a source come in random order
  random,             ///< all steps in random order
  ascending,          ///< by key, ascending; equal keys in random order
  ascending_buckets,  ///< buckets of similar keys one after another, smallest keys first; random order within a bucket
  shuffled_buckets,   ///< buckets of similar keys one after another, in random order; random order within a bucket
};

/// @brief A source of steps: the steps of one level, or of one data set at a level.
struct curriculum_source {
  level setting;                        ///< setting that each of its steps is trained with
  std::uint64_t steps = 0;              ///< number of its steps; may be 0
  std::vector<std::int64_t> keys = {};  ///< key of each step (mean length, cost, loss, …); empty: every key is `setting.capacity`
  /// Number of steps that epoch 0, 1, … trains; the last entry holds for all later epochs. With more than `steps`, steps are repeated; with
  /// fewer, some are left out. Empty: each step is trained once. See `steps_of_passes` and `largest_remainder`.
  std::vector<std::uint64_t> per_epoch = {};
};

/// @brief Options of `plan_curriculum`.
struct curriculum_options {
  curriculum_order order = curriculum_order::interleaved;  ///< order of all steps after the warm-up
  std::uint64_t warm_up = 0;  ///< number of steps, all from the sources of smallest capacity, that epoch 0 begins with; HBP published 500
  std::uint32_t warm_up_share = 500;  ///< largest share of those sources' steps that the warm-up takes, in thousandths; from 0 to 1000
  std::uint64_t buckets = 16;         ///< number of buckets of equally many steps, for the two orders by buckets; at least 1
  std::uint64_t seed = 0;             ///< any value; another seed gives another order
  std::uint64_t epoch = 0;            ///< number of the epoch, below 2^31; another epoch gives another order under the same seed
};

}  // namespace ballast::inline v0_2
