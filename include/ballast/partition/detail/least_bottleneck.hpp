// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/partition/bounds.hpp>
#include <ballast/partition/detail/chain.hpp>
#include <ballast/partition/detail/load.hpp>
#include <ballast/partition/detail/reach.hpp>
#include <ballast/partition/options.hpp>
#include <ballast/partition/result.hpp>
#include <ballast/partition/stage_cost.hpp>
#include <ballast/partition/workspace.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

// The exact search on a chain of layers or under a cost given as callable, and its public result.

namespace ballast::inline v0_2::detail {

/// Turns the result of the search into a public result.
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

/// An upper bound on the optimal bottleneck of equal stages without capacities: the mean plus the most expensive layer if a stage may have
/// a single layer, otherwise no bound.
[[nodiscard]] inline std::int64_t enough_for(chain_data const& d, std::int64_t total) {
  auto const mean = total / static_cast<std::int64_t>(d.stages) + 1;
  return d.min_layers <= 1 && d.min_weighted <= 1 && d.largest < unaffordable - mean ? mean + d.largest : unaffordable - 1;
}

/// Computes the least bottleneck of a loaded chain; the state of the search stays in the workspace.
template <index_type Index>
void least_bottleneck(partition_workspace& workspace, staged<Index>& out) {
  auto const& d = memory_of(workspace).chain;
  auto& w = memory_of(workspace).probe;
  if (auto const reason = impossible(d, d.weighted.size()); reason.first != partition_bound::none)
    return refuse(reason, d.units_per_1, out);
  if (d.plain()) {
    auto const bound = partition_lower_bound(d.work, d.largest, d.stages);
    return finish(least_limit(plain_chain{d}, bound.cost, enough_for(d, d.total()), w), bound, d.layers, w, d.units_per_1, out);
  }
  auto const bound = d.layers == 0 ? bottleneck_bound{} : unequal_bound(d.total(), d.largest, d.unit_time, d.stages);
  finish(least_limit(limited_chain{d}, bound.cost, unaffordable - 1, w), bound, d.layers, w, d.units_per_1, out);
}

/// A chain whose cost is a callable, which also rules out stages that are not possible.
template <index_type Index, stage_cost Cost>
[[nodiscard]] callable_chain<Cost> weighed_chain(std::uint64_t layers, partition_options const& o, Cost const& cost) {
  require_stages(o);
  require(o.min_weighted == 0 && o.unit_time.empty() && o.size.empty() && o.capacity.empty() && o.transfer.empty(),
          [] { return std::string("a partition by stage cost takes only the options stages and min_layers"); });
  auto const n = static_cast<std::size_t>(layers);
  require_index<Index>(n, "layers");
  return {cost, n, static_cast<std::size_t>(o.stages), static_cast<std::size_t>(o.min_layers)};
}

}  // namespace ballast::inline v0_2::detail
