// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/packing/bounds.hpp>
#include <ballast/packing/measures.hpp>
#include <ballast/packing/vector_result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief Lower bounds on the number of packs of samples with several measures, in integers alone.

namespace ballast::inline v0_1 {

/// @brief A number of packs that no plan can go below, and the argument that proves it.
struct vector_packs_needed {
  std::int64_t packs = 0;                        ///< the bound
  vector_bound bound = vector_bound::none;       ///< what proves it
  std::size_t measure = 0;                       ///< measure, incompatible: which one
  packing_bound argument = packing_bound::none;  ///< measure, mixture: the argument about that one measure
};

namespace detail {

/// One measure of the classes as a histogram; samples that have nothing of it do not appear.
[[nodiscard]] inline histogram project(measure_classes const& classes, std::size_t m) {
  std::vector<std::pair<std::int64_t, std::uint64_t>> entries;
  for (std::size_t c = 0; c < classes.size(); ++c)
    if (classes[c][m] != 0) entries.emplace_back(classes[c][m], classes.counts[c]);
  std::sort(entries.begin(), entries.end());
  histogram h;
  for (auto const& [value, count] : entries) {
    if (h.lengths.empty() || h.lengths.back() != value) {
      h.lengths.push_back(value);
      h.counts.push_back(0);
    }
    h.counts.back() += count;
  }
  return h;
}

}  // namespace detail

/// @brief The best of the bounds on each measure alone.
/// @param classes   valid classes, none above a capacity
/// @param capacity  of one pack, an entry per measure
/// @param at_most   packs of a plan that is known: the search ends where a bound reaches it
/// @return the largest bound found; of equal ones the first
[[nodiscard]] inline vector_packs_needed vector_lower_bound(measure_classes const& classes, std::span<std::int64_t const> capacity,
                                                            std::int64_t at_most = (std::numeric_limits<std::int64_t>::max)()) {
  vector_packs_needed best;
  for (std::size_t m = 0; m < classes.measures && best.packs < at_most; ++m) {
    auto const h = detail::project(classes, m);
    auto const one = packing_lower_bound(h, capacity[m], (std::numeric_limits<std::int64_t>::max)(), at_most);
    if (one.packs > best.packs) best = {one.packs, vector_bound::measure, m, one.bound};
  }
  return best;
}

}  // namespace ballast::inline v0_1
