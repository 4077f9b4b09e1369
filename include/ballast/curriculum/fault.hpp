// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief What can be wrong with a curriculum.

namespace ballast::inline v0_2 {

/// @brief The rule that a curriculum breaks.
enum class curriculum_fault : std::uint8_t {
  none,                 ///< it is a valid plan
  wrong_shape,          ///< the lists are not of one length, or the warm-up is longer than the plan, or the epoch is another
  wrong_settings,       ///< a setting is not that of its source
  source_out_of_range,  ///< a step is of no source
  index_out_of_range,   ///< a step is none of its source's
  wrong_count,          ///< a source does not have as many steps as asked
  step_too_often,       ///< a step is trained more often than its share of the source's count, rounded up
  step_too_seldom,      ///< a step is trained less often than that, rounded down
  long_warm_up,         ///< the warm-up is longer than asked, or takes more than its share, or is not in epoch 0
  wrong_warm_up,        ///< a step of the warm-up is not of the least capacity
  unsorted,             ///< keys, or buckets of them, are to ascend and do not
  uneven,               ///< sources are to be interleaved, and one is too far from its share
};

/// @brief The fault's name. @param fault any of them @return a few words
[[nodiscard]] constexpr char const* to_string(curriculum_fault fault) noexcept {
  constexpr char const* names[] = {"none",        "wrong shape",    "wrong settings",  "source out of range", "index out of range",
                                   "wrong count", "step too often", "step too seldom", "long warm-up",        "wrong warm-up",
                                   "unsorted",    "uneven"};
  return names[static_cast<std::size_t>(fault)];
}

}  // namespace ballast::inline v0_2
