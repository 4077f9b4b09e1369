// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/random.hpp>
#include <ballast/packing/vector/best_fit.hpp>
#include <ballast/packing/vector/detail/driver.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/patterns/patterns.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Turns the packs of sampling rounds into patterns, and draws samples for them.

namespace ballast::inline v0_2::detail {

/// Packs samples, given by their classes, by best fit.
template <class = when_called>
[[nodiscard]] inline pack_patterns finish_by_best_fit(measure_classes const& classes, std::span<std::int64_t const> capacity,
                                                      std::span<std::uint32_t const> samples) {
  std::vector<std::uint64_t> counts(classes.size(), 0);
  for (auto const c : samples) ++counts[c];
  measure_classes left{classes.measures, {}, {}};
  std::vector<std::uint32_t> which;
  for (std::size_t c = 0; c < classes.size(); ++c)
    if (counts[c] != 0) {
      which.push_back(static_cast<std::uint32_t>(c));
      left.counts.push_back(counts[c]);
      left.values.insert(left.values.end(), classes[c].begin(), classes[c].end());
    }
  auto patterns = plan_vector_best_fit(left, capacity);
  for (auto& item : patterns.items) item.item_class = which[item.item_class];
  return patterns;
}

/// Appends the first packs of `packs`, whose members are classes.
template <class = when_called>
inline void append_packs(groups<std::uint32_t> const& packs, std::size_t count, pack_patterns& out) {
  std::vector<std::uint32_t> sorted;
  std::vector<pattern_item> pattern;
  for (std::size_t p = 0; p < count; ++p) {
    sorted.assign(packs[p].begin(), packs[p].end());
    std::sort(sorted.begin(), sorted.end());
    push_classes(out, sorted, 1, pattern);
  }
}

/// The samples of each class in random order: patterns are filled with samples in this order.
template <index_type Index>
[[nodiscard]] std::vector<Index> mixed_order(vector_items<Index> const& items) {
  std::vector<Index> order(items.order.begin(), items.order.end());
  splitmix64 random(items.seed);
  for (std::size_t c = 0; c < items.classes.size(); ++c)
    shuffle(std::span(order).subspan(static_cast<std::size_t>(items.begin[c]), static_cast<std::size_t>(items.classes.counts[c])), random);
  return order;
}

}  // namespace ballast::inline v0_2::detail
