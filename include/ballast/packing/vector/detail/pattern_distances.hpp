// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/metrics/step_balance.hpp>
#include <ballast/core/random.hpp>
#include <ballast/packing/detail/shuffle.hpp>
#include <ballast/packing/patterns.hpp>
#include <ballast/packing/vector/measures.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::inline v0_2::detail {

/// `rank_distances` of the first measures for patterns that are not expanded yet, with the packs in a random order: planners leave equal
/// packs next to each other, unlike a training order.
template <class = when_called>
[[nodiscard]] inline std::vector<double> pattern_distances(pack_patterns const& patterns, measure_classes const& classes,
                                                           std::size_t measures, std::uint64_t ranks, std::uint64_t seed) {
  std::vector<std::uint32_t> pattern_of;
  pattern_of.reserve(static_cast<std::size_t>(patterns.packs()));
  for (std::size_t p = 0; p < patterns.size(); ++p)
    pattern_of.insert(pattern_of.end(), static_cast<std::size_t>(patterns.repeats[p]), static_cast<std::uint32_t>(p));
  splitmix64 random(seed);
  shuffle(std::span(pattern_of), random);
  pattern_of.resize(static_cast<std::size_t>(pattern_of.size() - pattern_of.size() % ranks));

  std::vector<double> distances;
  std::vector<std::int64_t> load(patterns.size()), loads(pattern_of.size());
  for (std::size_t m = 0; m < measures; ++m) {
    for (std::size_t p = 0; p < patterns.size(); ++p) {
      load[p] = 0;
      for (auto const& [c, copies] : patterns[p]) load[p] += classes[c][m] * static_cast<std::int64_t>(copies);
    }
    for (std::size_t i = 0; i < loads.size(); ++i) loads[i] = load[pattern_of[i]];
    distances.push_back(balance_of_steps(loads, static_cast<std::size_t>(ranks)).mean_ratio);
  }
  return distances;
}

}  // namespace ballast::inline v0_2::detail
