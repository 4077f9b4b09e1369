// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_watch.hpp>
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/packing/detail/search/band_master.hpp>
#include <ballast/packing/detail/search/dive_program.hpp>
#include <ballast/packing/detail/search/vector_slices.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

namespace ballast::inline v0_2::detail {

/// As `prove`, turns the dual values of positions into a proof by position. The knapsack is solved for exact sizes or, if that is too
/// expensive, for sizes rounded down to a coarser unit, with which only more samples fit.
template <class = when_called>
[[nodiscard]] inline dual_proof prove_values(vector_slices const& slices, pooled_vector<std::int64_t> const& worths,
                                             search_budget& budget) {
  constexpr std::uint64_t most_cells = 600'000'000, largest_table = std::uint64_t{1} << 23;
  auto const states = std::uint64_t{lead_states(slices.lead_capacity, 1U << 14)};
  std::int64_t unit = 1;
  while (static_cast<std::uint64_t>(slices.capacity / unit) > (std::min)(most_cells / slices.positions(), largest_table) / states)
    unit *= 2;
  auto sizes = slices.size;
  for (auto& size : sizes) size /= unit;
  pack_knapsack<vector_slices> knapsack(slices, slices.slice, sizes, slices.capacity / unit);
  return prove(knapsack, slices.count, worths, budget);
}

/// The result of the linear program over all samples.
struct program_bound {
  dual_proof proof;                    ///< with values by position
  pooled_patterns patterns;            ///< patterns of positions that the solution uses or nearly uses
  pooled_vector<std::uint32_t> bends;  ///< positions at which the values jump or bend
};

/// Solves the linear program by bands that are refined where they fit worst, until the bound is at least `enough`, will stay below `least`,
/// hardly grows, or the spent work reaches `end`. `known` are patterns of positions; `cells` limits the resolution.
template <class = when_called>
[[nodiscard]] inline program_bound bound_by_program(vector_slices const& slices, pooled_patterns const& known, std::int64_t least,
                                                    std::int64_t enough, std::uint64_t cells, search_budget& budget, std::uint64_t end) {
  pooled_vector<std::uint32_t> all(slices.positions());
  std::iota(all.begin(), all.end(), 0U);
  dive_program<vector_slices> lp(slices, all, slices.count, slices.resolution(all, cells), dive_program<vector_slices>::rounding::down);
  auto knapsack = lp.knapsack();
  auto borders = lp.cut(64, {}, {});
  program_bound best;
  best.patterns = known;
  for (int round = 0; round < 8; ++round) {
    auto program = lp.program(knapsack, borders);
    program.add_uniform_patterns(40);
    for (std::size_t p = 0; p < best.patterns.size(); ++p) lp.add(program, best.patterns[p]);
    program.solve(60, budget, end);
    auto proof = prove_values(slices, lp.values(program), budget);
    best.patterns = lp.tight_patterns(program, 0.01);
    auto const gain = proof.packs - best.proof.packs, gap = enough - proof.packs;
    if (gain > 0 || round == 0) best.proof = std::move(proof);
    best.bends = lp.bends(program);
    if (gap <= 0 || best.proof.packs < least || (round > 0 && gain <= gap / 40) || !budget.allows(end)) break;
    borders = lp.zoomed(program, knapsack, round % 3);
  }
  return best;
}

}  // namespace ballast::inline v0_2::detail
