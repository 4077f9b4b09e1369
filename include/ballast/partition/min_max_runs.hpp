// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/runs.hpp>
#include <ballast/core/weigh.hpp>
#include <ballast/partition/min_max.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// @file
/// @brief The exact min-max partition of a folded chain: time grows with runs of equal layers, not with layers.

namespace ballast::inline v0_2 {

/// @brief Scratch memory of the partitioner of folded chains.
struct run_partition_workspace {
  partition_workspace scratch;       ///< private
  std::vector<std::int64_t> values;  ///< private
  std::vector<std::size_t> first;    ///< private
};

namespace detail {

/// Sums by run; throws as for layers.
template <cost_model Cost>
void load_runs(chain_runs const& runs, partition_options const& o, Cost const& cost, run_partition_workspace& workspace) {
  require_stages(o);
  require_valid(runs);
  require(o.size.empty() && o.capacity.empty() && o.transfer.empty(),
          [] { return std::string("size, capacity and transfer are by layer: partition the unfolded chain"); });
  auto& d = workspace.scratch.chain;
  auto const r = runs.size();
  workspace.values.resize(r);
  workspace.first.resize(r + 1);
  workspace.first[0] = 0;
  d.work.resize(r + 1);
  d.work[0] = 0;
  d.rank.resize(r + 1);
  d.rank[0] = 0;
  d.largest = 0;
  for (std::size_t i = 0; i < r; ++i) {
    auto const here = [&] { return entry("runs.values", i, runs.values[i]); };
    auto const value = checked_cost(runs.values[i], cost, "cost", here);
    auto const count = static_cast<std::int64_t>(runs.counts[i]);
    require(value <= (unaffordable - d.work[i]) / count, [&] { return here() + " brings the sum of costs to 2^63 or more"; });
    workspace.values[i] = value;
    workspace.first[i + 1] = workspace.first[i] + static_cast<std::size_t>(count);
    d.work[i + 1] = d.work[i] + value * count;
    d.rank[i + 1] = d.rank[i] + (value > 0 ? static_cast<std::size_t>(count) : 0);
    d.largest = (std::max)(d.largest, value);
  }
  d.layers = workspace.first[r];
  d.stages = d.used = static_cast<std::size_t>(o.stages);
  d.min_layers = static_cast<std::size_t>(o.min_layers);
  d.min_weighted = static_cast<std::size_t>(o.min_weighted);
  d.capacity = {};
  d.units_per_1 = scale_of(cost);
  load_speeds(o, d.work[r], d);
}

/// The bounds of equal stages; the cheapest window of a folded chain begins or ends with a run.
[[nodiscard]] inline bottleneck_bound bound_of_runs(run_chain const& chain, std::size_t stages) {
  auto const& d = chain.data;
  auto best = unequal_bound(d.work.back(), d.largest, {}, stages);
  if (d.layers <= stages) return best;
  auto const length = (d.layers - 1) / stages + 1;
  auto window = d.work.back();
  for (std::size_t r = 0; r + 1 < chain.first.size(); ++r) {
    auto const begin = chain.first[r], end = chain.first[r + 1];
    if (begin + length <= d.layers) window = (std::min)(window, chain.work(begin + length) - d.work[r]);
    if (end >= length) window = (std::min)(window, d.work[r + 1] - chain.work(end - length));
  }
  if (window > best.cost) best = {window, partition_bound::window};
  return best;
}

}  // namespace detail

/// @brief The exact min-max partition of a folded chain, into caller-owned memory. See the other overload for what it computes.
/// @param runs       the chain, folded
/// @param options    number of stages and limits
/// @param cost       weighs one layer of a run by the run's value
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

/// @brief Cuts a folded chain into stages so that the dearest stage costs as little as any cut allows.
///
/// The cut, its certificate and its bound are those of the unfolded chain.
///
/// @tparam Index  type of the boundaries
/// @tparam Cost   a `cost_model`; floating costs through `scaled`
/// @param runs     the chain, folded (`fold_runs`)
/// @param options  number of stages, minima and `unit_time`; nothing that is given by layer
/// @param cost     weighs one layer of a run by the run's value; the value itself by default
/// @return the cut, as of the unfolded chain
/// @throws invalid_input for a bad option, or a cost or sum outside [0, 2^63)
/// @par Complexity
/// O(r log r + p log r log C) for r runs, p stages and a dearest layer of C, whatever the number n of layers; equal
/// stages that may be empty cost nothing beyond the n-th but their boundaries. With `min_layers` or `min_weighted` above 1, or where
/// unequal stages must each have a layer, a probe may fall back on O(n p log r) time and n p bits.
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
