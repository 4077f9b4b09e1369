// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/partition/detail/least_bottleneck.hpp>
#include <ballast/partition/detail/least_charge.hpp>
#include <ballast/partition/options.hpp>
#include <ballast/partition/result.hpp>
#include <ballast/partition/workspace.hpp>

#include <cstdint>
#include <span>
#include <string>

/// @file
/// @brief The exact trade-off between a balanced pipeline and little data across its cuts.

namespace ballast::inline v0_2 {

/// @brief Cuts a chain so that its bottleneck plus the volume of all its inner cuts is least.
///
/// With volumes in the unit of the costs (bytes over bandwidth, or times what a byte is worth) this is the plan that candidates around a
/// balanced cut, ranked by spread and by communication, approach. The least volume is a falling staircase of the limit; its steps are found
/// by bisection, as far as one can still pay.
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
  detail::cut_every_stage(layers, options, cost, workspace, out.partition);
  auto const& d = workspace.chain;
  auto const most = detail::require_volumes(volume, d.layers, options.stages);
  if (out.partition.status != status::feasible) return out;
  require(out.partition.bottleneck.value < unaffordable - most, [&] {
    return "a bottleneck of " + std::to_string(out.partition.bottleneck.value) + " and volumes of up to " + std::to_string(most) +
           " reach 2^63";
  });
  if (d.plain())
    detail::trade(detail::plain_chain{d}, volume, workspace.probe, out);
  else
    detail::trade(detail::limited_chain{d}, volume, workspace.probe, out);
  return out;
}

}  // namespace ballast::inline v0_2
