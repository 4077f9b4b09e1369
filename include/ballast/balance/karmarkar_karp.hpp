// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/differencing.hpp>
#include <ballast/balance/options.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/balance/workspace.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/cost/polynomial.hpp>

#include <cstdint>

/// @file
/// @brief The largest differencing method of Karmarkar and Karp for k sets, with limits on a set.

namespace ballast::inline v0_2 {

/// @brief Balances by the largest differencing method of Karmarkar and Karp: joins the two partial plans of largest spread, the most
/// expensive sets of one with the cheapest sets of the other, until one plan is left.
///
/// At first, every item is a plan with one set that is not empty; with equal counts, each k neighbours of the sorted items are a plan. If a
/// limit forbids a pairing of sets, an expensive set is joined with the cheapest set that the limits allow. If there is none, the plan of
/// smaller spread is dissolved, and its items are added at the end as by `longest_processing_time`.
///
/// @tparam Index  type of the item indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @tparam Size   a `cost_model`
/// @param items    the items, one integer each: sample lengths, or numbers of packs if the callables look packs up; may be empty
/// @param options  number of sets and limits
/// @param cost     cost of an item, which counts towards the load of its set; not negative; the item itself by default
/// @param size     size of an item, which counts towards the capacity of its set; not negative; the item itself by default
/// @return the sets by load, largest first (except for items added at the end), each with its most expensive item first
/// @throws invalid_input for a bad option, or a cost or size, or a sum of them, outside [0, 2^63)
/// @par Complexity
/// O(n log n) time; with limits O(n log n + n k + n / k * k^2). O(n + k) memory.
/// @par Determinism
/// A pure function of the costs, the sizes and the options. Of equal spreads, the plan whose first item is most expensive is taken first.
/// @par Source
/// Karmarkar, Karp, "The differencing method of set partitioning", UC Berkeley CSD-83-113 (1982); for k sets Michiels, Korst, Aarts, van
/// Leeuwen, "Performance ratios for the Karmarkar-Karp differencing method", J. Combinatorial Optimization 13 (2007).
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost, cost_model Size = token_cost>
[[nodiscard]] balanced_sets<Index> karmarkar_karp(R const& items, balance_options const& options, Cost const& cost = {},
                                                  Size const& size = {}) {
  return detail::by_value<Index>([&](auto& workspace, auto& out) { karmarkar_karp(items, options, cost, size, workspace, out); });
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
void karmarkar_karp(R const& items, balance_options const& options, Cost const& cost, Size const& size, balance_workspace<Index>& workspace,
                    balanced_sets<Index>& out) {
  detail::balance_by([](auto& d) { detail::differencing<Index>(d).run(); }, items, options, cost, size, detail::memory_of(workspace).deal,
                     out);
}

}  // namespace ballast::inline v0_2
