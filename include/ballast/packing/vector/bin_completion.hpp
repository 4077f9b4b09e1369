// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/patterns.hpp>
#include <ballast/packing/vector/detail/class_slices.hpp>
#include <ballast/packing/vector/detail/driver.hpp>
#include <ballast/packing/vector/detail/pack_filler.hpp>
#include <ballast/packing/vector/detail/relative_size.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/options.hpp>
#include <ballast/packing/vector/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

/// @file
/// @brief Histogram bin completion: packs of several measures filled one pattern at a time, on the counts of the classes.

namespace ballast::inline v0_2 {

/// @brief Fills one pack after another in proportion to what is left, and repeats each as often as the counts allow.
///
/// A pack starts with the largest sample left. Its target is full in the measure of which most packs are still needed, and in proportion in
/// the others; each further sample is the one that leaves the rest of the target in proportion, large ones first. Where a pack then falls
/// short of its target, other second samples are tried and the best pack is kept. A few rules that weigh size against proportion are
/// compared, and the fewest packs win.
///
/// @param classes   what there is to pack: rows ascending, every count positive, a measure may be 0
/// @param capacity  of one pack: an entry per measure, none below a value of the classes
/// @return every sample of every class in a pack
/// @throws invalid_input if the classes or the capacities cannot be such
/// @par Complexity
/// O(D log D + P (k + s) R K log D) time for D classes, P patterns (about as many as classes), K measures, s steps in a pack, and R <= 64
/// slices of classes that agree in all measures but one; the number of samples does not matter.
/// @par Determinism
/// A pure function of its arguments, decided in integers.
/// @par Source
/// This library, after the bin completion of Gent, "Heuristic solution of open bin packing problems", Journal of Heuristics 3 (1998): fill
/// a pack well, then the next.
[[nodiscard]] inline pack_patterns plan_bin_completion(measure_classes const& classes, std::span<std::int64_t const> capacity) {
  require_valid(classes, capacity);
  if (classes.size() == 0) return {};
  auto const sizes = detail::relative_sizes(classes, capacity);
  detail::class_slices const slices(classes, sizes);
  auto const enough = static_cast<std::uint64_t>(detail::volume_packs(classes, capacity));
  pack_patterns best;
  auto looks = detail::completion_looks;
  for (std::size_t r = 0; r < detail::completion_rules.size(); ++r) {
    detail::pack_filler filler(classes, capacity, sizes, slices, detail::completion_rules[r], looks);
    auto found = filler.fill_all();
    if (r == 0 || found.packs() < best.packs()) best = std::move(found);
    if (best.packs() == enough || filler.looks() > looks / 2) break;
    looks -= filler.looks();
  }
  return best;
}

/// @brief Packs samples of several measures by histogram bin completion; see `plan_bin_completion`.
///
/// Close to the bound where samples are short against a pack, and the fastest packer of several measures that is.
///
/// @tparam Index  type of the sample indices
/// @param samples  their measures; may be empty
/// @param options  capacity per measure and limits
/// @return packs, samples of a class in ascending order, with the certificate
/// @throws invalid_input for bad options, a negative measure, a sample of nothing, and one above a capacity under `oversize::reject`
/// @par Complexity
/// O(n) to classify and expand where the measures' ranges are moderate (see `classify`), and that of the plan.
/// @par Determinism
/// A pure function of samples and options.
template <index_type Index = std::uint32_t>
[[nodiscard]] vector_packing<Index> bin_completion(sample_measures const& samples, vector_packing_options const& options) {
  return detail::drive<Index>(samples, options, vector_packer::completion, [](auto const& items, auto& out) {
    detail::expand_all(plan_bin_completion(items.classes, items.capacity), items, out.packs);
  });
}

}  // namespace ballast::inline v0_2
