// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/detail/driver.hpp>
#include <ballast/packing/detail/scatter.hpp>

/// @file
/// @brief Best-fit decreasing, in bulk on the histogram of lengths: exactly the item-by-item packing, an order of magnitude sooner.

namespace ballast::inline v0_2 {

/// @brief Scratch memory of `best_fit_decreasing`; a caller who plans every step keeps one, and nothing is allocated once it is warm.
/// @tparam Index  index type of the packings it is used for
template <index_type Index = std::uint32_t>
struct packing_workspace {
  detail::driver_workspace<Index> driver;      ///< private
  detail::bulk_workspace bulk;                 ///< private
  detail::scatter_workspace<Index> positions;  ///< private
  detail::pooled_memory searches;              ///< private
};

namespace detail {
template <index_type Index, class Executor>
struct best_fit_decreasing_solver {
  packing_workspace<Index>& ws;
  Executor const& executor;
  template <class Weights>
  void operator()(packing_items<Weights> const& items, groups<Index>& packs) const {
    auto const count = bulk_best_fit<true>(items.classes, items.capacity, items.max_samples, ws.bulk);
    expand(count, ws.bulk, canonical_order(items, ws.positions, executor), packs, executor);
  }
};
}  // namespace detail

/// @brief Best-fit decreasing into caller-owned memory.
///
/// The form for callers who plan every step; see the other overload for what it computes.
///
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  capacity and limits
/// @param cost     weighs one length
/// @param workspace scratch memory, kept between calls
/// @param out      overwritten with the plan; its memory is used again
/// @param executor  executes the passes over the samples; the plan does not depend on it
/// @throws invalid_input as the other overload; `out` is as it was then
template <index_type Index, length_range R, cost_model Cost, executor Executor = serial>
void best_fit_decreasing(R const& lengths, packing_options const& options, Cost const& cost, packing_workspace<Index>& workspace,
                         packing<Index>& out, Executor const& executor = {}) {
  detail::drive<Index>(lengths, options, cost, detail::best_fit_decreasing_solver<Index, Executor>{workspace, executor}, workspace.driver,
                       out);
}

/// @brief Packs the samples, longest first, each into the fullest pack that still takes it.
///
/// Decided on the histogram of lengths and expanded in parallel passes over the samples; the result is that of the item-by-item algorithm
/// to the last index, where equally full packs are taken in the order they were opened and equal lengths in the order of their indices.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @tparam Executor  `serial`, `threads` or the caller's own
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  capacity and limits
/// @param cost     weighs one length; tokens by default
/// @param executor  executes the passes over the samples; the plan does not depend on it
/// @return packs in the order they were opened; in a pack, longest sample first
/// @post at most 11/9 OPT + 4 packs without a limit of samples per pack
/// @throws invalid_input for a bad option, a length that is not positive, or one above the capacity under `oversize::reject`
/// @par Complexity
/// O(n + D log D + R) time for n samples, D distinct lengths and R <= D + 2 D sqrt(2 capacity) runs (1 to 3 D on real data); where the
/// longest length is far above n, the samples are sorted instead: O(n log n). O(n + longest) scratch memory.
/// @par Determinism
/// A pure function of lengths, options and cost, whatever `executor` is.
/// @par Source
/// Johnson, Demers, Ullman, Garey, Graham, "Worst-case performance bounds for simple one-dimensional packing algorithms", SIAM J. Comput. 3
/// (1974): the algorithm and its bound. Krell et al., arXiv 2107.02027: packing the histogram.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost, executor Executor = serial>
[[nodiscard]] packing<Index> best_fit_decreasing(R const& lengths, packing_options const& options, Cost const& cost = {},
                                                 Executor const& executor = {}) {
  packing_workspace<Index> workspace;
  packing<Index> out;
  best_fit_decreasing(lengths, options, cost, workspace, out, executor);
  return out;
}

}  // namespace ballast::inline v0_2
