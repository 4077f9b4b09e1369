// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/partition/detail/least_bottleneck.hpp>
#include <ballast/partition/detail/least_sum.hpp>
#include <ballast/partition/detail/load.hpp>
#include <ballast/partition/detail/reach.hpp>
#include <ballast/partition/options.hpp>
#include <ballast/partition/result.hpp>
#include <ballast/partition/workspace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>

/// @file
/// @brief Second objectives under the least bottleneck or under a limit: most balanced stages, or least volume across cuts.

namespace ballast::inline v0_2 {

namespace detail {

/// Computes the least bottleneck, then the least sum of charges under it or under the caller's limit; `none` if there is no plan.
template <index_type Index, class Charge>
[[nodiscard]] wide least_charge(partition_options const& o, Charge const& charge, partition_workspace& workspace, staged<Index>& plan) {
  require(o.limit >= 0, [&] { return sentence("limit = ", o.limit, " must not be negative (0 = the least possible)"); });
  least_bottleneck(workspace, plan);
  if (plan.status != status::feasible) return {};
  auto const least = plan.bottleneck.value;
  if (o.limit != 0 && o.limit < least) {
    plan.status = status::infeasible;
    plan.boundaries.clear();
    plan.bottleneck.value = o.limit;
    return {};
  }
  auto const& d = detail::memory_of(workspace).chain;
  auto& w = detail::memory_of(workspace).probe;
  sum_state sums;
  auto const limit = (std::max)(least, o.limit);
  auto const charge_by = [&](auto const& chain) {
    return least_sum(chain, limit, [&](std::size_t b, std::size_t e, std::size_t s) { return charge(chain, b, e, s); }, sums, w);
  };
  auto const sum = d.plain() ? charge_by(plain_chain{d}) : charge_by(limited_chain{d});
  auto const bound = plan.bound;
  finish(true, {least, bound}, d.layers, w, d.units_per_1, plan);
  plan.bottleneck.lower_bound = least;
  plan.bound = bound;
  return sum;
}

/// The charge of a stage that is the volume of the cut at its end.
struct crossing {
  std::span<std::int64_t const> volume;
  template <class Chain>
  [[nodiscard]] wide operator()(Chain const& chain, std::size_t, std::size_t end, std::size_t) const {
    return {0, end == 0 || end == chain.layers() ? 0U : static_cast<std::uint64_t>(volume[end - 1])};
  }
};

/// Throws unless there is one volume for each inner cut of `layers`, with sums below 2^63; returns an upper bound on any sum of them.
template <class = when_called>
inline std::int64_t require_volumes(std::span<std::int64_t const> volume, std::size_t layers, std::uint64_t stages) {
  auto const cuts = layers == 0 ? 0 : layers - 1;
  require(volume.size() == cuts, [&] { return sentence("volume has ", volume.size(), " entries for ", cuts, " inner cuts"); });
  std::int64_t most = 0;
  for (std::size_t i = 0; i < cuts; ++i) {
    require(volume[i] >= 0, [&] { return entry("volume", i, volume[i]) + " must not be negative"; });
    most = (std::max)(most, volume[i]);
  }
  require(most <= unaffordable / static_cast<std::int64_t>(stages),
          [&] { return sentence("volumes of up to ", most, " at each of ", stages, " stages reach 2^63"); });
  return most * static_cast<std::int64_t>(stages);
}

}  // namespace detail

/// @brief Among the partitions with the least bottleneck, or within `options.limit`, finds the one with least sum of squared stage costs.
///
/// Since the mean is given, this is the partition of least variance. Among equal sums, the one whose last inner boundary is lower is
/// returned, then the one whose boundary before is lower, and so on.
///
/// @tparam Index  type of the boundaries
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`; pass floating costs through `scaled`
/// @param layers   the chain, as for `min_max_partition`
/// @param options  number of stages and limits
/// @param cost     cost of one layer, not negative; the integer itself by default
/// @return the partition and its sum of squares; the lower bound of its bottleneck is the least bottleneck of any partition. Infeasible as
///         `min_max_partition`; if `options.limit` is below the least bottleneck, `value` is the limit and `lower_bound` the bottleneck
/// @throws invalid_input if an option is out of range, or a cost, size or sum is outside [0, 2^63)
/// @par Complexity
/// As `min_max_partition`, then O(p (n + w log n)) for n layers, p stages and at most w places that a cut can have within the limit;
/// O(p (n + w^2)) with transfers.
/// @par Determinism
/// A pure function of the costs and the options; squares are summed exactly, in 128 bits.
/// @par Source
/// Yao, "Efficient dynamic programming using quadrangle inequalities", STOC 1980: the best begin does not decrease if the end grows.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] balanced_stages<Index> least_squares_partition(R const& layers, partition_options const& options, Cost const& cost = {}) {
  partition_workspace workspace;
  balanced_stages<Index> out;
  require_index<Index>(static_cast<std::size_t>(std::ranges::size(layers)), "layers");
  detail::load_chain(layers, options, cost, detail::memory_of(workspace).chain);
  auto const square = [](auto const& chain, std::size_t begin, std::size_t end, std::size_t stage) {
    auto const load = static_cast<std::uint64_t>(chain.cost(begin, end, stage));
    return multiply(load, load);
  };
  out.squares = detail::least_charge(options, square, workspace, out.partition);
  return out;
}

/// @brief Among the partitions with the least bottleneck, or within `options.limit`, finds the one with least volume across its inner cuts.
///
/// Among equal volumes, the one whose last inner boundary is lower is returned, then the one whose boundary before is lower, and so on.
///
/// @tparam Index  type of the boundaries
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`; pass floating costs through `scaled`
/// @param layers   the chain, as for `min_max_partition`
/// @param volume   for each inner cut (after layer 0 … n - 2), the volume across it (bytes), not negative
/// @param options  number of stages and limits
/// @param cost     cost of one layer, not negative; the integer itself by default
/// @return the partition and its volume, which is least; bottleneck and infeasibility as for `least_squares_partition`
/// @throws invalid_input if an option or the number of volumes is wrong, or a cost, size, volume or sum is outside [0, 2^63)
/// @par Complexity
/// As `least_squares_partition`.
/// @par Determinism
/// A pure function of the costs, the volumes and the options.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] lean_stages<Index> least_volume_partition(R const& layers, std::span<std::int64_t const> volume,
                                                        partition_options const& options, Cost const& cost = {}) {
  partition_workspace workspace;
  lean_stages<Index> out;
  auto const n = static_cast<std::size_t>(std::ranges::size(layers));
  require_index<Index>(n, "layers");
  detail::load_chain(layers, options, cost, detail::memory_of(workspace).chain);
  static_cast<void>(detail::require_volumes(volume, n, options.stages));
  detail::crossing const crossing{volume};
  auto const sum = static_cast<std::int64_t>(detail::least_charge(options, crossing, workspace, out.partition).low);
  out.volume = {sum, sum};
  return out;
}

}  // namespace ballast::inline v0_2
