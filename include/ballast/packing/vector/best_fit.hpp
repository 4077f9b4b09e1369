// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/patterns.hpp>
#include <ballast/packing/vector/detail/bulk_best_fit.hpp>
#include <ballast/packing/vector/detail/driver.hpp>
#include <ballast/packing/vector/detail/relative_size.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/options.hpp>
#include <ballast/packing/vector/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

/// @file
/// @brief Best-fit decreasing for samples of several measures, computed on their classes.

namespace ballast::inline v0_2 {

/// @brief Packs classes by best-fit decreasing: each sample, largest first, goes into the fullest pack that has room for it.
///
/// The size of a sample is a weighted sum of its relative measures (shares of the capacities), and the fullest pack has the least weighted
/// room. No weights are best for all data, so several are tried and the plan of fewest packs is returned. Sizes are weighed by the total
/// demand of each measure, equally, or by the largest measure only; for each of these, fullness is mainly that of the measure in highest
/// demand, or in lowest demand. Samples of a class go into equal packs in one step.
///
/// @param classes   the classes to pack, ascending, with positive counts; a measure may be 0
/// @param capacity  capacity of one pack in each measure, not below any value of the classes
/// @return packs of all samples, as patterns of classes; with one measure the packs of `best_fit_decreasing`
/// @throws invalid_input unless the classes and the capacities are valid
/// @par Complexity
/// O(D log D + S (O / 32 + 64) K) time for D classes, S bulk steps (1 to 2 D on real data), K measures and at most O kinds of open packs;
/// independent of the number of samples.
/// @par Determinism
/// A pure function of its arguments, decided in integers.
/// @par Source
/// Panigrahy, Talwar, Uyeda, Wieder, "Heuristics for vector bin packing", Microsoft Research (2011): the weights by total demand.
template <class = when_called>
[[nodiscard]] inline pack_patterns plan_vector_best_fit(measure_classes const& classes, std::span<std::int64_t const> capacity) {
  require_valid(classes, capacity);
  auto const k = classes.measures;
  auto const sizes = detail::relative_sizes(classes, capacity);
  auto const demand = detail::relative_demand(classes, capacity);
  auto const [least, most] = std::minmax_element(demand.begin(), demand.end());
  auto const emphasis = [&](std::size_t m) {
    std::vector<std::int64_t> weights(k, 1);
    weights[m] = 1024;
    return detail::room_score(capacity, weights);
  };
  detail::room_score const scores[] = {emphasis(static_cast<std::size_t>(most - demand.begin())),
                                       emphasis(static_cast<std::size_t>(least - demand.begin()))};
  auto const enough = static_cast<std::uint64_t>(detail::volume_packs(classes, capacity));

  pack_patterns best;
  std::vector<std::int64_t> key(classes.size());
  std::vector<std::uint32_t> order(classes.size());
  for (int way = 0; way < 3; ++way) {
    for (std::size_t c = 0; c < classes.size(); ++c) {
      auto const size = std::span(sizes).subspan(c * k, k);
      key[c] = way == 0   ? std::inner_product(size.begin(), size.end(), demand.begin(), std::int64_t{0})
               : way == 1 ? std::accumulate(size.begin(), size.end(), std::int64_t{0})
                          : *std::max_element(size.begin(), size.end());
    }
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return key[a] != key[b] ? key[a] > key[b] : a > b; });
    for (auto const& score : scores) {
      auto found = detail::best_fit_in_order(classes, capacity, order, score);
      if (best.size() == 0 || found.packs() < best.packs()) best = std::move(found);
      if (k == 1 || best.packs() == enough || classes.size() > detail::many_classes) return best;
    }
  }
  return best;
}

/// @brief Packs samples of several measures by best-fit decreasing; see `plan_vector_best_fit`.
///
/// @tparam Index  type of the sample indices
/// @param samples  measures of each sample; may be empty
/// @param options  capacities and limits
/// @return packs of sample indices with their certificate; the samples of a class are taken in ascending order
/// @throws invalid_input for a bad option, a negative measure, a sample whose measures are all 0, or a sample above a capacity under
/// `oversize::reject`
/// @par Complexity
/// O(n) to classify and expand if the measures' ranges are moderate (see `classify`), plus the time of the plan.
/// @par Determinism
/// A pure function of samples and options.
template <index_type Index = std::uint32_t>
[[nodiscard]] vector_packing<Index> vector_best_fit(sample_measures const& samples, vector_packing_options const& options) {
  return detail::drive<Index>(samples, options, vector_packer::best_fit, [](auto const& items, auto& out) {
    detail::expand_all(plan_vector_best_fit(items.classes, items.capacity), items, out.packs);
  });
}

}  // namespace ballast::inline v0_2
