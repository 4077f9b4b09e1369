// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/partition/detail/least_bottleneck.hpp>
#include <ballast/partition/detail/load.hpp>
#include <ballast/partition/options.hpp>
#include <ballast/partition/result.hpp>
#include <ballast/partition/workspace.hpp>

#include <cstddef>
#include <cstdint>
#include <ranges>

/// @file
/// @brief The exact min-max partition of a chain of layers: no cut has a cheaper most expensive stage.

namespace ballast::inline v0_2 {

/// @brief The exact min-max partition, into caller-owned memory. See the other overload for what it computes.
/// @param layers     the chain, one integer each; may be empty
/// @param options    number of stages and limits
/// @param cost       weighs one layer
/// @param workspace  scratch memory, kept between calls
/// @param out        overwritten with the plan; its memory is used again
/// @throws invalid_input as the other overload
template <index_type Index, length_range R, cost_model Cost>
void min_max_partition(R const& layers, partition_options const& options, Cost const& cost, partition_workspace& workspace,
                       staged<Index>& out) {
  require_index<Index>(static_cast<std::size_t>(std::ranges::size(layers)), "layers");
  auto& d = workspace.chain;
  detail::load_chain(layers, options, cost, d);
  d.used = d.useful_stages();
  detail::least_bottleneck(workspace, out);
  detail::pad(d, out);
}

/// @brief Cuts a chain of layers into stages so that the most expensive stage costs as little as any cut allows.
///
/// A probe answers whether a limit can be kept: it gives each stage the longest prefix under the limit; where that can be a dead end
/// (several layers per stage, stages that cannot run some layer, transfers) it propagates the sets of cuts that the stages can end at. The
/// limit is bisected between a lower and an upper bound; after each probe the bounds move to sums that some stage really has, and each cut
/// is looked for between its places under the two bounds. Of the cuts with the least bottleneck the one of the last probe is returned:
/// stages are as long as the limit and the minimum of the later ones allow, in order. `least_squares_partition` spreads the slack.
///
/// @tparam Index  type of the boundaries
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`; floating costs through `scaled`
/// @param layers   the chain, one integer each: costs, or the numbers of layers with a callable that looks them up; may be empty
/// @param options  number of stages and limits; `limit` is not used
/// @param cost     weighs one layer, not negative; the integer itself by default
/// @return the cut, with a certificate that is always closed; infeasible where no cut keeps the minima and capacities
/// @throws invalid_input for a bad option, or a cost, size or sum outside [0, 2^63)
/// @par Complexity
/// O(n + p log n log C) for n layers, p stages and a most expensive layer of C, with few probes in practice; where propagation is needed
/// O(n p log C) time and n p bits. Equal stages that may be empty cost nothing beyond the n-th but their boundaries.
/// @par Determinism
/// A pure function of the costs and the options.
/// @par Source
/// Nicol, "Rectilinear partitioning of irregular data parallel computations", J. Parallel Distrib. Comput. 23 (1994); Pinar, Aykanat,
/// "Fast optimal load balancing algorithms for 1D partitioning", J. Parallel Distrib. Comput. 64 (2004): exact bisection and separators;
/// Pinar, Tabak, Aykanat, "One-dimensional partitioning for heterogeneous systems", J. Parallel Distrib. Comput. 68 (2008): unequal stages.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] staged<Index> min_max_partition(R const& layers, partition_options const& options, Cost const& cost = {}) {
  partition_workspace workspace;
  staged<Index> out;
  min_max_partition(layers, options, cost, workspace, out);
  return out;
}

}  // namespace ballast::inline v0_2
