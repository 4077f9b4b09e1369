// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/packing/result.hpp>

#include <cstdint>

/// @file
/// @brief Lower bounds on the number of packs, in integers alone. `packing_lower_bound` takes the best.

namespace ballast::inline v0_1 {

/// @brief A number of packs that no plan can go below, and the argument that proves it.
struct packs_needed {
  std::int64_t packs = 0;                     ///< the bound
  packing_bound bound = packing_bound::none;  ///< what proves it
};

/// @brief Total length over capacity, rounded up.
/// @param lengths  a valid histogram, no length above `capacity`
/// @param capacity tokens of one pack, at least 1
/// @return the bound
/// @par Complexity
/// O(distinct lengths).
[[nodiscard]] inline packs_needed volume_bound(histogram const& lengths, std::int64_t capacity) {
  auto const tokens = lengths.tokens();
  return {tokens / capacity + (tokens % capacity != 0 ? 1 : 0), packing_bound::volume};
}

/// @brief The best of all bounds.
/// @param lengths  a valid histogram, no length above `capacity`
/// @param capacity tokens of one pack, at least 1
/// @param max_samples most samples in a pack, at least 1
/// @return the largest bound; of equal ones the first in the order of `packing_bound`
[[nodiscard]] inline packs_needed packing_lower_bound(histogram const& lengths, std::int64_t capacity, std::uint64_t max_samples) {
  if (lengths.lengths.empty()) return {};
  auto best = volume_bound(lengths, capacity);
  auto const n = lengths.samples();
  if (auto const k = static_cast<std::int64_t>(n / max_samples + (n % max_samples != 0 ? 1 : 0)); k > best.packs)
    best = {k, packing_bound::cardinality};
  return best;
}

}  // namespace ballast::inline v0_1
