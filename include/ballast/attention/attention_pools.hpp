// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/balance/options.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/weigh.hpp>
#include <ballast/cost/polynomial.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string>
#include <vector>

/// @file
/// @brief `deal_pools`: the packed sequences of a step into pools of ranks that share their attention.

namespace ballast::inline v0_2 {

/// @brief The ranks of a step, one packed sequence on each. Neither has a default.
struct pool_options {
  std::uint64_t ranks = 0;  ///< number of data-parallel ranks, at least 1
  std::uint64_t pool = 0;   ///< ranks of a pool, a divisor of `ranks`
};

/// @brief The work of a packed sequence as Libra weighs it: the sum of the squares of its samples' lengths.
inline constexpr quadratic_cost square_cost{.linear = 0, .quadratic = 1};

/// @brief Deals the packed sequences of a step to pools, so that the pools have similar work and the same number of sequences.
///
/// The ranks of a pool then share the attention of their sequences, by `water_filling` for example. Longest processing time first: each
/// sequence, most expensive first, goes to the pool with the least work that has a place.
///
/// @tparam Index  index type of the packs
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @param packs    the sequences of the step: sample indices, one pack for each rank
/// @param lengths  tokens of each sample
/// @param options  ranks, and ranks of a pool
/// @param cost     work of a sample; the square of its length by default
/// @return `ranks / pool` sets of exactly `pool` packs, with the largest work of a pool and a lower bound on it
/// @throws invalid_input if `pool` does not divide `ranks`, there is not one pack for each rank, a pack has a sample that does not exist,
/// or a sum of costs reaches 2^63
/// @par Complexity
/// O(samples + ranks log ranks).
/// @par Determinism
/// A pure function of its arguments; equal sequences keep their order.
/// @par Source
/// The pools of Libra (arXiv 2607.23250).
template <index_type Index, length_range R, cost_model Cost = quadratic_cost>
[[nodiscard]] balanced_sets<Index> deal_pools(groups<Index> const& packs, R const& lengths, pool_options const& options,
                                              Cost const& cost = square_cost) {
  require(options.ranks > 0 && options.ranks < 1U << 20,
          [&] { return "ranks = " + std::to_string(options.ranks) + " must be in 1 ... 2^20 - 1"; });
  require(options.pool > 0 && options.ranks % options.pool == 0,
          [&] { return "pool = " + std::to_string(options.pool) + " must divide ranks = " + std::to_string(options.ranks); });
  require(packs.size() == options.ranks,
          [&] { return std::to_string(packs.size()) + " packs for ranks = " + std::to_string(options.ranks); });
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const at = read_by_position(lengths);
  std::vector<std::int64_t> work(packs.size(), 0);
  for (std::size_t p = 0; p < packs.size(); ++p)
    for (auto const i : packs[p]) {
      require(i < n, [&] { return "packs[" + std::to_string(p) + "] has sample " + std::to_string(i) + " of " + std::to_string(n); });
      auto const value = checked_cost(at[i], cost, "cost", [&] { return entry("lengths", i, at[i]); });
      add_checked(work[p], value, "costs of lengths", static_cast<std::size_t>(i));
    }
  return longest_processing_time<Index>(work, {.sets = options.ranks / options.pool, .max_items = options.pool});
}

/// @brief The largest work of a pool over the mean that is to be expected if sequences are dealt to pools at random: a figure for reports.
///
/// It is `1 + cv / sqrt(pool) * sqrt(2 ln(sequences / pool))`: the mean of `pool` draws varies by `cv / sqrt(pool)`, and the largest of m
/// normal draws is about `sqrt(2 ln m)` deviations above the mean. It is an estimate, not a bound, and decides nothing.
///
/// @param cv         standard deviation of the work of a sequence over its mean, not negative
/// @param pool       sequences of a pool, at least 1
/// @param sequences  sequences of a step, at least `pool`
/// @return at least 1
/// @throws invalid_input if an argument is out of its range
/// @par Source
/// Libra (arXiv 2607.23250).
template <class = when_called>
[[nodiscard]] inline double expected_pool_imbalance(double cv, std::uint64_t pool, std::uint64_t sequences) {
  require(cv >= 0, [&] { return "cv = " + std::to_string(cv) + " must not be negative"; });
  require(pool > 0 && pool <= sequences,
          [&] { return "pool = " + std::to_string(pool) + " must be in 1 ... sequences = " + std::to_string(sequences); });
  auto const size = static_cast<double>(pool);
  return 1.0 + cv / std::sqrt(size) * std::sqrt(2.0 * std::log(static_cast<double>(sequences) / size));
}

}  // namespace ballast::inline v0_2
