// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace ballast_test {

/// The least `max over ranks of max(communication(V), whole samples) + shares` of any placement, by branch and bound over the rank of each
/// sample or its sharing; the largest number of 64 bits if there is no placement. For up to twelve samples.
inline std::int64_t exact_split(std::vector<std::int64_t> const& lengths, std::int64_t ranks, std::int64_t capacity,
                                std::function<std::int64_t(std::int64_t, std::int64_t)> const& cost,
                                std::function<std::int64_t(std::int64_t)> const& communication) {
  auto const k = lengths.size();
  std::vector<std::size_t> order(k);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return lengths[a] != lengths[b] ? lengths[a] > lengths[b] : a < b; });
  std::vector<std::int64_t> alone, shared, length, tokens(static_cast<std::size_t>(ranks), 0), load(tokens);
  for (auto const i : order) {
    length.push_back(lengths[i]);
    alone.push_back(cost(lengths[i], 1));
    shared.push_back(cost(lengths[i], ranks));
  }
  auto best = (std::numeric_limits<std::int64_t>::max)();
  std::function<void(std::size_t, std::int64_t, std::int64_t)> const go = [&](std::size_t i, std::int64_t volume, std::int64_t time) {
    auto const exchange = volume == 0 ? 0 : communication(volume);
    auto const value = time + (std::max)(exchange, *std::max_element(load.begin(), load.end()));
    if (value >= best) return;
    for (auto const t : tokens)
      if (ranks * t + volume > ranks * capacity) return;
    if (i == k) {
      if (volume == 0 || volume >= ranks) best = value;
      return;
    }
    go(i + 1, volume + length[i], time + shared[i]);
    auto empty = false;
    for (std::size_t r = 0; r < tokens.size(); ++r) {
      if (tokens[r] == 0 && empty) continue;  // empty ranks are alike
      empty = empty || tokens[r] == 0;
      tokens[r] += length[i];
      load[r] += alone[i];
      go(i + 1, volume, time);
      tokens[r] -= length[i];
      load[r] -= alone[i];
    }
  };
  go(0, 0, 0);
  return best;
}

}  // namespace ballast_test
