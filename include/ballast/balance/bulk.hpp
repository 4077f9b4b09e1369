// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/bounds.hpp>
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
/// @brief Longest processing time first on a histogram: the same loads as item by item, in time that hardly depends on the number of items.

namespace ballast::inline v0_2 {

/// @brief Balances a histogram of items by longest processing time first, all items of a class at once.
///
/// Of equally loaded sets, the lower number is taken. There are no limits on a set.
///
/// @tparam Cost  a `cost_model` for lengths
/// @param classes    a valid histogram
/// @param sets       number of sets, from 1 to 2^31
/// @param cost       cost of an item by its length; not negative
/// @param workspace  scratch memory, kept between calls
/// @param out        overwritten with the plan
/// @post every set has as many items of each cost as with `longest_processing_time`
/// @throws invalid_input for a bad histogram or number of sets, or a cost, or the sum of all costs, outside [0, 2^63)
/// @par Complexity
/// O(D log D + sum over the classes of min(c log k, k log k)) for D distinct lengths and c items in a class.
/// @par Determinism
/// A pure function of histogram, sets and costs.
/// @par Source
/// This library: c items of cost s take the c smallest of the keys (load + i s, set), i = 0, 1, …, and the keys below a load can be counted
/// by one division for each set.
template <cost_model Cost>
void bulk_longest_processing_time(histogram const& classes, std::uint64_t sets, Cost const& cost, bulk_balance_workspace& workspace,
                                  balance_runs& out) {
  require_valid(classes);
  detail::require_valid(balance_options{.sets = sets});
  auto& ws = detail::memory_of(workspace);
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

/// @brief As above, by value. @tparam Cost a `cost_model` for lengths
/// @param classes a valid histogram @param sets number of sets @param cost cost of an item by its length; tokens by default @return the
/// plan
/// @throws invalid_input as the overload above
template <cost_model Cost = token_cost>
[[nodiscard]] balance_runs bulk_longest_processing_time(histogram const& classes, std::uint64_t sets, Cost const& cost = {}) {
  bulk_balance_workspace workspace;
  balance_runs out;
  bulk_longest_processing_time(classes, sets, cost, workspace, out);
  return out;
}

/// @brief Balances samples by longest processing time first, decided on the histogram of their lengths.
///
/// The loads are those of `longest_processing_time` without limits. Of samples of equal length, the lower indices go to the lower sets.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model` for lengths
/// @param lengths    sample lengths, each at least 1; may be empty
/// @param sets       number of sets, from 1 to 2^31
/// @param cost       cost of a sample by its length; not negative
/// @param workspace  scratch memory, kept between calls
/// @param runs       overwritten with the plan on classes
/// @param out        overwritten with the plan; its memory is used again
/// @throws invalid_input for a length that is not positive, a bad number of sets, or a cost, or the sum of all costs, outside [0, 2^63)
/// @par Complexity
/// O(n), or O(n log D) if the longest length is far above n, plus the time of the plan on classes.
template <index_type Index, length_range R, cost_model Cost>
void bulk_longest_processing_time(R const& lengths, std::uint64_t sets, Cost const& cost, bulk_balance_workspace& workspace,
                                  balance_runs& runs, balanced_sets<Index>& out) {
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  require_index<Index>(n, "samples");
  auto& memory = detail::memory_of(workspace);
  fold(lengths, memory.classes, memory.folds);
  bulk_longest_processing_time(memory.classes, sets, cost, workspace, runs);
  detail::expand_sets(lengths, runs, memory, out.sets);
  out.status = status::feasible;
  out.set_aside.clear();
  out.load = runs.load;
  out.bound = runs.bound;
}

/// @brief The plan of samples, as above, by value.
/// @tparam Index type of the sample indices @tparam R range of integers @tparam Cost a `cost_model` for lengths
/// @param lengths sample lengths, each at least 1 @param sets number of sets @param cost cost of a sample by its length; tokens by default
/// @return the sets, each with its most expensive sample first @throws invalid_input as the overload above
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] balanced_sets<Index> bulk_longest_processing_time(R const& lengths, std::uint64_t sets, Cost const& cost = {}) {
  bulk_balance_workspace workspace;
  balance_runs runs;
  balanced_sets<Index> out;
  bulk_longest_processing_time(lengths, sets, cost, workspace, runs, out);
  return out;
}

}  // namespace ballast::inline v0_2
