// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/partition/detail/load.hpp>
#include <ballast/partition/detail/reach.hpp>
#include <ballast/partition/options.hpp>
#include <ballast/partition/result.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief The exact min-max partition of a chain of layers: no cut has a cheaper dearest stage.

namespace ballast::inline v0_2 {

/// @brief Scratch memory of the partitioners; a caller who plans often keeps one, and nothing is allocated once it is warm.
struct partition_workspace {
  detail::chain_data chain;   ///< private
  detail::probe_state probe;  ///< private
};

namespace detail {

/// Turns what the search found into a result.
template <index_type Index>
void finish(bool found, bottleneck_bound const& bound, std::size_t layers, probe_state const& w, double units_per_1, staged<Index>& out) {
  out.units_per_1 = units_per_1;
  out.boundaries.clear();
  if (!found) {
    out.status = status::infeasible;
    out.bound = partition_bound::probe;
    out.bottleneck = {static_cast<std::int64_t>(w.most), static_cast<std::int64_t>(layers)};
    return;
  }
  out.status = status::feasible;
  out.bottleneck = {w.value, w.value};
  out.bound = w.value == bound.cost ? bound.bound : partition_bound::probe;
  out.boundaries.resize(w.plan.size());
  for (std::size_t s = 0; s < w.plan.size(); ++s) out.boundaries[s] = static_cast<Index>(w.plan[s]);
}

template <index_type Index>
void refuse(std::pair<partition_bound, certificate> const& reason, double units_per_1, staged<Index>& out) {
  out.status = status::infeasible;
  out.bound = reason.first;
  out.bottleneck = reason.second;
  out.boundaries.clear();
  out.units_per_1 = units_per_1;
}

/// Gives a plan of the useful stages the empty ones behind them.
template <index_type Index>
void pad(chain_data const& d, staged<Index>& out) {
  if (out.status == status::feasible) out.boundaries.resize(d.stages + 1, static_cast<Index>(d.layers));
}

/// A limit that equal stages without capacities can always keep, or nothing better than all: one dearest layer above the mean is enough
/// where a stage must have a single layer at most.
[[nodiscard]] inline std::int64_t enough_for(chain_data const& d, std::int64_t total) {
  auto const mean = total / static_cast<std::int64_t>(d.stages) + 1;
  return d.min_layers <= 1 && d.min_weighted <= 1 && d.largest < unaffordable - mean ? mean + d.largest : unaffordable - 1;
}

/// The least bottleneck of a chain that is loaded; the search's state stays in the workspace.
template <index_type Index>
void least_bottleneck(partition_workspace& workspace, staged<Index>& out) {
  auto const& d = workspace.chain;
  auto& w = workspace.probe;
  if (auto const reason = impossible(d, d.weighted.size()); reason.first != partition_bound::none)
    return refuse(reason, d.units_per_1, out);
  if (d.plain()) {
    auto const bound = partition_lower_bound(d.work, d.largest, d.stages);
    return finish(least_limit(plain_chain{d}, bound.cost, enough_for(d, d.total()), w), bound, d.layers, w, d.units_per_1, out);
  }
  auto const bound = d.layers == 0 ? bottleneck_bound{} : unequal_bound(d.total(), d.largest, d.unit_time, d.stages);
  finish(least_limit(limited_chain{d}, bound.cost, unaffordable - 1, w), bound, d.layers, w, d.units_per_1, out);
}

/// Loads a chain and cuts it with a search over all stages, whose state others go on with.
template <index_type Index, length_range R, cost_model Cost>
void cut_every_stage(R const& layers, partition_options const& o, Cost const& cost, partition_workspace& workspace, staged<Index>& out) {
  require_index<Index>(static_cast<std::size_t>(std::ranges::size(layers)), "layers");
  load_chain(layers, o, cost, workspace.chain);
  least_bottleneck(workspace, out);
}

}  // namespace detail

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

/// @brief Cuts a chain of layers into stages so that the dearest stage costs as little as any cut allows.
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
/// O(n + p log n log C) for n layers, p stages and a dearest layer of C, with few probes in practice; where propagation is needed
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
