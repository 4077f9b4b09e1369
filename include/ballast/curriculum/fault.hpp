// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief The rules that a curriculum can break.

namespace ballast::inline v0_2 {

/// @brief The rule that a curriculum breaks.
enum class curriculum_fault : std::uint8_t {
  none,                 ///< the plan is valid
  wrong_shape,          ///< the lists differ in length, the warm-up is longer than the plan, or the epoch is not the demanded one
  wrong_settings,       ///< a setting differs from that of its source
  source_out_of_range,  ///< the source of a step is out of range
  index_out_of_range,   ///< a step index is out of range for its source
  wrong_count,          ///< a source does not have the demanded number of steps
  step_too_often,       ///< a step is trained more often than demanded steps / steps of its source, rounded up
  step_too_seldom,      ///< a step is trained less often than demanded steps / steps of its source, rounded down
  long_warm_up,         ///< the warm-up is longer than demanded, takes more than `warm_up_share`, or is not in epoch 0
  wrong_warm_up,        ///< a step of the warm-up is not of the smallest capacity
  unsorted,             ///< keys, or buckets of keys, must ascend but do not
  uneven,               ///< sources must be interleaved, but one is too far from its share
};

/// @brief The name of a fault. @param fault any enumerator @return a few words, such as "wrong warm-up"
[[nodiscard]] constexpr char const* to_string(curriculum_fault fault) noexcept {
  constexpr char const* names[] = {"none",        "wrong shape",    "wrong settings",  "source out of range", "index out of range",
                                   "wrong count", "step too often", "step too seldom", "long warm-up",        "wrong warm-up",
                                   "unsorted",    "uneven"};
  return names[static_cast<std::size_t>(fault)];
}

}  // namespace ballast::inline v0_2
