// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/partition/detail/least_bottleneck.hpp>
#include <ballast/partition/detail/least_sum.hpp>
#include <ballast/partition/detail/reach.hpp>
#include <ballast/partition/options.hpp>
#include <ballast/partition/result.hpp>
#include <ballast/partition/workspace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

// The least sum of the stages' charges under a limit on their costs, and the search over the steps of the least volume.

namespace ballast::inline v0_2::detail {

/// Computes the least bottleneck, then the least sum of charges under it or under the caller's limit; `none` if there is no plan.
template <index_type Index, class Charge>
[[nodiscard]] wide least_charge(partition_options const& o, Charge const& charge, partition_workspace& workspace, staged<Index>& plan) {
  require(o.limit >= 0, [&] { return "limit = " + std::to_string(o.limit) + " must not be negative (0 = the least possible)"; });
  least_bottleneck(workspace, plan);
  if (plan.status != status::feasible) return {};
  auto const least = plan.bottleneck.value;
  if (o.limit != 0 && o.limit < least) {
    plan.status = status::infeasible;
    plan.boundaries.clear();
    plan.bottleneck.value = o.limit;
    return {};
  }
  auto const& d = workspace.chain;
  auto& w = workspace.probe;
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
  require(volume.size() == cuts,
          [&] { return "volume has " + std::to_string(volume.size()) + " entries for " + std::to_string(cuts) + " inner cuts"; });
  std::int64_t most = 0;
  for (std::size_t i = 0; i < cuts; ++i) {
    require(volume[i] >= 0, [&] { return entry("volume", i, volume[i]) + " must not be negative"; });
    most = (std::max)(most, volume[i]);
  }
  require(most <= unaffordable / static_cast<std::int64_t>(stages),
          [&] { return "volumes of up to " + std::to_string(most) + " at each of " + std::to_string(stages) + " stages reach 2^63"; });
  return most * static_cast<std::int64_t>(stages);
}

}  // namespace ballast::inline v0_2::detail
