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
/// @brief `k_best_partitions`: the k best partitions, for callers who measure the candidates.

namespace ballast::inline v0_2 {

/// @brief Finds the k best partitions, ordered by bottleneck, then by sum of squared stage costs, then by boundaries (from the last inner
/// one to the first, lower is better).
///
/// Counting finds the smallest limit under which at least `count` partitions exist. There are few partitions below it, and all are listed;
/// those at the limit are chosen by their sum of squares.
///
/// @tparam Index  type of the boundaries
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`; pass floating costs through `scaled`
/// @param layers   the chain, as for `min_max_partition`
/// @param count    number of partitions, at least 1
/// @param options  number of stages and limits; `limit` is not used
/// @param cost     cost of one layer, not negative; the integer itself by default
/// @return the partitions, fewer only if no more exist; infeasible as `min_max_partition`
/// @throws invalid_input if `count` is 0, an option is out of range, or a cost, size or sum is outside [0, 2^63)
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
