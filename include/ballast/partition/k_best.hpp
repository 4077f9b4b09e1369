// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/partition/detail/least_bottleneck.hpp>
#include <ballast/partition/detail/ranked.hpp>
#include <ballast/partition/options.hpp>
#include <ballast/partition/result.hpp>
#include <ballast/partition/workspace.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief The k best partitions, for callers who measure the candidates.

namespace ballast::inline v0_2 {

/// @brief The best partitions, by bottleneck, then by sum of squared stage costs, then by boundaries (the last inner one lower, then the
/// one before).
///
/// The least limit that `count` cuts keep is found by counting; the cuts below it are few and all listed, those at it are chosen by their
/// squares.
///
/// @tparam Index  type of the boundaries
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`; floating costs through `scaled`
/// @param layers   the chain, as for `min_max_partition`
/// @param count    how many, at least 1
/// @param options  number of stages and limits; `limit` is not used
/// @param cost     weighs one layer, not negative; the integer itself by default
/// @return the plans, fewer only if there are no more; infeasible as `min_max_partition`
/// @throws invalid_input for a count of 0, a bad option, or a cost, size or sum outside [0, 2^63)
/// @par Complexity
/// O(p n^2 log C + p n (n + k log n)) time for n layers, p stages, k plans and a total cost of C; O(p n k) memory.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// This library (docs/partition.md).
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] ranked_stages<Index> k_best_partitions(R const& layers, std::uint64_t count, partition_options const& options,
                                                     Cost const& cost = {}) {
  require(count >= 1, [] { return std::string("count = 0 must be positive"); });
  partition_workspace workspace;
  staged<Index> best;
  detail::cut_every_stage(layers, options, cost, workspace, best);
  ranked_stages<Index> out{best.status, best.bottleneck, best.bound, {}, best.status != status::feasible};
  if (best.status != status::feasible) return out;
  auto const& d = workspace.chain;
  if (d.plain())
    detail::rank_cuts(detail::plain_chain{d}, count, best, out);
  else
    detail::rank_cuts(detail::limited_chain{d}, count, best, out);
  return out;
}

}  // namespace ballast::inline v0_2
