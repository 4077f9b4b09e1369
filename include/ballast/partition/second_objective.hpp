// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/partition/detail/least_charge.hpp>
#include <ballast/partition/detail/load.hpp>
#include <ballast/partition/options.hpp>
#include <ballast/partition/result.hpp>
#include <ballast/partition/workspace.hpp>

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>

/// @file
/// @brief A second objective under the best bottleneck, or under a limit: the most balanced stages, or the least data across cuts.

namespace ballast::inline v0_2 {

/// @brief Of the cuts with the least bottleneck, or within `options.limit`, the one with the least sum of squared stage costs.
///
/// The mean is given, so it is the cut of least variance. Equal sums: the cut whose last inner boundary is lower, then the one before.
///
/// @tparam Index  type of the boundaries
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`; floating costs through `scaled`
/// @param layers   the chain, as for `min_max_partition`
/// @param options  number of stages and limits
/// @param cost     weighs one layer, not negative; the integer itself by default
/// @return the cut and its sum of squares; the lower bound of its bottleneck is the least bottleneck of any cut. Infeasible as
/// `min_max_partition`; where `options.limit` is below the least bottleneck that is its `lower_bound`, the limit its `value`
/// @throws invalid_input for a bad option, or a cost, size or sum outside [0, 2^63)
/// @par Complexity
/// That of `min_max_partition`, then O(p (n + w log n)) for n layers, p stages and w places at most that a cut can have within the limit;
/// O(p (n + w^2)) with transfers.
/// @par Determinism
/// A pure function of the costs and the options; squares are summed exactly, in 128 bits.
/// @par Source
/// Yao, "Efficient dynamic programming using quadrangle inequalities", STOC 1980: the best begin does not fall when the end grows.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] balanced_stages<Index> least_squares_partition(R const& layers, partition_options const& options, Cost const& cost = {}) {
  partition_workspace workspace;
  balanced_stages<Index> out;
  require_index<Index>(static_cast<std::size_t>(std::ranges::size(layers)), "layers");
  detail::load_chain(layers, options, cost, workspace.chain);
  auto const square = [](auto const& chain, std::size_t begin, std::size_t end, std::size_t stage) {
    auto const load = static_cast<std::uint64_t>(chain.cost(begin, end, stage));
    return multiply(load, load);
  };
  out.squares = detail::least_charge(options, square, workspace, out.partition);
  return out;
}

/// @brief Of the cuts with the least bottleneck, or within `options.limit`, the one that moves least across its inner cuts.
///
/// Equal volumes: the cut whose last inner boundary is lower, then the one before.
///
/// @tparam Index  type of the boundaries
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`; floating costs through `scaled`
/// @param layers   the chain, as for `min_max_partition`
/// @param volume   by inner cut (after layer 0 … n - 2): what crosses it (bytes), not negative
/// @param options  number of stages and limits
/// @param cost     weighs one layer, not negative; the integer itself by default
/// @return the cut and its volume, which is least; bottleneck and infeasibility as of `least_squares_partition`
/// @throws invalid_input for a bad option, a wrong number of volumes, or a cost, size, volume or sum outside [0, 2^63)
/// @par Complexity
/// That of `least_squares_partition`.
/// @par Determinism
/// A pure function of the costs, the volumes and the options.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] lean_stages<Index> least_volume_partition(R const& layers, std::span<std::int64_t const> volume,
                                                        partition_options const& options, Cost const& cost = {}) {
  partition_workspace workspace;
  lean_stages<Index> out;
  auto const n = static_cast<std::size_t>(std::ranges::size(layers));
  require_index<Index>(n, "layers");
  detail::load_chain(layers, options, cost, workspace.chain);
  static_cast<void>(detail::require_volumes(volume, n, options.stages));
  detail::crossing const crossing{volume};
  auto const sum = static_cast<std::int64_t>(detail::least_charge(options, crossing, workspace, out.partition).low);
  out.volume = {sum, sum};
  return out;
}

}  // namespace ballast::inline v0_2
