// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/partition/second_objective.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// @file
/// @brief The exact trade-off between a level pipeline and little data across its cuts.

namespace ballast::inline v0_2 {

/// @brief A partition of least weighted sum.
/// @tparam Index  type of the boundaries
template <index_type Index = std::uint32_t>
struct traded_stages {
  staged<Index> plan;  ///< the lower bound of its bottleneck is the least of any cut
  certificate volume;  ///< what crosses its inner cuts, and the least that crosses those of any cut
  certificate total;   ///< its bottleneck plus its volume; no cut has less
};

namespace detail {

/// Walks down the steps of the least volume as the limit grows, as long as a step can still pay.
template <index_type Index, class Chain>
void trade(Chain const& chain, std::span<std::int64_t const> volume, probe_state& w, traded_stages<Index>& out) {
  sum_state sums;
  auto const volume_within = [&](std::int64_t limit) {
    auto const charge = [&](std::size_t b, std::size_t e, std::size_t s) { return crossing{volume}(chain, b, e, s); };
    return static_cast<std::int64_t>(least_sum(chain, limit, charge, sums, w).low);
  };
  auto limit = out.plan.bottleneck.lower_bound;
  out.volume.lower_bound = volume_within(unaffordable - 1);
  out.total.value = unaffordable;
  for (;;) {
    auto const moved = volume_within(limit);  // and no smaller limit than this has as little
    if (limit < out.total.value - moved) {
      out.total = {limit + moved, limit + moved};
      out.volume.value = moved;
      out.plan.bottleneck.value = w.value;
      for (std::size_t s = 0; s < w.plan.size(); ++s) out.plan.boundaries[s] = static_cast<Index>(w.plan[s]);
    }
    auto pays = out.total.value - out.volume.lower_bound - 1;  // the largest limit under which a cut could still be better
    if (moved == out.volume.lower_bound || pays <= limit || volume_within(pays) >= moved) return;
    pays = w.value;
    while (limit < pays) {
      auto const middle = limit + (pays - limit) / 2;
      if (volume_within(middle) < moved)
        pays = w.value;
      else
        limit = middle + 1;
    }
  }
}

}  // namespace detail

/// @brief Cuts a chain so that its bottleneck plus the volume of all its inner cuts is least.
///
/// With volumes in the unit of the costs (bytes over bandwidth, or times what a byte is worth) this is the plan that candidates around a
/// level cut, ranked by spread and by communication, approach. The least volume is a falling staircase of the limit; its steps are found by
/// bisection, as far as one can still pay.
///
/// @tparam Index  type of the boundaries
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`; floating costs through `scaled`
/// @param layers   the chain, as for `min_max_partition`
/// @param volume   by inner cut (after layer 0 … n - 2): what it adds to the total, not negative, in the unit of the costs
/// @param options  number of stages and limits; `limit` is not used
/// @param cost     weighs one layer, not negative; the integer itself by default
/// @return the cut; of equal totals the one of least bottleneck, then the cut whose last inner boundary is lower, then the one before.
/// Infeasible as `min_max_partition`
/// @throws invalid_input for a bad option, a wrong number of volumes, or a cost, size, volume or sum outside [0, 2^63)
/// @par Complexity
/// O(k log C) times that of `least_volume_partition` for k steps that could pay and a total cost of C.
/// @par Determinism
/// A pure function of the costs, the volumes and the options.
/// @par Source
/// The objective: OmniBal, arXiv 2407.20761, section 4 (ranking by variance and communication). The method: this library.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] traded_stages<Index> trade_off_partition(R const& layers, std::span<std::int64_t const> volume,
                                                       partition_options const& options, Cost const& cost = {}) {
  partition_workspace workspace;
  traded_stages<Index> out;
  detail::cut_every_stage(layers, options, cost, workspace, out.plan);
  auto const& d = workspace.chain;
  auto const most = detail::require_volumes(volume, d.layers, options.stages);
  if (out.plan.status != status::feasible) return out;
  require(out.plan.bottleneck.value < unaffordable - most, [&] {
    return "a bottleneck of " + std::to_string(out.plan.bottleneck.value) + " and volumes of up to " + std::to_string(most) + " reach 2^63";
  });
  if (d.plain())
    detail::trade(detail::plain_chain{d}, volume, workspace.probe, out);
  else
    detail::trade(detail::limited_chain{d}, volume, workspace.probe, out);
  return out;
}

}  // namespace ballast::inline v0_2
