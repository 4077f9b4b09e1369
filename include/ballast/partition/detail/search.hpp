// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/partition/detail/chain.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

// The scratch memory of the probe, and the first half of it: a sweep that gives each stage the longest prefix under the limit.

namespace ballast::inline v0_2::detail {

struct probe_state {
  std::vector<std::size_t> low, high;  ///< for each cut, the range in which a sweep ends under any limit that is still undecided
  std::vector<std::size_t> reach;      ///< for each cut, how far the stages before it reach at most
  std::vector<std::size_t> latest;     ///< for each cut, its latest position, so that the stages after it have their minimum
  std::vector<std::size_t> plan;       ///< the cuts for the last limit that was possible
  std::int64_t value = 0;              ///< the largest stage cost of this plan
  std::int64_t next = 0;               ///< after an impossible limit: every limit below this is impossible too
  std::size_t most = 0;                ///< after an impossible limit: the most layers that could be placed

  std::vector<std::uint64_t> rows;   ///< propagation: one bit for each stage and cut
  std::vector<std::size_t> nearest;  ///< for each cut, the last possible cut at or before it
  std::vector<std::size_t> window;   ///< begins, ordered by their keys
  [[nodiscard]] std::size_t words() const { return nearest.size() / 64 + 1; }
  [[nodiscard]] bool bit(std::size_t row, std::size_t at) const { return (rows[row * words() + at / 64] >> (at % 64) & 1U) != 0; }
  void set(std::size_t row, std::size_t at) { rows[row * words() + at / 64] |= std::uint64_t{1} << (at % 64); }

  template <class Chain>
  void start(Chain const& chain) {
    auto const p = chain.stages(), n = chain.layers();
    low.assign(p + 1, 0);
    high.assign(p + 1, n);
    reach.assign(p + 1, 0);
    plan.assign(p + 1, 0);
    latest.assign(p + 1, n);
    for (auto s = p; s-- > 0;) {
      auto const start = chain.latest_start(latest[s + 1]);
      latest[s] = start == no_start ? 0 : start;
    }
    next = 0;
  }
};

/// Gives each stage in turn as much as the limit allows; returns whether all layers are placed. If not, no partition keeps the limit.
template <class Chain>
[[nodiscard]] bool sweep(Chain const& chain, std::int64_t limit, probe_state& w) {
  auto const p = chain.stages(), n = chain.layers();
  std::size_t begin = 0;
  for (std::size_t s = 0; s < p; ++s) {
    begin = chain.furthest(begin, s, limit, (std::max)(begin, w.low[s + 1]), w.high[s + 1]);
    w.reach[s + 1] = begin;
    if (begin == n) {
      std::fill(w.reach.begin() + static_cast<std::ptrdiff_t>(s + 1), w.reach.end(), n);
      return true;
    }
  }
  return false;
}

/// The smallest limit under which a sweep takes another step.
template <class Chain>
[[nodiscard]] std::int64_t next_of_sweep(Chain const& chain, probe_state const& w) {
  auto next = unaffordable;
  for (std::size_t s = 0; s < chain.stages() && w.reach[s + 1] < chain.layers(); ++s)
    next = (std::min)(next, chain.relaxed(w.reach[s], w.reach[s + 1] + 1, s));
  return next;
}

}  // namespace ballast::inline v0_2::detail
