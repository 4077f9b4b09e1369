// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/packing/detail/search/tuning.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ballast::inline v0_2::detail {

/// Packs as plain lists of classes, longest first.
using loose_packs = pooled_vector<pooled_vector<std::uint32_t>>;

/// Takes the packs with most room, and some full packs, out of the patterns.
template <class = when_called>
inline void take_loose(pooled_patterns& patterns, loose_packs& loose, histogram const& lengths, std::int64_t capacity,
                       search_tuning const& tuning) {
  pooled_vector<std::pair<std::int64_t, std::size_t>> order;
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    auto room = capacity;
    for (auto const& [c, copies] : patterns[p]) room -= lengths.lengths[c] * copies;
    order.emplace_back(-room, p);
  }
  std::sort(order.begin(), order.end());
  pooled_patterns fixed;
  std::uint64_t with_room = 0, full = 0;
  for (auto const& [room, p] : order) {
    auto& taken = room < 0 ? with_room : full;
    auto const copies = (std::min)(patterns.repeats[p], (room < 0 ? tuning.most_loose : tuning.most_loose_full) - taken);
    taken += copies;
    pooled_vector<std::uint32_t> pack;
    if (copies != 0)
      for (auto const& [c, n] : patterns[p]) pack.insert(pack.end(), n, c);
    loose.insert(loose.end(), static_cast<std::size_t>(copies), pack);
    if (copies != patterns.repeats[p]) fixed.push_back(patterns[p], patterns.repeats[p] - copies);
  }
  patterns = std::move(fixed);
}

/// Appends a list of classes, descending, as a pattern.
template <class Classes>
void push_classes(pooled_patterns& patterns, Classes const& classes, std::uint64_t repeats, pooled_vector<pattern_item>& scratch) {
  scratch.clear();
  for (auto const c : classes)
    if (!scratch.empty() && scratch.back().item_class == c)
      ++scratch.back().copies;
    else
      scratch.push_back({c, 1});
  patterns.push_back(scratch, repeats);
}

/// Puts loose packs back among the patterns; their order is lost.
template <class = when_called>
inline void put_back(pooled_patterns& patterns, loose_packs& loose) {
  for (auto& pack : loose) std::sort(pack.begin(), pack.end(), [](auto a, auto b) { return a > b; });
  std::sort(loose.begin(), loose.end());
  pooled_vector<pattern_item> scratch;
  for (std::size_t i = 0, next = 0; i < loose.size(); i = next) {
    for (next = i; next < loose.size() && loose[next] == loose[i];) ++next;
    push_classes(patterns, loose[i], next - i, scratch);
  }
}

}  // namespace ballast::inline v0_2::detail
