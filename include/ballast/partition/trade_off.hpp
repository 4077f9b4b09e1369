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
/// @brief `trade_off_partition`: the exact trade-off between a balanced pipeline and a small volume across its cuts.

namespace ballast::inline v0_2 {

/// @brief Cuts a chain such that the sum of its bottleneck and the volume across all its inner cuts is minimal.
///
/// Give volumes in the unit of the costs (bytes over bandwidth, or bytes times a price). The result is the exact optimum that heuristics
/// approach by ranking candidates around a balanced partition by variance and communication. The least volume is a decreasing step function
/// of the limit on the bottleneck; its steps are found by bisection, up to the limit beyond which no volume can pay.
///
/// @tparam Index  type of the boundaries
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`; pass floating costs through `scaled`
/// @param layers   the chain, as for `min_max_partition`
/// @param volume   for each inner cut (after layer 0 … n - 2), what it adds to the total, not negative, in the unit of the costs
/// @param options  number of stages and limits; `limit` is not used
/// @param cost     cost of one layer, not negative; the integer itself by default
/// @return the partition; among equal totals the one of least bottleneck, then the one whose last inner boundary is lower, then the one
///         whose boundary before is lower, and so on. Infeasible as `min_max_partition`
/// @throws invalid_input if an option or the number of volumes is wrong, or a cost, size, volume or sum is outside [0, 2^63)
/// @par Complexity
/// O(k log C) times that of `least_volume_partition`, for k steps that could pay and a total cost of C.
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
