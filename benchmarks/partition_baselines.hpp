// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

// What others cut chains with, written from the descriptions of their methods: each takes layer costs and a number of stages and returns
// stages + 1 boundaries, or fewer where it finds fewer stages.

namespace ballast_benchmark {

using costs = std::vector<std::int64_t>;
using cuts = std::vector<std::size_t>;

inline costs prefix_sums(costs const& layers) {
  costs sums(1);
  for (auto const x : layers) sums.push_back(sums.back() + x);
  return sums;
}
inline std::int64_t bottleneck_of(costs const& layers, cuts const& at) {
  auto const sums = prefix_sums(layers);
  std::int64_t largest = 0;
  for (std::size_t s = 0; s + 1 < at.size(); ++s) largest = (std::max)(largest, sums[at[s + 1]] - sums[at[s]]);
  return largest;
}

/// Equal numbers of layers: cuts rounded to nearest, halves to even.
inline cuts equal_count(costs const& layers, std::size_t stages) {
  cuts at;
  for (std::size_t s = 0; s <= stages; ++s) {
    auto const whole = s * layers.size() / stages, rest = s * layers.size() % stages;
    at.push_back(whole + (2 * rest > stages || (2 * rest == stages && whole % 2 == 1) ? 1 : 0));
  }
  return at;
}

/// DeepSpeed since December 2023: a dynamic programme for the smallest difference between the largest and the smallest stage, which keeps
/// the extremes of one best prefix each. O(n^2 p).
inline cuts deepspeed_max_min(costs const& layers, std::size_t stages) {
  auto const n = layers.size();
  auto const sums = prefix_sums(layers);
  constexpr auto none = (std::numeric_limits<std::int64_t>::max)();
  struct cell {
    std::int64_t most = 0, least = none, spread = none;
    std::size_t from = 0;
  };
  std::vector<std::vector<cell>> best(stages + 1, std::vector<cell>(n + 1));
  best[0][0].spread = 0;
  for (std::size_t s = 1; s <= stages; ++s)
    for (std::size_t i = s; i <= n; ++i)
      for (std::size_t j = s - 1; j < i; ++j) {
        auto const& before = best[s - 1][j];
        if (before.spread == none) continue;
        auto const sum = sums[i] - sums[j], most = (std::max)(before.most, sum), least = (std::min)(before.least, sum);
        if (most - least < best[s][i].spread) best[s][i] = {most, least, most - least, j};
      }
  cuts at(stages + 1, n);
  for (auto s = stages; s-- > 0;) at[s] = best[s + 1][at[s + 1]].from;
  return at;
}

/// DeepSpeed before: bisection of the bottleneck in floating point until an absolute 1e-3, probes that may leave stages empty.
inline cuts deepspeed_bisection(costs const& layers, std::size_t stages, double unit = 1.0) {
  auto const n = layers.size();
  std::vector<double> sums(1);
  for (auto const x : layers) sums.push_back(sums.back() + static_cast<double>(x) * unit);
  cuts at;
  auto const probe = [&](double limit) {
    cuts found(1);
    for (std::size_t s = 0; s < stages; ++s) {
      auto const target = sums[found.back()] + limit;
      auto const step = (std::max)(n / stages, std::size_t{1});
      auto high = (std::min)(found.back() + step, n);
      while (high < n && sums[high] <= target) high = (std::min)(high + step, n);  // chunk by chunk, then inside the chunk
      auto const end = std::upper_bound(sums.begin() + static_cast<std::ptrdiff_t>(found.back()),
                                        sums.begin() + static_cast<std::ptrdiff_t>(high) + 1, target);
      found.push_back(static_cast<std::size_t>(end - sums.begin()) - 1);
    }
    if (found.back() < n) return false;
    at = found;
    return true;
  };
  auto low = sums[n] / static_cast<double>(stages), high = sums[n];
  while (high > low + 1e-3) {
    auto const middle = low + (high - low) / 2;
    if (middle == low || middle == high) break;
    if (probe(middle))
      high = middle;
    else
      low = middle;
  }
  probe(high);
  return at;
}

/// torchgpipe: block partitions of Barany and Grinberg. Costs are rescaled so that the most expensive layer is 1 and the cheapest 0; one
/// layer at a time moves over a border between the largest block and the nearest smallest one, until they differ by at most 1.
inline cuts block_partition(costs const& layers, std::size_t stages) {
  auto const n = layers.size();
  auto const [low, high] = std::minmax_element(layers.begin(), layers.end());
  auto const scale = *high - *low;  // in units of the cost, so that all stays exact
  costs scaled;
  for (auto const x : layers) scaled.push_back(x - *low);
  auto const sums = prefix_sums(scaled);
  cuts at(stages + 1);
  for (std::size_t s = 0; s < stages; ++s) at[s] = n / stages * s;
  at[stages] = n;
  auto const block = [&](std::size_t s) { return sums[at[s + 1]] - sums[at[s]]; };
  for (;;) {
    std::size_t largest = 0;
    for (std::size_t s = 1; s < stages; ++s)
      if (block(s) >= block(largest)) largest = s;
    auto const most = block(largest);
    while (block(largest) == most) {
      auto nearest = stages;
      auto least = most;
      auto const distance = [&](std::size_t s) { return s > largest ? s - largest : largest - s; };
      for (std::size_t s = 0; s < stages; ++s)
        if (block(s) < least || (nearest != stages && block(s) == least && distance(s) < distance(nearest))) {
          least = block(s);
          nearest = s;
        }
      if (nearest == stages || most <= least + scale) return at;
      if (nearest < largest)
        ++at[nearest + 1];  // the smallest block takes the first layer of its right neighbour
      else
        --at[nearest];  // or the last one of its left neighbour
    }
  }
}

/// Cuts where the running sum is nearest to equal shares (H2 of Miguet and Pierson).
inline cuts nearest_cut(costs const& layers, std::size_t stages) {
  auto const sums = prefix_sums(layers);
  cuts at;
  for (std::size_t s = 0; s <= stages; ++s) {
    auto const share = static_cast<double>(sums.back()) * static_cast<double>(s) / static_cast<double>(stages);
    auto i = static_cast<std::size_t>(std::lower_bound(sums.begin(), sums.end(), share) - sums.begin());
    i = (std::min)(i, layers.size());
    if (i > 0 && share - static_cast<double>(sums[i - 1]) < static_cast<double>(sums[i]) - share) --i;
    at.push_back(i);
  }
  at.front() = 0;
  at.back() = layers.size();
  return at;
}

/// Recursive bisection: half of the stages left, half right, cut where the larger of the two loads per stage is least.
inline cuts recursive_bisection(costs const& layers, std::size_t stages) {
  auto const sums = prefix_sums(layers);
  cuts at{0, layers.size()};
  struct part {
    std::size_t begin, end, stages;
  };
  std::vector<part> open{{0, layers.size(), stages}};
  while (!open.empty()) {
    auto const [begin, end, count] = open.back();
    open.pop_back();
    if (count == 1) continue;
    auto const left = count / 2, right = count - left;
    auto best = begin;
    auto least = std::numeric_limits<double>::infinity();
    for (auto i = begin; i <= end; ++i) {
      auto const larger = (std::max)(static_cast<double>(sums[i] - sums[begin]) / static_cast<double>(left),
                                     static_cast<double>(sums[end] - sums[i]) / static_cast<double>(right));
      if (larger < least) {
        least = larger;
        best = i;
      }
    }
    at.push_back(best);
    open.push_back({begin, best, left});
    open.push_back({best, end, right});
  }
  std::sort(at.begin(), at.end());
  return at;
}

/// EasyParallelLibrary: costs rescaled to 0 ... 100 after the smallest is taken away; the bucket grows by 1 from the mean until filling
/// buckets one after the other needs no more than there are stages.
inline cuts growing_bucket(costs const& layers, std::size_t stages) {
  auto const [low, high] = std::minmax_element(layers.begin(), layers.end());
  std::vector<double> scaled;
  for (auto const x : layers)
    scaled.push_back(*high == *low ? 1.0 : 100.0 * static_cast<double>(x - *low) / static_cast<double>(*high - *low));
  auto const total = std::accumulate(scaled.begin(), scaled.end(), 0.0);
  for (auto bucket = total / static_cast<double>(stages);; bucket += 1) {
    cuts at(1);
    double held = 0;
    for (std::size_t i = 0; i < scaled.size(); ++i) {
      if (held + scaled[i] > bucket && i > at.back()) {
        at.push_back(i);
        held = 0;
      }
      held += scaled[i];
    }
    at.push_back(scaled.size());
    if (at.size() <= stages + 1) return at;
  }
}

/// The textbook dynamic programme for the exact bottleneck, O(n^2 p) with the begin moving down only while that pays.
inline cuts plain_dynamic_programme(costs const& layers, std::size_t stages) {
  auto const n = layers.size();
  auto const sums = prefix_sums(layers);
  constexpr auto none = (std::numeric_limits<std::int64_t>::max)();
  std::vector<costs> best(stages + 1, costs(n + 1, none));
  std::vector<cuts> from(stages + 1, cuts(n + 1));
  best[0][0] = 0;
  for (std::size_t s = 1; s <= stages; ++s)
    for (std::size_t i = s; i <= n; ++i)
      for (auto j = i; j-- > s - 1;) {
        auto const sum = sums[i] - sums[j];
        if (sum >= best[s][i]) break;
        if (auto const larger = (std::max)(best[s - 1][j], sum); larger < best[s][i]) {
          best[s][i] = larger;
          from[s][i] = j;
        }
      }
  cuts at(stages + 1, n);
  for (auto s = stages; s-- > 0;) at[s] = from[s + 1][at[s + 1]];
  return at;
}

}  // namespace ballast_benchmark
