// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/partition/detail/reach.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// The least sum of the stages' charges over all partitions under a limit: a dynamic programme over the cuts at which a stage can end.

namespace ballast::inline v0_2::detail {

struct sum_state {
  struct cell {
    wide sum;
    bool possible = false;
  };
  std::vector<cell> before, here;     ///< cells of the previous and the current stage, by cut
  std::vector<std::size_t> earliest;  ///< for each number of stages, the earliest cut at which they can end
  std::vector<std::size_t> offset;    ///< for each stage, where its cells of `from` begin
  std::vector<std::size_t> from;      ///< for each stage and end, the best begin
  std::vector<std::size_t> ends;      ///< ends that the current stage can have
  std::vector<std::size_t> last;      ///< for each of these ends, the latest begin
};

/// The first begin from which a stage reaches `end` under the limit.
template <class Chain>
[[nodiscard]] std::size_t first_begin(Chain const& chain, std::size_t end, std::size_t stage, std::int64_t limit) {
  return first_where(std::size_t{0}, end, [&](std::size_t begin) { return chain.relaxed(begin, end, stage) <= limit; });
}

/// One stage of the programme. If the chain is monotone, `charge(begin, end, stage)` must satisfy the quadrangle inequality: the best begin
/// (the first among equal ones) then does not decrease if the end grows.
template <class Chain, class Charge>
struct sum_stage {
  Chain const& chain;
  Charge const& charge;
  std::int64_t limit;
  std::size_t stage;
  sum_state& w;

  /// Fills the cell of `ends[row]` from begins in [first, until]; returns the best begin.
  std::size_t fill(std::size_t row, std::size_t first, std::size_t until) {
    auto const end = w.ends[row];
    auto best = no_start;
    wide least;
    first = (std::max)(first, first_begin(chain, end, stage, limit));
    for (auto begin = first; begin <= (std::min)(until, w.last[row]); ++begin) {
      if (!w.before[begin].possible || (!chain.monotone() && chain.cost(begin, end, stage) > limit)) continue;
      auto const sum = w.before[begin].sum + charge(begin, end, stage);
      if (best == no_start || sum < least) {
        best = begin;
        least = sum;
      }
    }
    if (best == no_start) return best;
    w.here[end] = {least, true};
    w.from[w.offset[stage] + end - w.earliest[stage + 1]] = best;
    return best;
  }
  void halve(std::size_t begin_row, std::size_t end_row, std::size_t first, std::size_t until) {
    if (begin_row == end_row) return;
    auto const middle = begin_row + (end_row - begin_row) / 2;
    auto const best = fill(middle, first, until);
    halve(begin_row, middle, first, best);
    halve(middle + 1, end_row, best, until);
  }
};

/// Fills `probe.plan` with the partition of least sum and `probe.value` with its bottleneck; the limit must be possible.
template <class Chain, class Charge>
[[nodiscard]] wide least_sum(Chain const& chain, std::int64_t limit, Charge const& charge, sum_state& w, probe_state& probe) {
  auto const p = chain.stages(), n = chain.layers();
  probe.start(chain);
  static_cast<void>(sweep(chain, limit, probe));
  w.earliest.assign(p + 1, n);
  for (auto s = p; s-- > 0;) w.earliest[s] = first_begin(chain, w.earliest[s + 1], s, limit);
  w.earliest[0] = 0;
  auto const latest = [&](std::size_t s) { return (std::min)(probe.reach[s], probe.latest[s]); };
  w.offset.assign(p + 1, 0);
  for (std::size_t s = 0; s < p; ++s) w.offset[s + 1] = w.offset[s] + latest(s + 1) + 1 - (std::min)(w.earliest[s + 1], latest(s + 1) + 1);
  w.from.assign(w.offset[p], 0);
  w.before.assign(n + 1, {});
  w.before[0] = {{}, true};
  probe.nearest.resize(n + 1);
  for (std::size_t s = 0; s < p; ++s) {
    auto last = no_start;
    for (std::size_t i = 0; i <= n; ++i) probe.nearest[i] = last = w.before[i].possible ? i : last;
    w.here.assign(n + 1, {});
    w.ends.clear();
    w.last.clear();
    for (auto end = w.earliest[s + 1]; end <= latest(s + 1); ++end) {
      auto const start = chain.latest_start(end);
      if (start == no_start || probe.nearest[start] == no_start) continue;
      if (chain.relaxed(probe.nearest[start], end, s) > limit) continue;
      w.ends.push_back(end);
      w.last.push_back(probe.nearest[start]);
    }
    sum_stage<Chain, Charge> stage{chain, charge, limit, s, w};
    if (chain.monotone())
      stage.halve(0, w.ends.size(), 0, n);
    else
      for (std::size_t row = 0; row < w.ends.size(); ++row) static_cast<void>(stage.fill(row, 0, n));
    std::swap(w.before, w.here);
  }
  probe.plan.assign(p + 1, n);
  probe.value = 0;
  for (auto s = p; s-- > 0;) {
    auto const end = probe.plan[s + 1];
    probe.plan[s] = w.from[w.offset[s] + end - w.earliest[s + 1]];
    probe.value = (std::max)(probe.value, chain.cost(probe.plan[s], end, s));
  }
  return w.before[n].sum;
}

}  // namespace ballast::inline v0_2::detail
