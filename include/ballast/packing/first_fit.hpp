// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/detail/place.hpp>

/// @file
/// @brief First fit: each sample, in the given order, goes into the first pack with room.

namespace ballast::inline v0_2 {

/// @brief Packs by first fit: each sample, in the given order, goes into the first pack that has room for it.
///
/// For samples that arrive one by one and may not be sorted. It needs far fewer packs than `next_fit`, but all packs stay open until the
/// end.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  capacity and limits
/// @param cost     weighs one length; tokens by default
/// @return packs in the order they were opened, the members of a pack in the order they were placed
/// @post at most floor(1.7 OPT) packs, if neither the samples per pack nor the number of packs is limited
/// @throws invalid_input for a bad option, a length that is not positive, or one above the capacity under `oversize::reject`
/// @par Complexity
/// O(n log packs) time, O(n) memory.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Bound: Dósa, Sgall, "First Fit bin packing: a tight analysis", STACS 2013.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] packing<Index> first_fit(R const& lengths, packing_options const& options, Cost const& cost = {}) {
  return detail::drive<Index>(lengths, options, cost, [](auto const& items, auto& packs) {
    detail::place_by<detail::first_fit_rule>(items, detail::given_order{items.count}, packs);
  });
}

}  // namespace ballast::inline v0_2
