// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/layer.hpp>
#include <ballast/cost/schedule.hpp>

#include <cstdint>

/// @file
/// @brief `training_options`: stages, memory and schedule of a training.

namespace ballast::inline v0_2 {

/// @brief Options of `plan_training`. `stages` and `memory` have no default.
struct training_options {
  std::uint64_t stages = 0;  ///< number of pipeline stages of each rank, 1 … 2^20
  std::int64_t memory = 0;   ///< bytes of each device that the plan may use, not negative
  any_schedule schedule =
      one_f_one_b_schedule{};  ///< any schedule; an interleaved one gets empty micro-batches up to a multiple of `stages`
  batch_shape largest{};       ///< a micro-batch that must fit in memory besides those of the plan: of each number the larger one counts
  friend constexpr bool operator==(training_options const&, training_options const&) = default;
};

}  // namespace ballast::inline v0_2
