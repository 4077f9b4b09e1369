// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/metrics/step_balance.hpp>
#include <ballast/core/random.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/patterns/patterns.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief `rank_distances`: how unequal the ranks of a step are in each measure, if packs are dealt to ranks in order.

namespace ballast::inline v0_2 {

namespace detail {

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

}  // namespace detail

/// @brief Computes the rank distance (DistRatio) of each measure, where packs 0 … ranks - 1 are the first step, and so on.
///
/// Let T_i be the total of a measure on rank i of a step. The distance of the step is 1 - mean(T) / max(T), or 0 if max(T) is 0. The
/// distance of the measure is the mean over all full steps; packs after the last full step do not count.
///
/// @tparam Index  type of the sample indices
/// @param packs    sample indices of each pack, in the order of training (a random order for random steps)
/// @param samples  measures of each sample
/// @param ranks    packs of a step, at least 1
/// @return one number from 0 to 1 for each measure; 0 if there is no full step
/// @throws invalid_input if `ranks` is 0, an index is out of range, a measure is negative or a sum reaches 2^63
/// @par Complexity
/// O(members * measures).
/// @par Determinism
/// A sum of quotients of exact integers, in the order of the steps.
/// @par Source
/// Yao et al., OmniBal, arXiv 2407.20761, section 3; see `balance_of_steps`.
template <index_type Index>
[[nodiscard]] std::vector<double> rank_distances(groups<Index> const& packs, sample_measures const& samples, std::uint64_t ranks) {
  require(ranks > 0, [] { return std::string("ranks = 0 must be positive"); });
  for (auto const i : packs.members)
    require(i < samples.size(), [&] { return sentence("a pack holds ", i, ", which is not the index of a sample"); });
  auto const whole = static_cast<std::size_t>(packs.size() - packs.size() % ranks);
  std::vector<double> distances;
  for (std::size_t m = 0; m < samples.measures(); ++m) {
    auto const column = samples.column(m);
    std::vector<std::int64_t> loads(whole, 0);
    for (std::size_t p = 0; p < whole; ++p)
      for (auto const i : packs[p]) add_checked(loads[p], column[static_cast<std::size_t>(i)], "measure", static_cast<std::size_t>(i));
    distances.push_back(balance_of_steps(loads, static_cast<std::size_t>(ranks)).mean_ratio);
  }
  return distances;
}

}  // namespace ballast::inline v0_2
