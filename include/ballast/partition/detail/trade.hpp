// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/partition/detail/least_charge.hpp>
#include <ballast/partition/detail/least_sum.hpp>
#include <ballast/partition/detail/reach.hpp>
#include <ballast/partition/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

// The walk down the staircase of the least volume.

namespace ballast::inline v0_2::detail {

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

}  // namespace ballast::inline v0_2::detail
