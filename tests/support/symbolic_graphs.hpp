// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/graph/symbolic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast_test {

/// A random graph of `count` operators in layers; every tensor is read by up to three operators of the next layers. `size` draws sizes.
template <class Size>
[[nodiscard]] ballast::basic_graph<ballast::symbolic> layered_graph(std::size_t count, std::size_t width, ballast::splitmix64& draw,
                                                                    Size const& size) {
  ballast::basic_graph<ballast::symbolic> g;
  auto const below = [&](std::size_t bound) { return static_cast<std::size_t>(ballast::uniform_below(bound, draw)); };
  std::vector<std::uint32_t> recent{g.add(ballast::graph_tensor<ballast::symbolic>{.bytes = size(draw)})};
  for (std::size_t v = 0; v < count; ++v) {
    std::vector<std::uint32_t> reads, makes;
    for (auto many = 1 + below(3); many > 0; --many)
      reads.push_back(recent[recent.size() - 1 - below((std::min)(recent.size(), 2 * width))]);
    std::sort(reads.begin(), reads.end());
    reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
    for (auto many = 1 + below(2); many > 0; --many)
      makes.push_back(g.add(ballast::graph_tensor<ballast::symbolic>{.bytes = size(draw), .kept = below(20) == 0}));
    g.add(ballast::graph_operator<ballast::symbolic>{.workspace = below(4) == 0 ? size(draw) : 0}, reads, makes);
    recent.insert(recent.end(), makes.begin(), makes.end());
  }
  return g;
}

/// The largest number of bytes in use while an order runs, computed from when each memory is made and read last; -1 if it cannot run.
[[nodiscard]] inline std::int64_t live_peak(ballast::graph const& g, std::span<std::uint32_t const> order) {
  auto const n = g.size();
  if (order.size() != n) return -1;
  std::vector<std::size_t> step(n, n);
  for (std::size_t i = 0; i < n; ++i) step.at(order[i]) = i;
  auto const uses = ballast::uses_of(g);
  auto const count = g.tensors.size();
  std::vector<char> kept(count, 0), used(count, 0);
  std::vector<std::size_t> last(count, 0);
  auto const made = [&](std::uint32_t t) { return uses.maker[t] == ballast::graph_uses::none ? 0 : step[uses.maker[t]]; };
  for (std::uint32_t t = 0; t < count; ++t) {
    auto const m = uses.memory[t];
    if (g.tensors[t].kept) kept[m] = 1;
    last[m] = (std::max)(last[m], made(t));
    for (auto const v : uses.readers[t]) {
      if (uses.maker[t] != ballast::graph_uses::none && step[v] <= made(t)) return -1;
      used[m] = 1;
      last[m] = (std::max)(last[m], step[v]);
    }
  }
  std::vector<std::int64_t> change(n + 1, 0);
  for (std::uint32_t m = 0; m < count; ++m) {
    if (uses.memory[m] != m || (uses.maker[m] == ballast::graph_uses::none && used[m] == 0 && kept[m] == 0)) continue;
    change[made(m)] += g.tensors[m].bytes;
    if (kept[m] == 0) change[last[m] + 1] -= g.tensors[m].bytes;
  }
  std::int64_t live = 0, peak = 0;
  for (std::size_t i = 0; i < n; ++i) {
    live += change[i];
    peak = (std::max)(peak, live + g.operators[order[i]].workspace);
  }
  return peak;
}

/// List scheduling as it is defined: of the operators that can run, always the one that adds the least memory, then the first.
[[nodiscard]] inline std::vector<std::uint32_t> net_list(ballast::graph const& g) {
  auto const uses = ballast::uses_of(g);
  std::vector<char> done(g.size(), 0);
  auto const kept = [&](std::uint32_t m) {
    for (std::uint32_t t = 0; t < g.tensors.size(); ++t)
      if (uses.memory[t] == m && g.tensors[t].kept) return true;
    return false;
  };
  std::vector<std::vector<std::uint32_t>> readers(g.tensors.size());
  for (std::uint32_t t = 0; t < g.tensors.size(); ++t)
    for (auto const v : uses.readers[t]) readers[uses.memory[t]].push_back(v);
  std::vector<char> is_kept;
  for (std::uint32_t m = 0; m < g.tensors.size(); ++m) is_kept.push_back(uses.memory[m] == m && kept(m) ? 1 : 0);
  // Operators that change memory in place run after all that read it before them in program order.
  auto const can_run = [&](std::uint32_t v) {
    for (auto const t : g.inputs[v])
      if (uses.maker[t] != ballast::graph_uses::none && done[uses.maker[t]] == 0) return false;
    for (auto const t : g.outputs[v])
      if (g.tensors[t].in_place)
        for (auto const r : readers[uses.memory[t]])
          if (r < v && done[r] == 0) return false;
    return true;
  };
  auto const net = [&](std::uint32_t v) {
    std::int64_t out = 0;
    for (auto const t : g.outputs[v])
      if (uses.memory[t] == t && (!readers[t].empty() || is_kept[t] != 0)) out += g.tensors[t].bytes;
    std::vector<std::uint32_t> seen;
    for (auto const t : g.inputs[v]) {
      auto const m = uses.memory[t];
      if (is_kept[m] != 0 || std::find(seen.begin(), seen.end(), m) != seen.end()) continue;
      seen.push_back(m);
      if (std::all_of(readers[m].begin(), readers[m].end(), [&](auto r) { return r == v || done[r] != 0; })) out -= g.tensors[m].bytes;
    }
    return out;
  };
  std::vector<std::uint32_t> order;
  while (order.size() < g.size()) {
    std::uint32_t best = 0;
    std::int64_t least = 0;
    bool found = false;
    for (std::uint32_t v = 0; v < g.size(); ++v)
      if (done[v] == 0 && can_run(v))
        if (auto const change = net(v); !found || change < least) {
          best = v;
          least = change;
          found = true;
        }
    done[best] = 1;
    order.push_back(best);
  }
  return order;
}

}  // namespace ballast_test
