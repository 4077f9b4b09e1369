// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/dealt_sets.hpp>
#include <ballast/balance/detail/pair_exchanger.hpp>
#include <ballast/core/kept_memory.hpp>

#include <cstdint>

/// @file
/// @brief `exchange_pairs`: exchanges of up to two items for up to two, for sets that hold few items each.

namespace ballast::inline v0_2 {

/// @brief Scratch memory of `exchange_pairs`, kept between calls.
/// @tparam Index  type of the item numbers
template <index_type Index = std::uint32_t>
using pair_exchange_workspace = kept_memory<detail::pair_exchanger<Index>>;

/// @brief Lowers the largest load of refined sets further: the most loaded set exchanges up to two items for up to two items of one of the
/// least loaded sets.
///
/// In sets of few items, a swap of one item for one (`refine`) seldom balances two sets, but an exchange of two for two nearly always does.
/// Pairs are made of the twelve cheapest items of a set. A round tries eight partners, and there are at most three rounds for each set.
///
/// @tparam Index  type of the item numbers
/// @param sets       sets after `refine`: their items are in `sorted_sets`
/// @param enough     the exchanges end when the largest load is at most this
/// @param workspace  scratch memory
/// @pre no limits other than the capacity: `max_items` is 0 and `equal` is false
/// @post the largest load has not grown, and no set exceeds the capacity unless it did before
/// @par Complexity
/// A round takes O(sets + m^2) for m items in a set; of more than 12 items, only the 12 cheapest form pairs.
/// @par Determinism
/// A pure function of the sets.
/// @par Source
/// This library.
template <index_type Index>
void exchange_pairs(dealt_sets<Index>& sets, std::int64_t enough, pair_exchange_workspace<Index>& workspace) {
  detail::memory_of(workspace)(sets, enough);
}

}  // namespace ballast::inline v0_2
