// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/partition/detail/chain.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

// The probe. Its first half is a sweep that gives each stage the longest prefix under the limit. That prefix can be a dead end if the next
// stage must have several layers or cannot run the next layer, or if a longer stage costs less because of transfers. The second half
// decides these cases: it propagates the sets of cuts at which the stages can end, one stage after the other.

namespace ballast::inline v0_2::detail {

/// The scratch memory of the probe.
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

/// Writes into `w.nearest`, for each cut, the last cut of a row at or before it.
template <class = when_called>
inline void index_row(probe_state& w, std::size_t row) {
  auto last = no_start;
  for (std::size_t i = 0; i < w.nearest.size(); ++i) {
    if (w.bit(row, i)) last = i;
    w.nearest[i] = last;
  }
}

/// Sets the bits of a row from those of the previous row; returns the smallest cost above the limit that was met.
template <class Chain>
[[nodiscard]] std::int64_t propagate(Chain const& chain, std::int64_t limit, std::size_t stage, std::size_t last, probe_state& w) {
  auto next = unaffordable;
  auto const enter = [&](std::size_t begin, std::size_t end) {
    auto const cost = chain.cost(begin, end, stage);
    if (cost <= limit)
      w.set(stage + 1, end);
    else
      next = (std::min)(next, cost);
  };
  if (chain.monotone()) {  // the latest begin is the cheapest
    index_row(w, stage);
    for (std::size_t end = 0; end <= last; ++end)
      if (auto const start = chain.latest_start(end); start != no_start && w.nearest[start] != no_start) enter(w.nearest[start], end);
    return next;
  }
  if constexpr (requires { chain.begin_key(stage, stage); }) {  // the cheapest begin of a window that slides with the end
    auto& window = w.window;
    std::size_t head = 0, fed = 0;
    window.clear();
    for (std::size_t end = 0; end <= last; ++end) {
      auto const start = chain.latest_start(end);
      if (start == no_start) continue;
      for (; fed <= start; ++fed) {
        if (!w.bit(stage, fed)) continue;
        auto const key = chain.begin_key(fed, stage);
        while (window.size() > head && chain.begin_key(window.back(), stage) <= key) window.pop_back();
        window.push_back(fed);
      }
      while (head < window.size() && !chain.fits(window[head], end, stage)) ++head;
      if (head < window.size()) enter(window[head], end);
    }
  }
  return next;
}

/// Decides exactly whether some partition keeps the limit and every minimum, after a sweep that placed all layers. Fills the plan (latest
/// cuts first), or what is known of larger limits.
template <class Chain>
[[nodiscard]] bool reach_sets(Chain const& chain, std::int64_t limit, probe_state& w) {
  auto const p = chain.stages(), n = chain.layers();
  w.nearest.assign(n + 1, no_start);
  w.rows.assign((p + 1) * w.words(), 0);
  w.set(0, 0);
  w.next = next_of_sweep(chain, w);
  for (std::size_t s = 0; s < p; ++s)
    w.next = (std::min)(w.next, propagate(chain, limit, s, (std::min)(w.reach[s + 1], w.latest[s + 1]), w));
  if (!w.bit(p, n)) {
    index_row(w, p);
    w.most = w.nearest[n] == no_start ? 0 : w.nearest[n];
    return false;
  }
  auto end = n;
  w.plan[p] = n;
  w.value = 0;
  for (auto s = p; s-- > 0;) {
    auto begin = chain.latest_start(end);
    while (!w.bit(s, begin) || chain.cost(begin, end, s) > limit) --begin;
    w.value = (std::max)(w.value, chain.cost(begin, end, s));
    w.plan[s] = end = begin;
  }
  return true;
}

/// The probe: whether some partition has no stage above the limit.
template <class Chain>
[[nodiscard]] bool decide(Chain const& chain, std::int64_t limit, probe_state& w) {
  if (!sweep(chain, limit, w)) {
    w.next = next_of_sweep(chain, w);
    w.most = w.reach.back();
    return false;
  }
  std::int64_t value = 0;
  for (std::size_t s = 0; s < chain.stages(); ++s) {
    auto const begin = (std::min)(w.reach[s], w.latest[s]), end = (std::min)(w.reach[s + 1], w.latest[s + 1]);
    auto const start = chain.latest_start(end);
    if (start == no_start || start < begin) return reach_sets(chain, limit, w);
    auto const cost = chain.cost(begin, end, s);
    if (cost > limit) return reach_sets(chain, limit, w);
    value = (std::max)(value, cost);
  }
  for (std::size_t s = 0; s <= chain.stages(); ++s) w.plan[s] = (std::min)(w.reach[s], w.latest[s]);
  w.value = value;
  return true;
}

/// Bisection on the limit: finds the least possible one, in `w.value`, with its plan. No limit below `lower` may be possible; `upper` must
/// be possible, or just below `unaffordable`. Returns false if no limit is possible.
///
/// The cost may also be a lower bound on one that does not decrease if a stage grows, and itself decrease. Whatever a probe rules out is
/// impossible under the true cost too: by induction over the stages, no true plan within the limit, or within any below `w.next`, has a cut
/// beyond `w.reach`, or one that `propagate` does not enter. So no true plan is below `w.value` then either, and false is true. Only the
/// next question and the last probe need care: the former must rise, and the latter may fail, which leaves the plan as it is.
template <class Chain>
[[nodiscard]] bool least_limit(Chain const& chain, std::int64_t lower, std::int64_t upper, probe_state& w) {
  w.start(chain);
  if (decide(chain, lower, w)) return true;
  auto least = w.next;
  w.low = w.reach;
  if (least == unaffordable || !decide(chain, upper, w)) return false;
  w.high = w.reach;
  auto best = w.value, decided = upper;
  while (least < best) {
    auto const middle = least + (best - least) / 2;
    if (decide(chain, middle, w)) {
      best = w.value;
      decided = middle;
      w.high = w.reach;
    } else {
      least = (std::min)((std::max)(w.next, middle + 1), best);
      w.low = w.reach;
    }
  }
  if (decided != best) static_cast<void>(decide(chain, best, w));  // restores the plan of the least limit
  return true;
}

}  // namespace ballast::inline v0_2::detail
