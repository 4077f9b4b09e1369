// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/options.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/balance/workspace.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/cost/polynomial.hpp>

#include <cstdint>

/// @file
/// @brief Longest processing time first: the most expensive item to the set that has least.

namespace ballast::inline v0_2 {

/// @brief Deals the items, most expensive first, each to the set of least load among those with room for it.
///
/// Equal loads: the lower set. Equal costs: the lower index. With equal counts a set takes no more than its share of the items; the larger
/// share goes to whichever sets ask for it first.
///
/// @tparam Index  type of the item indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @tparam Size   a `cost_model`
/// @param items    what is dealt, one integer each: sample lengths, or the numbers of packs with callables that look them up; may be empty
/// @param options  number of sets and limits
/// @param cost     weighs one item: its share of a set's load; not negative; the item itself by default
/// @param size     weighs one item: its share of a set's capacity; not negative; the item itself by default
/// @return the sets, each with its most expensive item first
/// @post without limits the largest load is at most (4 k - 1) / (3 k) of the least possible, k sets
/// @throws invalid_input for a bad option, or a cost or size, or a sum of them, outside [0, 2^63)
/// @par Complexity
/// O(n log n + n log k); with a capacity O(n k) at worst. O(n + k) memory.
/// @par Determinism
/// A pure function of the costs, the sizes and the options.
/// @par Source
/// Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17 (1969).
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost, cost_model Size = token_cost>
[[nodiscard]] balanced_sets<Index> longest_processing_time(R const& items, balance_options const& options, Cost const& cost = {},
                                                           Size const& size = {}) {
  return detail::by_value<Index>([&](auto& workspace, auto& out) { longest_processing_time(items, options, cost, size, workspace, out); });
}

/// @brief As above, into caller-owned memory.
/// @param items      as above
/// @param options    as above
/// @param cost       as above
/// @param size       as above
/// @param workspace  scratch memory, kept between calls
/// @param out        overwritten with the plan; its memory is used again
/// @throws invalid_input as above
template <index_type Index, length_range R, cost_model Cost, cost_model Size>
void longest_processing_time(R const& items, balance_options const& options, Cost const& cost, Size const& size,
                             balance_workspace<Index>& workspace, balanced_sets<Index>& out) {
  detail::balance_by([](auto& d) { d.deal_to_least_loaded(d.order); }, items, options, cost, size, workspace.deal, out);
}

}  // namespace ballast::inline v0_2
