// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/vector/detail/class_slices.hpp>
#include <ballast/packing/vector/detail/driver.hpp>
#include <ballast/packing/vector/detail/pack_filler.hpp>
#include <ballast/packing/vector/detail/relative_size.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/options.hpp>
#include <ballast/packing/vector/result.hpp>
#include <ballast/patterns/patterns.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

/// @file
/// @brief Histogram bin completion: fills packs of several measures one pattern at a time, on the counts of classes.

namespace ballast::inline v0_2 {

/// @brief Packs classes by histogram bin completion: fills one pack after the other such that the remaining samples keep the measures in
/// proportion, and repeats each pack as often as the counts allow.
///
/// A pack starts with the largest remaining sample. Its target is the full capacity in the measure for which most packs are still needed,
/// and the proportion of the remaining samples in the other measures. Each further sample is the one that leaves the rest of the target
/// most in proportion, where large samples are preferred. If a pack falls short of its target, other second samples are tried, and the best
/// pack is kept. Several rules that weigh size against proportion are compared, and the plan of fewest packs is returned.
///
/// @param classes   the classes to pack, ascending, with positive counts; a measure may be 0
/// @param capacity  capacity of one pack in each measure, not below any value of the classes
/// @return packs of all samples, as patterns of classes
/// @throws invalid_input unless the classes and the capacities are valid
/// @par Complexity
/// O(D log D + P (k + s) R K log D) time for D classes, P patterns (about as many as classes), K measures, s steps in a pack, and R <= 64
/// slices of classes that agree in all measures but one; independent of the number of samples.
/// @par Determinism
/// A pure function of its arguments, decided in integers.
/// @par Source
/// This library, after the bin completion of Gent, "Heuristic solution of open bin packing problems", Journal of Heuristics 3 (1998): one
/// pack is filled well, then the next.
template <class = when_called>
[[nodiscard]] pack_patterns plan_bin_completion(measure_classes const& classes, std::span<std::int64_t const> capacity) {
  require_valid(classes, capacity);
  if (classes.size() == 0) return {};
  auto const sizes = detail::relative_sizes(classes, capacity);
  detail::class_slices const slices(classes, sizes);
  auto const enough = static_cast<std::uint64_t>(detail::volume_packs(classes, capacity));
  pack_patterns best;
  auto looks = detail::completion_looks;
  for (std::size_t r = 0; r < detail::completion_rules.size(); ++r) {
    detail::pack_filler<> filler(classes, capacity, sizes, slices, detail::completion_rules[r], looks);
    auto found = filler.fill_all();
    if (r == 0 || found.packs() < best.packs()) best = std::move(found);
    if (best.packs() == enough || filler.looks() > looks / 2) break;
    looks -= filler.looks();
  }
  return best;
}

/// @brief Packs samples of several measures by histogram bin completion; see `plan_bin_completion`.
///
/// The number of packs is close to the lower bound if samples are small compared with a pack; this is the fastest such packer of several
/// measures.
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
[[nodiscard]] vector_packing<Index> bin_completion(sample_measures const& samples, vector_packing_options const& options) {
  return detail::drive<Index>(samples, options, vector_packer::completion, [](auto const& items, auto& out) {
    detail::expand_all(plan_bin_completion(items.classes, items.capacity), items, out.packs);
  });
}

BALLAST_INSTANTIATE(pack_patterns plan_bin_completion(measure_classes const&, std::span<std::int64_t const>))

}  // namespace ballast::inline v0_2
