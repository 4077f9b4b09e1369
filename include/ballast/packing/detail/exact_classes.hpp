// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/detail/dual_bound.hpp>
#include <ballast/packing/detail/run_patterns.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace ballast::inline v0_1::detail {

/// What the linear program with a row for every length says: whole packs, what they leave over, and the bound.
struct exact_start {
  pack_patterns patterns;            ///< the plan, rounded down
  std::vector<std::uint64_t> rest;   ///< samples of each length that are not in it
  std::vector<std::int64_t> worths;  ///< of a sample of each length, in `value_one`
  dual_proof proof;
};

/// Solves it, for few lengths; best fit's patterns are the first columns and spare most of the pivots.
[[nodiscard]] inline exact_start start_from_exact_classes(histogram const& lengths, std::int64_t capacity, best_fit_patterns& best_fit,
                                                          search_budget& budget) {
  coarse_lengths const exact(lengths, capacity, 1);
  length_knapsack knapsack(exact.classes.size, capacity);
  group_borders borders(lengths.lengths.size() + 1);
  std::iota(borders.begin(), borders.end(), 0U);
  group_master master(exact.classes, knapsack, borders);
  master.add_uniform_patterns(static_cast<std::uint64_t>(capacity));
  pack_patterns known;
  best_fit.append(lengths, exact.class_of, known);
  for (std::size_t p = 0; p < known.size(); ++p) master.add(known[p]);
  master.solve(200, budget);

  exact_start out;
  out.rest = lengths.counts;
  master.program().for_each_basic([&](std::size_t j, double x) {
    auto const pattern = master.patterns()[j];
    auto packs = x <= 0 ? 0 : static_cast<std::uint64_t>((std::min)(x + 1e-6, 1e15));
    for (auto const& [c, copies] : pattern) packs = (std::min)(packs, out.rest[c] / copies);
    if (packs == 0) return;
    for (auto const& [c, copies] : pattern) out.rest[c] -= packs * copies;
    out.patterns.push_back(pattern, packs);
  });
  out.worths.assign(master.values().begin(), master.values().end());
  out.proof = prove(exact, knapsack, master.values(), budget);
  return out;
}

}  // namespace ballast::inline v0_1::detail
