// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/dealt_sets.hpp>
#include <ballast/balance/detail/pair_exchanger.hpp>

#include <cstdint>

/// @file
/// @brief Exchanges of two items for two, for sets that hold a handful each.

namespace ballast::inline v0_2 {

/// @brief Scratch memory of `exchange_pairs`, kept between calls.
/// @tparam Index  type of the item numbers
template <index_type Index = std::uint32_t>
struct pair_exchange_workspace {
  detail::pair_exchanger<Index> exchange;  ///< private
};

/// @brief Lowers the largest load of refined sets further: the set of largest load gives up to two items for up to two of one of the sets
/// of least load.
///
/// Where sets hold a handful of items, one swap (`refine`) seldom balances two of them, and two for two nearly always do. Of a set the
/// twelve cheapest items form pairs; eight partners are tried a round; there are at most three rounds a set.
///
/// @tparam Index  type of the item numbers
/// @param sets       sets as `refine` left them: `sorted_sets` are their items
/// @param enough     a largest load that needs no lowering
/// @param workspace  scratch memory
/// @pre no limits but the capacity: `max_items` is 0 and `equal` false
/// @post the largest load has not grown, and no set exceeds the capacity that did not before
/// @par Complexity
/// A round takes O(sets + m^2) for m items in a set, where m is at most 12 but for single items.
/// @par Determinism
/// A pure function of the sets.
/// @par Source
/// This library.
template <index_type Index>
void exchange_pairs(dealt_sets<Index>& sets, std::int64_t enough, pair_exchange_workspace<Index>& workspace) {
  workspace.exchange(sets, enough);
}

}  // namespace ballast::inline v0_2
