// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/runs.hpp>
#include <ballast/core/weigh.hpp>
#include <ballast/partition/bounds.hpp>
#include <ballast/partition/detail/chain.hpp>
#include <ballast/partition/detail/load.hpp>
#include <ballast/partition/options.hpp>
#include <ballast/partition/workspace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

// Validation of a folded chain, and its bounds.

namespace ballast::inline v0_2::detail {

/// Sums by run; throws as for layers.
template <cost_model Cost>
void load_runs(chain_runs const& runs, partition_options const& o, Cost const& cost, run_partition_workspace& workspace) {
  auto& d = workspace.scratch.chain;
  load_options(o, d);
  require_valid(runs);
  require(o.size.empty() && o.capacity.empty() && o.transfer.empty(),
          [] { return std::string("size, capacity and transfer are by layer: partition the unfolded chain"); });
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

}  // namespace ballast::inline v0_2::detail
