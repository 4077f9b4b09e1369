// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/dealing.hpp>
#include <ballast/cost/polynomial.hpp>

/// @file
/// @brief The snake: sorted items dealt forth and back. A baseline.

namespace ballast::inline v0_2 {

namespace detail {

/// Deals the items forth and back in their order; what finds no room comes last.
template <index_type Index>
void deal_as_snake(deal<Index>& d) {
  d.left.clear();
  auto const k = static_cast<std::size_t>(d.sets);
  for (std::size_t p = 0; p < d.order.size(); ++p) {
    auto const i = d.order[p].item;
    auto const s = p / k % 2 == 0 ? p % k : k - 1 - p % k;
    if (d.room_of(s) >= d.size[i])
      d.put(i, s);
    else
      d.left.push_back(d.order[p]);
  }
  if (!d.left.empty()) d.deal_to_least_loaded(d.left);
}

}  // namespace detail

/// @brief The snake, into caller-owned memory. See the other overload for what it computes.
/// @param items      what is dealt, one integer each; may be empty
/// @param options    number of sets and limits
/// @param cost       weighs one item: its share of a set's load
/// @param size       weighs one item: its share of a set's capacity
/// @param workspace  scratch memory, kept between calls
/// @param out        overwritten with the plan; its memory is used again
/// @throws invalid_input as the other overload
template <index_type Index, length_range R, cost_model Cost, cost_model Size>
void snake(R const& items, balance_options const& options, Cost const& cost, Size const& size, balance_workspace<Index>& workspace,
           balanced_sets<Index>& out) {
  auto& d = workspace.deal;
  detail::prepare(items, options, cost, size, d);
  d.sort_by(d.cost);
  d.start();
  detail::deal_as_snake(d);
  detail::finish(d, options.misfit, out);
}

/// @brief Deals the items, dearest first, to the sets 0, 1, …, k - 1, k - 1, …, 1, 0, 0, 1, …
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
/// @return the sets, each dearest item first
/// @throws invalid_input for a bad option, or a cost or size, or a sum of them, outside [0, 2^63)
/// @par Complexity
/// O(n log n).
/// @par Determinism
/// A pure function of the costs, the sizes and the options.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost, cost_model Size = token_cost>
[[nodiscard]] balanced_sets<Index> snake(R const& items, balance_options const& options, Cost const& cost = {}, Size const& size = {}) {
  balance_workspace<Index> workspace;
  balanced_sets<Index> out;
  snake(items, options, cost, size, workspace, out);
  return out;
}

}  // namespace ballast::inline v0_2
