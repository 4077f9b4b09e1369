// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/detail/place.hpp>

#include <cstddef>
#include <string>
#include <vector>

/// @file
/// @brief Best-fit decreasing within windows of consecutive samples.

namespace ballast::inline v0_2 {

namespace detail {
struct windowed_best_fit_decreasing_solver {
  std::size_t window;
  template <class Weights, index_type Index>
  void operator()(packing_items<Weights> const& items, groups<Index>& packs) const {
    auto const decreasing = decreasing_order<Index>(items);
    // One sorted order of all samples, distributed over the windows, leaves each window sorted.
    auto const windows = items.count / window + 1;
    std::vector<std::size_t> end(windows + 1, 0);
    for (auto i : decreasing) ++end[i / window + 1];
    for (std::size_t w = 1; w <= windows; ++w) end[w] += end[w - 1];
    std::vector<Index> order(decreasing.size());
    for (auto i : decreasing) order[end[i / window]++] = i;
    placer<Index> place;
    with_best_fit(items, [&](auto& rule) {
      for (std::size_t w = 0, begin = 0; w < windows; begin = end[w++]) {
        rule.reset();
        place(items, order, begin, end[w], rule, packs);
      }
    });
  }
};
}  // namespace detail

/// @brief Packs each window of `window` consecutive samples by best-fit decreasing.
///
/// Trainers that pack in a dataset map over batches of samples do this (1,000 samples is the usual batch). The data stays roughly in order,
/// and only one window must be known at a time. Windows that hold few packs waste more. Under `oversize::split`, the later pieces come
/// after all samples, in the order of their indices.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param window   number of samples in one window, at least 1
/// @param options  capacity and limits
/// @param cost     weighs one length; tokens by default
/// @return packs in the order of the windows; the members of a pack by length, longest first
/// @post with one window that holds all samples, the packs of `best_fit_decreasing`
/// @throws invalid_input for a bad option, a window of 0, a length that is not positive, or one above the capacity under `oversize::reject`
/// @par Complexity
/// O(n) time for usual capacities (see `best_fit`), plus the time to clear capacity / 8 bytes for each window; O(n + capacity) memory.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Windows: TRL and LLaMA-Factory pack each batch of a dataset map.
/// Algorithm: Johnson et al., "Worst-case performance bounds for simple one-dimensional packing algorithms", SIAM J. Comput. 3 (1974).
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] packing<Index> windowed_best_fit_decreasing(R const& lengths, std::size_t window, packing_options const& options,
                                                          Cost const& cost = {}) {
  require(window > 0, [] { return std::string("window = 0 must be positive"); });
  return detail::drive<Index>(lengths, options, cost, detail::windowed_best_fit_decreasing_solver{window});
}

}  // namespace ballast::inline v0_2
