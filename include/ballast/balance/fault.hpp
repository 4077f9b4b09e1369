// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief What can be wrong with balanced sets.

namespace ballast::inline v0_2 {

/// @brief The rule that balanced sets break.
enum class balance_fault : std::uint8_t {
  none,                 ///< they are valid
  bad_offsets,          ///< the offsets do not rise from 0 to the number of members
  wrong_set_count,      ///< there are not as many sets as asked for
  member_out_of_range,  ///< a member is no item
  item_twice,           ///< an item stands in two places
  item_missing,         ///< an item stands nowhere
  overfull_set,         ///< the sizes in a set exceed the capacity
  too_many_items,       ///< a set has more items than allowed
  uneven_counts,        ///< equal counts were asked for, and a set has two items fewer than another, or less
  wrong_set_aside,      ///< the list of items set aside is not ascending, names no item, or should be empty
  wrong_value,          ///< the certificate's value is not the largest load
  wrong_bound,          ///< the certificate's lower bound is above its value; or, where infeasible, is not
  sets_without_plan,    ///< the result says that there is no plan, and has sets or items set aside
};

}  // namespace ballast::inline v0_2
