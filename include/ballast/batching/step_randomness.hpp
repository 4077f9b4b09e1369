// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/token_means.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <vector>

/// @file
/// @brief `randomness_of`: how far the steps of a plan are from random draws of its samples.

namespace ballast::inline v0_2 {

/// @brief How far the steps of a plan are from random draws, in thousandths. Random steps have about 1000, and stratified ones less.
struct step_randomness {
  /// D: the variance over the steps of the token-mean length (sum l^2 / sum l), over that of random steps; 0 if all lengths are equal.
  std::uint64_t design_effect = 0;
  /// D8: the same for the means over eight steps in a row, as momentum averages them; 0 with fewer than nine steps. Long runs of like steps
  /// raise it, and they are what training suffers from.
  std::uint64_t design_effect_8 = 0;
  friend bool operator==(step_randomness const&, step_randomness const&) = default;
};

/// @brief Compares the steps of a plan with random draws of its samples.
///
/// If length explains a share s of a gradient's variance, a design effect D multiplies the noise of a step by 1 + s (D - 1).
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param plan     a plan of these samples
/// @param lengths  tokens of each sample, positive
/// @return the design effects
/// @throws invalid_input if a pack names a sample that `lengths` lacks, a length is not positive, or squares of lengths reach 2^63 in all
/// @par Complexity
/// O(samples).
/// @par Determinism
/// A pure function of its arguments, in integers.
template <index_type Index, length_range R>
[[nodiscard]] step_randomness randomness_of(batching<Index> const& plan, R const& lengths) {
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const extent = extent_of(lengths);
  require(extent.longest == 0 || extent.tokens < (std::numeric_limits<std::int64_t>::max)() / extent.longest,
          [] { return "the squares of all lengths may reach 2^63; count tokens in a larger unit"; });
  auto const at = read_by_position(lengths);
  std::vector<std::int64_t> trained(n, 0);  // samples in no step have no tokens here, and so no weight
  for (auto const i : plan.packs.members) {
    require(i < n, [&] { return sentence("a pack holds sample ", i, ", but there are ", n, " lengths"); });
    trained[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(at[static_cast<std::size_t>(i)]);
  }
  std::uint64_t tokens = 0, squares = 0;
  for (auto const l : trained) {
    tokens += static_cast<std::uint64_t>(l);
    squares += static_cast<std::uint64_t>(l * l);
  }
  token_means const means(trained, n, tokens, squares);
  auto const random = means.variance_of_random(plan.steps(), 1);
  if (random == 0) return {};
  return {multiply_divide_up(means.variance(plan, 1), 1000, random),
          plan.steps() > 8 ? multiply_divide_up(means.variance(plan, 8), 8000, random) : 0};
}

}  // namespace ballast::inline v0_2
