// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/detail/place.hpp>

/// @file
/// @brief First-fit decreasing: each sample, longest first, goes into the first pack with room.

namespace ballast::inline v0_2 {

/// @brief Packs by first-fit decreasing: each sample, longest first, goes into the first pack that has room for it. Equal lengths keep
/// their input order.
///
/// This is the textbook algorithm. `best_fit_decreasing` needs about as many packs and is much faster, because it plans on distinct
/// lengths.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  capacity and limits
/// @param cost     weighs one length; tokens by default
/// @return packs in the order they were opened, the members of a pack in the order they were placed
/// @post at most 11/9 OPT + 6/9 packs, if neither the samples per pack nor the number of packs is limited
/// @throws invalid_input for a bad option, a length that is not positive, or one above the capacity under `oversize::reject`
/// @par Complexity
/// O(n log packs) time, plus O(n log n) to sort where the longest length exceeds about 8 n; O(n) memory.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Bound: Dósa, "The tight bound of first fit decreasing bin-packing algorithm is FFD(I) <= 11/9 OPT(I) + 6/9", ESCAPE 2007.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] packing<Index> first_fit_decreasing(R const& lengths, packing_options const& options, Cost const& cost = {}) {
  return detail::drive<Index>(lengths, options, cost, [](auto const& items, auto& packs) {
    detail::place_by<detail::first_fit_rule>(items, detail::decreasing_order<Index>(items), packs);
  });
}

}  // namespace ballast::inline v0_2
