// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/packing/detail/search/dive_program.hpp>
#include <ballast/packing/detail/search/dual_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace ballast::inline v0_2::detail {

/// The result of the linear program with one row for each position: a plan of its integer part, the remaining samples and the lower bound.
struct exact_start {
  pooled_patterns whole;               ///< patterns of positions: the solution, rounded down
  pooled_vector<std::uint64_t> rest;   ///< remaining samples of each position
  pooled_vector<std::int64_t> worths;  ///< dual value of a sample of each position, in units of `1 / value_one`
  pooled_patterns tight;               ///< patterns that the solution uses or nearly uses
  dual_proof proof;
};

/// Solves the linear program for few positions, no two of which agree in all measures. `known` are patterns of a plan, which save most of
/// the pivots.
template <class Shape>
[[nodiscard]] exact_start start_from_exact_classes(Shape const& samples, pooled_patterns const& known, search_budget& budget) {
  pooled_vector<std::uint32_t> all(samples.positions());
  std::iota(all.begin(), all.end(), 0U);
  dive_program<Shape> lp(samples, all, samples.counts(), samples.capacity, dive_program<Shape>::rounding::down);
  auto knapsack = lp.knapsack();
  auto program = lp.program(knapsack, lp.cut(all.size(), {}, {}));
  program.add_uniform_patterns(static_cast<std::uint64_t>(samples.capacity));
  for (std::size_t p = 0; p < known.size(); ++p) lp.add(program, known[p]);
  program.solve(200, budget);

  exact_start out;
  out.rest.assign(samples.counts().begin(), samples.counts().end());
  program.program().for_each_basic([&](std::size_t j, double x) {
    auto const pattern = program.patterns()[j];
    auto packs = x <= 0 ? 0 : static_cast<std::uint64_t>((std::min)(x + 1e-6, 1e15));
    for (auto const& [p, copies] : pattern) packs = (std::min)(packs, out.rest[p] / copies);
    if (packs == 0) return;
    for (auto const& [p, copies] : pattern) out.rest[p] -= packs * copies;
    out.whole.push_back(pattern, packs);
  });
  out.worths.assign(program.values().begin(), program.values().end());
  out.tight = lp.tight_patterns(program, 0.01);
  out.proof = prove(knapsack, samples.counts(), program.values(), budget);
  return out;
}

}  // namespace ballast::inline v0_2::detail
