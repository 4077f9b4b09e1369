// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/options.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/balance/workspace.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/cost/polynomial.hpp>

#include <cstdint>

/// @file
/// @brief Longest processing time first: each item, most expensive first, goes to the least loaded set.

namespace ballast::inline v0_2 {

/// @brief Balances by longest processing time first: each item, most expensive first, goes to the least loaded set that has room for it.
///
/// Of equally loaded sets, the lower number is taken; of items of equal cost, the lower index comes first. With equal counts, each set
/// takes n / k items, and the first sets that would take another item get the n mod k further items.
///
/// @tparam Index  type of the item indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @tparam Size   a `cost_model`
/// @param items    the items, one integer each: sample lengths, or numbers of packs if the callables look packs up; may be empty
/// @param options  number of sets and limits
/// @param cost     cost of an item, which counts towards the load of its set; not negative; the item itself by default
/// @param size     size of an item, which counts towards the capacity of its set; not negative; the item itself by default
/// @return the sets, each with its most expensive item first
/// @post without limits, the largest load is at most (4 k - 1) / (3 k) times the smallest possible one, for k sets
/// @throws invalid_input for a bad option, or a cost or size, or a sum of them, outside [0, 2^63)
/// @par Complexity
/// O(n log n + n log k) time; with a capacity, O(n k) in the worst case. O(n + k) memory.
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
/// @param items      the items, one integer each
/// @param options    number of sets and limits
/// @param cost       cost of an item, which counts towards the load of its set
/// @param size       size of an item, which counts towards the capacity of its set
/// @param workspace  scratch memory, kept between calls
/// @param out        overwritten with the plan; its memory is used again
/// @throws invalid_input as the overload above
template <index_type Index, length_range R, cost_model Cost, cost_model Size>
void longest_processing_time(R const& items, balance_options const& options, Cost const& cost, Size const& size,
                             balance_workspace<Index>& workspace, balanced_sets<Index>& out) {
  detail::balance_by([](auto& d) { d.deal_to_least_loaded(d.order); }, items, options, cost, size, detail::memory_of(workspace).deal, out);
}

}  // namespace ballast::inline v0_2
