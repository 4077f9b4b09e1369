// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/dealing.hpp>
#include <ballast/balance/options.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/balance/workspace.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/cost/polynomial.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief The snake: sorted items dealt back and forth (boustrophedon). A baseline.

namespace ballast::inline v0_2 {

namespace detail {
/// Deals the items back and forth in order; items without room are dealt last.
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

/// @brief Balances by the snake: deals the items, most expensive first, to the sets 0, 1, …, k - 1, k - 1, …, 1, 0, 0, 1, …
///
/// The numbers of items come out equal. Items whose set has no room are dealt after all others, each to the least loaded set with room.
/// Trainers often do this by hand; it serves as a baseline.
///
/// @tparam Index  type of the item indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @tparam Size   a `cost_model`
/// @param items    the items, one integer each; may be empty
/// @param options  number of sets and limits
/// @param cost     cost of an item, which counts towards the load of its set; not negative; the item itself by default
/// @param size     size of an item, which counts towards the capacity of its set; not negative; the item itself by default
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
/// @param items      the items, one integer each
/// @param options    number of sets and limits
/// @param cost       cost of an item, which counts towards the load of its set
/// @param size       size of an item, which counts towards the capacity of its set
/// @param workspace  scratch memory, kept between calls
/// @param out        overwritten with the plan; its memory is used again
/// @throws invalid_input as the overload above
template <index_type Index, length_range R, cost_model Cost, cost_model Size>
void snake(R const& items, balance_options const& options, Cost const& cost, Size const& size, balance_workspace<Index>& workspace,
           balanced_sets<Index>& out) {
  detail::balance_by([](auto& d) { detail::deal_as_snake(d); }, items, options, cost, size, detail::memory_of(workspace).deal, out);
}

}  // namespace ballast::inline v0_2
