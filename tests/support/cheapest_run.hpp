// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/graph/graph.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

namespace ballast_test {

/// The least time that is added to run a small graph in program order within a limit, over all runs: shortest paths in the states of
/// memory. Tensors own their memory, and kept ones are never evicted. Moving 10^6 bytes takes `time_per_megabyte`, or is impossible if that
/// is 0. -1 if there is no run.
[[nodiscard]] inline std::int64_t cheapest_run(ballast::graph const& g, std::int64_t limit, std::int64_t time_per_megabyte) {
  using state = std::tuple<std::size_t, std::uint32_t, std::uint32_t>;  // operators that have run, tensors in memory, tensors on the host
  auto const uses = ballast::uses_of(g);
  auto const count = g.tensors.size();
  auto const live = [&](std::uint32_t here) {
    std::int64_t out = 0;
    for (std::size_t t = 0; t < count; ++t) out += (here >> t & 1U) != 0 ? g.tensors[t].bytes : 0;
    return out;
  };
  std::vector<std::uint32_t> reads(g.size(), 0), makes(g.size(), 0);
  for (std::size_t v = 0; v < g.size(); ++v) {
    for (auto const t : g.inputs[v]) reads[v] |= 1U << t;
    for (auto const t : g.outputs[v]) makes[v] |= 1U << t;
  }
  std::uint32_t start = 0;
  for (std::size_t t = 0; t < count; ++t)
    if (uses.maker[t] == ballast::graph_uses::none && (g.tensors[t].kept || !uses.readers[t].empty())) start |= 1U << t;
  if (live(start) > limit) return -1;
  std::map<state, std::int64_t> best;
  std::priority_queue<std::pair<std::int64_t, state>, std::vector<std::pair<std::int64_t, state>>, std::greater<>> open;
  auto const reach = [&](state const& s, std::int64_t time) {
    auto const [at, is_new] = best.try_emplace(s, time);
    if (!is_new && at->second <= time) return;
    at->second = time;
    open.emplace(time, s);
  };
  reach({0, start, 0}, 0);
  while (!open.empty()) {
    auto const [time, s] = open.top();
    open.pop();
    if (best[s] < time) continue;
    auto const [done, here, host] = s;
    if (done == g.size()) return time;
    for (std::size_t v = 0; v <= done; ++v) {
      auto const after = here | makes[v];
      if ((reads[v] & ~here) == 0 && live(after) + g.operators[v].workspace <= limit)
        reach({v == done ? done + 1 : done, after, host}, time + (v == done ? 0 : g.operators[v].time));
    }
    for (std::size_t t = 0; t < count; ++t) {
      auto const bit = 1U << t;
      auto const move = (g.tensors[t].bytes * time_per_megabyte + 999999) / 1000000;
      if ((here & bit) != 0 && !g.tensors[t].kept) {
        reach({done, here & ~bit, host}, time);
        if (time_per_megabyte > 0) reach({done, here & ~bit, host | bit}, time + move);
      }
      if ((here & bit) == 0 && (host & bit) != 0 && live(here | bit) <= limit) reach({done, here | bit, host}, time + move);
    }
  }
  return -1;
}

}  // namespace ballast_test
