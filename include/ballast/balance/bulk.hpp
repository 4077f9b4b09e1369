// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/bound_of_costs.hpp>
#include <ballast/balance/detail/bulk.hpp>
#include <ballast/balance/options.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/balance/workspace.hpp>
#include <ballast/core/classes.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/polynomial.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

/// @file
/// @brief Longest processing time first on a histogram: the loads of the item-by-item algorithm, in time that hardly depends on the items.

namespace ballast::inline v0_2 {

/// @brief Deals a histogram of items, most expensive first, each to the least loaded set: all items of a class at once.
///
/// Sets with equal loads are taken in their order. No capacity, no limit of items.
///
/// @tparam Cost  a `cost_model` of the lengths
/// @param classes    a valid histogram
/// @param sets       number of sets, 1 … 2^31
/// @param cost       weighs one length; not negative
/// @param workspace  scratch memory, kept between calls
/// @param out        overwritten with the plan
/// @post every set gets as many items of each cost as from `longest_processing_time`
/// @throws invalid_input for a bad histogram or number of sets, or a cost, or the sum of all, outside [0, 2^63)
/// @par Complexity
/// O(D log D + sum over the classes of min(c log k, k log k)) for D distinct lengths and c items in a class.
/// @par Determinism
/// A pure function of histogram, sets and costs.
/// @par Source
/// This library: an item of cost s goes to the smallest of the keys (load + i s, set), so c items take the c smallest, and all keys below
/// a load can be counted by one division a set.
template <cost_model Cost>
void bulk_longest_processing_time(histogram const& classes, std::uint64_t sets, Cost const& cost, bulk_balance_workspace& workspace,
                                  balance_runs& out) {
  require_valid(classes);
  detail::require_valid(balance_options{.sets = sets});
  auto& ws = workspace;
  auto const items = detail::sort_classes(classes, cost, ws);
  detail::deal_classes(classes, sets, ws, out);
  auto const top = [&](std::uint64_t i) {
    auto const o = static_cast<std::size_t>(std::lower_bound(ws.ends.begin(), ws.ends.end(), i) - ws.ends.begin());
    return i == 0 ? 0 : ws.prefix[o] - ws.costs[ws.order[o]] * static_cast<std::int64_t>(ws.ends[o] - i);
  };
  auto const bound = detail::bound_of_costs(top, items, sets, 0);
  out.load = {*std::max_element(out.loads.begin(), out.loads.end()), bound.load};
  out.bound = bound.bound;
}

/// @brief The same by value. @tparam Cost a `cost_model` of the lengths
/// @param classes a valid histogram @param sets number of sets @param cost weighs one length; tokens by default @return the plan
/// @throws invalid_input as above
template <cost_model Cost = token_cost>
[[nodiscard]] balance_runs bulk_longest_processing_time(histogram const& classes, std::uint64_t sets, Cost const& cost = {}) {
  bulk_balance_workspace workspace;
  balance_runs out;
  bulk_longest_processing_time(classes, sets, cost, workspace, out);
  return out;
}

/// @brief Deals samples, most expensive first, each to the least loaded set, decided on the histogram of their lengths.
///
/// Loads are those of `longest_processing_time` without limits. Of equal samples, the lower indices go to the lower sets.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model` of the lengths
/// @param lengths    sample lengths, each at least 1; may be empty
/// @param sets       number of sets, 1 … 2^31
/// @param cost       weighs one length; not negative
/// @param workspace  scratch memory, kept between calls
/// @param runs       overwritten with the plan on classes
/// @param out        overwritten with the plan; its memory is used again
/// @throws invalid_input for a length that is not positive, a bad number of sets, or a cost, or the sum of all, outside [0, 2^63)
/// @par Complexity
/// O(n), O(n log D) where the longest length is far above n, and what the plan on classes takes.
template <index_type Index, length_range R, cost_model Cost>
void bulk_longest_processing_time(R const& lengths, std::uint64_t sets, Cost const& cost, bulk_balance_workspace& workspace,
                                  balance_runs& runs, balanced_sets<Index>& out) {
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  require_index<Index>(n, "samples");
  fold(lengths, workspace.classes, workspace.folds);
  bulk_longest_processing_time(workspace.classes, sets, cost, workspace, runs);
  detail::expand_sets(lengths, runs, workspace, out.sets);
  out.status = status::feasible;
  out.set_aside.clear();
  out.load = runs.load;
  out.bound = runs.bound;
}

/// @brief The samples' plan by value; see the form above.
/// @tparam Index type of the sample indices @tparam R range of integers @tparam Cost a `cost_model` of the lengths
/// @param lengths sample lengths, each at least 1 @param sets number of sets @param cost weighs one length; tokens by default
/// @return the sets, each with its most expensive sample first @throws invalid_input as above
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] balanced_sets<Index> bulk_longest_processing_time(R const& lengths, std::uint64_t sets, Cost const& cost = {}) {
  bulk_balance_workspace workspace;
  balance_runs runs;
  balanced_sets<Index> out;
  bulk_longest_processing_time(lengths, sets, cost, workspace, runs, out);
  return out;
}

}  // namespace ballast::inline v0_2
