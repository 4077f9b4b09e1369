// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/detail/place.hpp>

/// @file
/// @brief Worst fit: each sample, in the given order, goes into the emptiest pack.

namespace ballast::inline v0_2 {

/// @brief Packs by worst fit: each sample, in the given order, goes into the emptiest pack (the first of equally empty packs), or into a
/// new pack if it does not fit there.
///
/// The packs are similar in total rather than full. Use it for comparisons, or where even totals matter more than few packs.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  capacity and limits
/// @param cost     weighs one length; tokens by default
/// @return packs in the order they were opened, the members of a pack in the order they were placed
/// @post fewer than 2 OPT packs, or one, if neither the samples per pack nor the number of packs is limited
/// @throws invalid_input for a bad option, a length that is not positive, or one above the capacity under `oversize::reject`
/// @par Complexity
/// O(n log packs) time, O(n) memory.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Johnson, "Fast algorithms for bin packing", Journal of Computer and System Sciences 8 (1974).
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] packing<Index> worst_fit(R const& lengths, packing_options const& options, Cost const& cost = {}) {
  return detail::drive<Index>(lengths, options, cost, [](auto const& items, auto& packs) {
    detail::place_by<detail::worst_fit_rule>(items, detail::given_order{items.count}, packs);
  });
}

}  // namespace ballast::inline v0_2
