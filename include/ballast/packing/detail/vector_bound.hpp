// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/detail/dual_bound.hpp>
#include <ballast/packing/detail/search_budget.hpp>
#include <ballast/packing/detail/vector_dive.hpp>
#include <ballast/packing/detail/vector_knapsack.hpp>
#include <ballast/packing/detail/vector_rows.hpp>
#include <ballast/packing/detail/vector_stage.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace ballast::inline v0_1::detail {

/// Makes a proof of what a linear program said that a sample of each position is worth, like `prove`; its values are by position. The
/// knapsack is solved for sizes as they are, or, where that is too much, in a coarser unit and rounded down, which only lets more fit.
[[nodiscard]] inline dual_proof prove_values(vector_rows const& rows, std::vector<std::int64_t> const& worths, search_budget& budget) {
  constexpr std::uint64_t most_cells = 600'000'000, largest_table = std::uint64_t{1} << 23;
  auto const states = std::uint64_t{lead_states(rows, 1U << 14)};
  std::int64_t unit = 1;
  while (static_cast<std::uint64_t>(rows.capacity / unit) > (std::min)(most_cells / rows.positions(), largest_table) / states) unit *= 2;
  auto sizes = rows.size;
  for (auto& size : sizes) size /= unit;
  vector_knapsack knapsack(rows, rows.row, sizes, rows.capacity / unit);
  dual_proof out;
  std::int64_t sum = 0;
  for (std::size_t p = 0; p < rows.positions(); ++p) {
    auto const copies = (std::min)(knapsack.most_copies(p), std::uint64_t{value_one});  // as many as can be: worth nothing
    auto const most = copies == value_one ? 0 : value_one / static_cast<std::int32_t>(copies);
    auto const value = static_cast<std::int32_t>((std::min)(worths[p], std::int64_t{most})) & -(1 << knapsack.shift());
    out.value.push_back(value);
    sum += static_cast<std::int64_t>(rows.count[p]) * value;
  }
  budget.spend(knapsack.solve(out.value));
  out.capacity = (std::max)(knapsack.best(), std::int64_t{1});
  out.packs = sum / out.capacity + (sum % out.capacity != 0 ? 1 : 0);
  return out;
}

/// What the linear program over all samples says.
struct program_bound {
  dual_proof proof;                  ///< by position
  pack_patterns patterns;            ///< of positions: those that the plan uses or nearly does
  std::vector<std::uint32_t> bends;  ///< positions at which the worths jump or bend
};

/// Solves it by groups that get finer where they fit worst, until the bound is `enough`, or stays below `least`, or hardly grows, or the
/// work has come to `end`. `known` are patterns of positions.
[[nodiscard]] inline program_bound bound_by_program(vector_rows const& rows, pack_patterns const& known, std::int64_t least,
                                                    std::int64_t enough, search_budget& budget, std::uint64_t end) {
  std::vector<std::uint32_t> all(rows.positions());
  std::iota(all.begin(), all.end(), 0U);
  vector_stage stage(rows, all, rows.count, vector_dive::resolution(rows, all.size(), vector_dive::stage_cells),
                     vector_stage::rounding::down);
  auto knapsack = stage.knapsack();
  auto borders = stage.cut(64, {});
  program_bound best;
  best.patterns = known;
  for (int round = 0; round < 8; ++round) {
    auto program = stage.program(knapsack, borders);
    program.add_uniform_patterns(40);
    for (std::size_t p = 0; p < best.patterns.size(); ++p) stage.add(program, best.patterns[p]);
    program.solve(60, budget, end);
    auto proof = prove_values(rows, stage.values(program), budget);
    best.patterns = stage.tight_patterns(program, 0.01);
    auto const gain = proof.packs - best.proof.packs, gap = enough - proof.packs;
    if (gain > 0 || round == 0) best.proof = std::move(proof);
    best.bends = stage.bends(program);
    if (gap <= 0 || best.proof.packs < least || (round > 0 && gain <= gap / 40) || !budget.allows(end)) break;
    borders = stage.zoomed(program, knapsack, round % 3);
  }
  return best;
}

/// The linear program's plan rounded down, and what it leaves over.
struct program_plan {
  program_bound bound;
  pack_patterns whole;              ///< of classes
  std::vector<std::uint64_t> rest;  ///< samples of each position
};

/// Solves it with a row for each position; no two may agree in all measures. `known` are patterns of positions.
[[nodiscard]] inline program_plan plan_by_program(vector_rows const& rows, pack_patterns const& known, search_budget& budget) {
  std::vector<std::uint32_t> all(rows.positions());
  std::iota(all.begin(), all.end(), 0U);
  vector_stage stage(rows, all, rows.count, rows.capacity, vector_stage::rounding::down);
  auto knapsack = stage.knapsack();
  auto program = stage.program(knapsack, stage.cut(all.size(), {}));
  program.add_uniform_patterns(static_cast<std::uint64_t>(rows.capacity));
  for (std::size_t p = 0; p < known.size(); ++p) stage.add(program, known[p]);
  program.solve(200, budget);
  program_plan out;
  out.rest = rows.count;
  std::vector<pattern_item> pattern;
  program.program().for_each_basic([&](std::size_t j, double x) {
    pattern.assign(program.patterns()[j].begin(), program.patterns()[j].end());
    auto packs = x <= 0 ? 0 : static_cast<std::uint64_t>((std::min)(x + 1e-6, 1e15));
    for (auto const& [p, copies] : pattern) packs = (std::min)(packs, out.rest[p] / copies);
    if (packs == 0) return;
    for (auto& [p, copies] : pattern) {
      out.rest[p] -= packs * copies;
      p = rows.item_class[p];
    }
    out.whole.push_back(pattern, packs);
  });
  out.bound.proof = prove_values(rows, stage.values(program), budget);
  out.bound.patterns = stage.tight_patterns(program, 0.01);
  return out;
}

}  // namespace ballast::inline v0_1::detail
