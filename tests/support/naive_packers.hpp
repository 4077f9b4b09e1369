// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

// The packers by their definitions, in quadratic time: for every sample every pack is looked at.

namespace ballast_test {

using packs = std::vector<std::vector<std::uint64_t>>;

enum class rule { next, first, best, worst };

/// Items to place; a weight of 0 is none.
struct naive_items {
  std::vector<std::int64_t> weight;
  std::int64_t capacity = 0;
  std::uint64_t max_samples = 0;  // 0 = no limit
  std::uint64_t seed = 0;
};

inline packs place_by_definition(naive_items const& items, std::vector<std::size_t> const& order, rule r) {
  packs out;
  std::vector<std::int64_t> room;
  for (auto const i : order) {
    auto const w = items.weight[i];
    if (w == 0) continue;
    auto chosen = out.size();
    for (std::size_t g = r == rule::next && !out.empty() ? out.size() - 1 : 0; g < out.size(); ++g) {
      if (room[g] < w || out[g].size() == items.max_samples) continue;
      if (chosen == out.size() || (r == rule::best && room[g] < room[chosen]) || (r == rule::worst && room[g] > room[chosen])) chosen = g;
    }
    if (chosen == out.size()) {
      out.emplace_back();
      room.push_back(items.capacity);
    }
    out[chosen].push_back(i);
    room[chosen] -= w;
  }
  return out;
}

/// Positions first … last - 1 in the given order, or longest first.
inline std::vector<std::size_t> given(std::size_t first, std::size_t last) {
  std::vector<std::size_t> order(last - first);
  std::iota(order.begin(), order.end(), first);
  return order;
}
inline std::vector<std::size_t> decreasing(naive_items const& items, std::size_t first, std::size_t last) {
  auto order = given(first, last);
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return items.weight[a] != items.weight[b] ? items.weight[a] > items.weight[b] : a < b; });
  return order;
}

}  // namespace ballast_test
