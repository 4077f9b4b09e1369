// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/runs.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/partition/detail/least_bottleneck.hpp>
#include <ballast/partition/detail/load.hpp>
#include <ballast/partition/options.hpp>
#include <ballast/partition/result.hpp>
#include <ballast/partition/workspace.hpp>

#include <cstdint>

/// @file
/// @brief `min_max_partition` of a folded chain: its time grows with the number of runs of equal layers, not of layers.

namespace ballast::inline v0_2 {

/// @brief Computes the exact min-max partition of a folded chain in caller-owned memory. The other overload says what it computes.
/// @param runs       the folded chain
/// @param options    number of stages and limits
/// @param cost       cost of one layer, from the value of its run
/// @param workspace  scratch memory, kept between calls
/// @param out        overwritten with the plan; its memory is used again
/// @throws invalid_input as the other overload
template <index_type Index, cost_model Cost>
void min_max_partition(chain_runs const& runs, partition_options const& options, Cost const& cost, run_partition_workspace& workspace,
                       staged<Index>& out) {
  detail::load_runs(runs, options, cost, workspace);
  auto& d = workspace.scratch.chain;
  auto& w = workspace.scratch.probe;
  require_index<Index>(d.layers, "layers");
  if (auto const reason = detail::impossible(d, d.rank.back()); reason.first != partition_bound::none)
    return detail::refuse(reason, d.units_per_1, out);
  detail::run_chain const chain{d, workspace.values, workspace.first};
  auto const bound = d.layers == 0               ? bottleneck_bound{}
                     : options.unit_time.empty() ? detail::bound_of_runs(chain, d.stages)
                                                 : detail::unequal_bound(d.work.back(), d.largest, options.unit_time, options.stages);
  auto const enough = options.unit_time.empty() ? detail::enough_for(d, d.work.back()) : unaffordable - 1;
  d.used = d.useful_stages();
  detail::finish(detail::least_limit(chain, bound.cost, enough, w), bound, d.layers, w, d.units_per_1, out);
  detail::pad(d, out);
}

/// @brief Cuts a folded chain into stages such that the cost of the most expensive stage is minimal.
///
/// Partition, certificate and bound are the same as for the unfolded chain.
///
/// @tparam Index  type of the boundaries
/// @tparam Cost   a `cost_model`; pass floating costs through `scaled`
/// @param runs     the folded chain (`fold_runs`)
/// @param options  number of stages, minima and `unit_time`; the arrays with one entry per layer must be empty
/// @param cost     cost of one layer, from the value of its run; the value itself by default
/// @return the partition, as for the unfolded chain
/// @throws invalid_input if an option is out of range, or a cost or sum is outside [0, 2^63)
/// @par Complexity
/// O(r log r + p log r log C) for r runs, p stages and a most expensive layer of C, independent of the number n of layers. If stages are
/// equal and may be empty, those beyond the n-th only cost writing their boundaries. With `min_layers` or `min_weighted` above 1, or if
/// unequal stages must each have a layer, a probe may need O(n p log r) time and n p bits.
/// @par Determinism
/// A pure function of the runs and the options.
/// @par Source
/// As `min_max_partition` of layers.
template <index_type Index = std::uint32_t, cost_model Cost = token_cost>
[[nodiscard]] staged<Index> min_max_partition(chain_runs const& runs, partition_options const& options, Cost const& cost = {}) {
  run_partition_workspace workspace;
  staged<Index> out;
  min_max_partition(runs, options, cost, workspace, out);
  return out;
}

}  // namespace ballast::inline v0_2
