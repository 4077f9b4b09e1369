// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/detail/place.hpp>

/// @file
/// @brief Best fit: samples in the given order, each into the fullest pack with room.

namespace ballast::inline v0_2 {

namespace detail {
struct best_fit_solver {
  template <class Weights, index_type Index>
  void operator()(packing_items<Weights> const& items, groups<Index>& packs) const {
    with_best_fit(items, [&](auto& rule) { placer<Index>{}(items, given_order{}, 0, items.count, rule, packs); });
  }
};
}  // namespace detail

/// @brief Puts each sample, in the given order, into the fullest pack that has room for it; of equally full ones into the first.
///
/// For samples that arrive one by one and may not be sorted.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  capacity and limits
/// @param cost     weighs one length; tokens by default
/// @return packs in the order they were opened, members in the order they were placed
/// @post Without limits on samples per pack and on the number of packs: at most 1.7 OPT packs, rounded down.
/// @throws invalid_input for a bad option, a length that is not positive, or one above the capacity under `oversize::reject`
/// @par Complexity
/// O(n log packs) time, less in practice (a pack is found in O(log64 capacity) up to a capacity of 2^21); O(n + capacity) memory.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Bound: Dósa, Sgall, "Optimal analysis of best fit bin packing", ICALP 2014.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] packing<Index> best_fit(R const& lengths, packing_options const& options, Cost const& cost = {}) {
  return detail::drive<Index>(lengths, options, cost, detail::best_fit_solver{});
}

}  // namespace ballast::inline v0_2
