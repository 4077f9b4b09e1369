// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/verdict.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief The faults that the validator of layouts reports.

namespace ballast::inline v0_2 {

/// @brief The rule that a layout breaks.
enum class layout_fault : std::uint8_t {
  none,           ///< the layout is valid
  wrong_size,     ///< a feasible layout does not have one offset for each buffer, or another result has offsets
  negative,       ///< an offset is negative
  misaligned,     ///< an offset is not a multiple of the buffer's alignment
  wrong_address,  ///< a buffer is not at its fixed address
  overlap,        ///< a buffer overlaps an earlier one that is in use at the same time
  wrong_height,   ///< the height is not the highest end of a buffer, or not 0 where there is no layout
  over_capacity,  ///< a feasible layout is higher than the capacity
  wrong_bound,    ///< the lower bound exceeds the height, or the capacity is said to be too small and the bound does not exceed it
};

/// @brief Describes a verdict in a sentence, such as "offsets[17] = 96 overlaps an earlier buffer, which ends at 128".
/// @param v  a verdict of `check_layout`
/// @return the sentence
template <class = when_called>
[[nodiscard]] inline std::string describe(verdict<layout_fault, std::int64_t> const& v) {
  auto const found = std::to_string(v.found), expected = std::to_string(v.expected);
  auto const offset = "offsets[" + std::to_string(v.index) + "] = " + found;
  switch (v.fault) {
    case layout_fault::none: return "the layout is valid";
    case layout_fault::wrong_size: return "there are " + found + " offsets, and should be " + expected;
    case layout_fault::negative: return offset + " is negative";
    case layout_fault::misaligned: return offset + " is not a multiple of the alignment " + expected;
    case layout_fault::wrong_address: return offset + " is not the fixed address " + expected;
    case layout_fault::overlap: return offset + " overlaps an earlier buffer, which ends at " + expected;
    case layout_fault::wrong_height: return "height.value = " + found + ", but the offsets make it " + expected;
    case layout_fault::over_capacity: return "height.value = " + found + " exceeds the capacity " + expected;
    case layout_fault::wrong_bound: return "height.lower_bound = " + found + " contradicts the height or capacity " + expected;
  }
  return {};
}

}  // namespace ballast::inline v0_2
