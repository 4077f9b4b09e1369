// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief The rules that balanced sets can break.

namespace ballast::inline v0_2 {

/// @brief The rule that balanced sets break.
enum class balance_fault : std::uint8_t {
  none,                 ///< the sets are valid
  bad_offsets,          ///< the offsets do not rise from 0 to the number of members
  wrong_set_count,      ///< the number of sets is not the demanded number
  member_out_of_range,  ///< a member is not the index of an item
  item_twice,           ///< an item occurs twice
  item_missing,         ///< an item is in no set
  overfull_set,         ///< the total size of a set exceeds the capacity
  item_too_large,       ///< an item is larger than its set allows; only of sets that differ
  too_many_items,       ///< a set has more items than allowed
  uneven_counts,        ///< `equal_counts` was set, but the numbers of items in two sets differ by more than one
  wrong_set_aside,      ///< `set_aside` is not ascending, has an entry that is not the index of an item, or must be empty
  wrong_value,          ///< `load.value` is not the largest load
  wrong_bound,          ///< `load.lower_bound` exceeds `load.value` though the plan is feasible, or does not though it is infeasible
  sets_without_plan,    ///< the status says that there is no plan, but there are sets or items set aside
};

}  // namespace ballast::inline v0_2
