// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/partition/detail/least_bottleneck.hpp>
#include <ballast/partition/detail/load.hpp>
#include <ballast/partition/detail/reach.hpp>
#include <ballast/partition/options.hpp>
#include <ballast/partition/result.hpp>
#include <ballast/partition/stage_cost.hpp>
#include <ballast/partition/workspace.hpp>

#include <cstddef>
#include <cstdint>
#include <ranges>

/// @file
/// @brief `min_max_partition`: the exact min-max partition of a chain of layers, or under any cost of a stage that is given as a callable.

namespace ballast::inline v0_2 {

/// @brief Computes the exact min-max partition in caller-owned memory. The other overload says what it computes.
/// @param layers     the chain, one integer for each layer; may be empty
/// @param options    number of stages and limits
/// @param cost       cost of one layer
/// @param workspace  scratch memory, kept between calls
/// @param out        overwritten with the plan; its memory is used again
/// @throws invalid_input as the other overload
template <index_type Index, length_range R, cost_model Cost>
void min_max_partition(R const& layers, partition_options const& options, Cost const& cost, partition_workspace& workspace,
                       staged<Index>& out) {
  require_index<Index>(static_cast<std::size_t>(std::ranges::size(layers)), "layers");
  auto& d = detail::memory_of(workspace).chain;
  detail::load_chain(layers, options, cost, d);
  d.used = d.useful_stages();
  detail::least_bottleneck(workspace, out);
  if (out.status == status::feasible) out.boundaries.resize(d.stages + 1, static_cast<Index>(d.layers));  // stages that stay empty
}

/// @brief Cuts a chain of layers into stages such that the cost of the most expensive stage is minimal.
///
/// A probe answers whether a limit can be kept: it gives each stage the longest run of layers under the limit. Where this may be a dead end
/// (several layers per stage, stages that cannot run some layer, transfers), it propagates the sets of cuts at which each stage can end.
/// The limit is bisected between a lower and an upper bound. After each probe, the bounds move to sums that some stage really has, and each
/// cut is searched only between its places under the two bounds. Among the partitions with the least bottleneck, that of the last probe is
/// returned: from the first stage on, each is as long as the limit and the minima of the later stages allow. `least_squares_partition`
/// balances the stages further.
///
/// @tparam Index  type of the boundaries
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`; pass floating costs through `scaled`
/// @param layers   the chain, one integer for each layer: its cost, or an index that `cost` looks up; may be empty
/// @param options  number of stages and limits; `limit` is not used
/// @param cost     cost of one layer, not negative; the integer itself by default
/// @return the partition, always proven optimal; infeasible if no partition keeps the minima and capacities
/// @throws invalid_input if an option is out of range, or a cost, size or sum is outside [0, 2^63)
/// @par Complexity
/// O(n + p log n log C) for n layers, p stages and a most expensive layer of C, with few probes in practice; if propagation is needed,
/// O(n p log C) time and n p bits. If stages are equal and may be empty, those beyond the n-th only cost writing their boundaries.
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

BALLAST_INSTANTIATE(staged<std::uint32_t> min_max_partition(std::vector<std::int64_t> const&, partition_options const&, token_cost const&))

/// @brief Computes the exact min-max partition by stage cost in caller-owned memory. The other overload says what it computes.
/// @param layers     number of layers
/// @param options    `stages` and `min_layers`; nothing else is used
/// @param cost       `cost(begin, end, stage)`
/// @param workspace  scratch memory, kept between calls
/// @param out        overwritten with the plan; its memory is used again
/// @throws invalid_input as the other overload
template <index_type Index, stage_cost Cost>
void min_max_partition(std::uint64_t layers, partition_options const& options, Cost const& cost, partition_workspace& workspace,
                       staged<Index>& out) {
  auto const chain = detail::weighed_chain<Index>(layers, options, cost);
  detail::chain_data d;
  d.layers = chain.layers();
  d.stages = chain.stages();
  d.min_layers = chain.min_layers;
  if (auto const reason = detail::impossible(d, 0); reason.first != partition_bound::none) return detail::refuse(reason, 1, out);
  auto& w = detail::memory_of(workspace).probe;
  detail::finish(detail::least_limit(chain, 0, unaffordable - 1, w), {}, chain.layers(), w, 1, out);
}

/// @brief Cuts a chain into stages such that the cost of the most expensive stage is minimal, for any cost of a stage.
///
/// Return `unaffordable` for stages that are not possible. This plans memory too: the cost of a stage may be the solution of a knapsack.
///
/// Where such a solution is expensive, the cost may be a lower bound on one that does not decrease, and may itself decrease. The result is
/// then a partition by these bounds: no partition has a lower true bottleneck, and `infeasible` means that none is truly possible.
///
/// @tparam Index  type of the boundaries
/// @tparam Cost   a `stage_cost`
/// @param layers   number of layers
/// @param options  `stages` and `min_layers`; nothing else is used
/// @param cost     `cost(begin, end, stage)`
/// @return the partition, always proven optimal; infeasible if every partition has a stage that is not possible
/// @pre the cost does not decrease if the range grows at either end, or is a lower bound on one that does not
/// @throws invalid_input if an option is out of range, or a cost is outside [0, 2^63)
/// @par Complexity
/// O(p log n log C) calls of the cost for n layers, p stages and a bottleneck of C, with few probes in practice; if propagation is
/// needed, n p more calls per probe, and n p bits.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// As `min_max_partition` of layers.
template <index_type Index = std::uint32_t, stage_cost Cost>
[[nodiscard]] staged<Index> min_max_partition(std::uint64_t layers, partition_options const& options, Cost const& cost) {
  partition_workspace workspace;
  staged<Index> out;
  min_max_partition(layers, options, cost, workspace, out);
  return out;
}

}  // namespace ballast::inline v0_2
