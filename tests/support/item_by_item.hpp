// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/groups.hpp>
#include <ballast/core/random.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

namespace ballast_test {

/// Best-fit decreasing from its definition, one item at a time: the fullest pack that fits, the lowest number among equals, at most `most`
/// items in one.
inline ballast::groups<> item_by_item_best_fit_decreasing(std::vector<std::int64_t> const& weights, std::int64_t capacity,
                                                          std::uint64_t most) {
  std::vector<std::uint32_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return std::pair(-weights[a], a) < std::pair(-weights[b], b); });
  std::vector<std::vector<std::uint32_t>> filled;
  std::set<std::pair<std::int64_t, std::size_t>> rooms;
  for (auto i : order) {
    auto const best = rooms.lower_bound({weights[i], 0});
    auto [room, pack] = best == rooms.end() ? std::pair(capacity, filled.size()) : *best;
    if (best == rooms.end())
      filled.emplace_back();
    else
      rooms.erase(best);
    filled[pack].push_back(i);
    if (filled[pack].size() < most) rooms.emplace(room - weights[i], pack);
  }
  ballast::groups<> out;
  for (auto const& pack : filled) out.push_back(pack);
  return out;
}

/// Lengths 1 … capacity of one of five shapes: uniform, short with a long tail, all above a third of the capacity, two humps, few distinct.
inline std::vector<std::int64_t> lengths_of_shape(int shape, std::size_t n, std::int64_t capacity, std::uint64_t seed) {
  ballast::splitmix64 draw(seed);
  auto const below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(ballast::uniform_below(static_cast<std::uint64_t>((std::max)(bound, std::int64_t{1})), draw));
  };
  std::vector<std::int64_t> out(n);
  for (auto& length : out) {
    switch (shape) {
      case 0: length = 1 + below(capacity); break;
      case 1: length = capacity / (1 + below(capacity)); break;
      case 2: length = capacity / 3 + below(capacity - capacity / 3); break;
      case 3: length = below(2) == 0 ? 1 + below(capacity / 8) : capacity * 2 / 5 + below(capacity / 5); break;
      default: length = 1 + below(5) * (capacity / 7); break;
    }
    length = std::clamp(length, std::int64_t{1}, capacity);
  }
  return out;
}

}  // namespace ballast_test
