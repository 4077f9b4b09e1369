// SPDX-License-Identifier: Apache-2.0
#pragma once
// Published ways to choose what is kept, written from their descriptions: PyTorch's memory-budget solvers, OmniBal's adaptive rule and
// HBP's profile rule.

#include <ballast/recompute/keep_tensors.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace ballast_benchmark {

using tensors = std::vector<ballast::saved_tensor>;
using kept_flags = std::vector<char>;

/// PyTorch's inputs: memory as a share of all, largest first.
struct shares {
  std::vector<std::size_t> order;
  std::vector<double> memory, time;
  explicit shares(tensors const& all) : order(all.size()) {
    double total = 0;
    for (auto const& t : all) total += static_cast<double>(t.bytes);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](auto a, auto b) { return all[a].bytes != all[b].bytes ? all[a].bytes > all[b].bytes : a < b; });
    for (auto const i : order) {
      memory.push_back(static_cast<double>(all[i].bytes) / total);
      time.push_back(static_cast<double>(all[i].time));
    }
  }
};

/// `greedy`: by time over memory, in floating point.
inline kept_flags pytorch_greedy(tensors const& all, double budget) {
  shares const s(all);
  std::vector<std::size_t> by_ratio(all.size());
  std::iota(by_ratio.begin(), by_ratio.end(), std::size_t{0});
  std::sort(by_ratio.begin(), by_ratio.end(), [&](auto a, auto b) {
    auto const x = s.time[a] * s.memory[b], y = s.time[b] * s.memory[a];
    return x != y ? x > y : a < b;
  });
  kept_flags kept(all.size());
  double used = 0;
  for (auto const x : by_ratio)
    if (used + s.memory[x] <= budget) {
      used += s.memory[x];
      kept[s.order[x]] = 1;
    }
  return kept;
}

/// Whole units of 1e-4 of all memory: to the nearest, as published, or up, which is safe.
inline std::vector<std::int64_t> units(shares const& s, bool up) {
  std::vector<std::int64_t> out;
  for (auto const m : s.memory) out.push_back(static_cast<std::int64_t>(up ? std::ceil(m * 1e4) : std::nearbyint(m * 1e4)));
  return out;
}

/// `dp`: a table of float32 over items and units.
inline kept_flags pytorch_dp(tensors const& all, double budget, bool up = false) {
  shares const s(all);
  auto const weight = units(s, up);
  auto const width = static_cast<std::size_t>(budget * 1e4) + 1;
  auto const n = all.size();
  std::vector<float> table((n + 1) * width);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t w = 0; w < width; ++w) {
      auto best = table[i * width + w];
      if (auto const k = static_cast<std::size_t>(weight[i]); k <= w)
        best = (std::max)(best, table[i * width + w - k] + static_cast<float>(s.time[i]));
      table[(i + 1) * width + w] = best;
    }
  kept_flags kept(n);
  auto w = width - 1;
  for (auto i = n; i-- > 0;)
    if (table[(i + 1) * width + w] != table[i * width + w]) {
      kept[s.order[i]] = 1;
      w -= static_cast<std::size_t>(weight[i]);
    }
  return kept;
}

/// `dp_knapsack_sliding_hirschberg`: divide and conquer, whose right half receives one unit too many at every split.
inline kept_flags pytorch_hirschberg(tensors const& all, double budget) {
  shares const s(all);
  auto const weight = units(s, false);
  kept_flags kept(all.size());
  auto const profile = [&](std::size_t begin, std::size_t end, std::size_t width) {
    std::vector<float> best(width);
    for (auto i = begin; i < end; ++i)
      for (auto w = width; w-- > static_cast<std::size_t>(weight[i]);)
        best[w] = (std::max)(best[w], best[w - static_cast<std::size_t>(weight[i])] + static_cast<float>(s.time[i]));
    return best;
  };
  auto const solve = [&](auto const& self, std::size_t begin, std::size_t end, std::size_t capacity) -> void {
    if (begin == end) return;
    if (end - begin == 1) {
      if (static_cast<std::size_t>(weight[begin]) <= capacity) kept[s.order[begin]] = 1;
      return;
    }
    auto const middle = begin + (end - begin) / 2, width = capacity + 1;
    auto const left = profile(begin, middle, width), right = profile(middle, end, width);
    std::size_t split = 0;
    for (std::size_t w = 0; w < width; ++w)
      if (left[w] + right[capacity - w] > left[split] + right[capacity - split]) split = w;
    self(self, begin, middle, split);
    self(self, middle, end, width - split);
  };
  solve(solve, 0, all.size(), static_cast<std::size_t>(budget * 1e4));
  return kept;
}

/// Layers of two kinds in order, vision first: what is kept of each.
struct two_kinds {
  std::int64_t vision_layers, language_layers;
  std::int64_t vision_bytes, language_bytes;  ///< that keeping a layer adds
  std::int64_t vision_time, language_time;    ///< that recomputing it adds
};
struct kept_layers {
  std::int64_t vision, language;
};

/// OmniBal's adaptive rule: language layers first, one layer less than fits.
inline kept_layers omnibal_rule(two_kinds const& k, std::int64_t room) {
  auto const language = (std::min)(k.language_layers, room / k.language_bytes);
  if (language < k.language_layers || k.vision_layers == 0) return {0, (std::max)(language - 1, std::int64_t{0})};
  auto const vision = (room - k.language_layers * k.language_bytes) / k.vision_bytes - 1;
  return vision < 0 ? kept_layers{0, k.language_layers - 1} : kept_layers{(std::min)(vision, k.vision_layers), k.language_layers};
}

/// HBP's rule: two probes give one slope for all layers; the first so many layers are recomputed.
inline kept_layers hbp_rule(two_kinds const& k, std::int64_t room) {
  auto const all = k.vision_layers + k.language_layers;
  auto const least = all * 5 / 8;  // 20 of 32 in the paper
  auto const held = [&](std::int64_t recomputed) {
    auto const vision = (std::max)(k.vision_layers - recomputed, std::int64_t{0});
    auto const language = k.language_layers - (std::max)(recomputed - k.vision_layers, std::int64_t{0});
    return vision * k.vision_bytes + language * k.language_bytes;
  };
  auto const slope = held(least) / (all - least);
  auto const recomputed = (std::max)(all - room / slope, std::int64_t{0});
  return {(std::max)(k.vision_layers - recomputed, std::int64_t{0}),
          k.language_layers - (std::max)(recomputed - k.vision_layers, std::int64_t{0})};
}

}  // namespace ballast_benchmark
