// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/methods.hpp>
#include <ballast/balance/options.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/balance/workspace.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/cost/polynomial.hpp>

#include <cstdint>

/// @file
/// @brief The snake: sorted items dealt forth and back. A baseline.

namespace ballast::inline v0_2 {

/// @brief Deals the items, most expensive first, to the sets 0, 1, …, k - 1, k - 1, …, 1, 0, 0, 1, …
///
/// The counts come out equal. An item whose set has no room goes, after all others, to the least loaded set that has. It is what trainers
/// do by hand, offered to measure the others against.
///
/// @tparam Index  type of the item indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @tparam Size   a `cost_model`
/// @param items    what is dealt, one integer each; may be empty
/// @param options  number of sets and limits
/// @param cost     weighs one item: its share of a set's load; not negative; the item itself by default
/// @param size     weighs one item: its share of a set's capacity; not negative; the item itself by default
/// @return the sets, each with its most expensive item first
/// @throws invalid_input for a bad option, or a cost or size, or a sum of them, outside [0, 2^63)
/// @par Complexity
/// O(n log n).
/// @par Determinism
/// A pure function of the costs, the sizes and the options.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost, cost_model Size = token_cost>
[[nodiscard]] balanced_sets<Index> snake(R const& items, balance_options const& options, Cost const& cost = {}, Size const& size = {}) {
  return detail::by_value<Index>([&](auto& workspace, auto& out) { snake(items, options, cost, size, workspace, out); });
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
void snake(R const& items, balance_options const& options, Cost const& cost, Size const& size, balance_workspace<Index>& workspace,
           balanced_sets<Index>& out) {
  detail::balance_by([](auto& d) { detail::deal_as_snake(d); }, items, options, cost, size, workspace.deal, out);
}

}  // namespace ballast::inline v0_2
