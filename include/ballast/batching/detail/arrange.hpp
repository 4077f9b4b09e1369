// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/items.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Cuts an order of packs into steps and gives the packs of each step to its ranks so that the slowest one has little: where ranks wait at
/// every micro-batch, neighbours in cost share a row; else longest processing time first, at most `micro_batches` packs to a rank.
template <index_type Index>
void arrange_steps(batching<Index>& b, std::span<Index const> order, std::span<pack_sum const> sums, batching_options const& o) {
  auto const ranks = static_cast<std::size_t>(b.ranks), each = static_cast<std::size_t>(b.micro_batches), places = ranks * each;
  b.table.assign((order.size() + places - 1) / places * places, b.none);
  std::vector<Index> step;
  std::vector<std::size_t> count(ranks);
  std::vector<std::pair<std::int64_t, std::size_t>> load;  // a heap, the least loaded rank in front
  for (std::size_t first = 0; first < order.size(); first += places) {
    auto const last = (std::min)(first + places, order.size());
    step.assign(order.begin() + static_cast<std::ptrdiff_t>(first), order.begin() + static_cast<std::ptrdiff_t>(last));
    std::sort(step.begin(), step.end(),
              [&](Index x, Index y) { return sums[x].cost != sums[y].cost ? sums[x].cost > sums[y].cost : x < y; });
    if (o.synchronisation == synchronisation::per_micro_batch) {
      for (std::size_t k = 0; k < step.size(); ++k) {
        auto const row = k / ranks, column = k % ranks;
        b.table[first + (row % 2 == 0 ? column : ranks - 1 - column) * each + row] = step[k];
      }
      continue;
    }
    load.clear();
    for (std::size_t r = 0; r < ranks; ++r) load.emplace_back(0, r);
    std::fill(count.begin(), count.end(), std::size_t{0});
    for (auto p : step) {
      std::pop_heap(load.begin(), load.end(), std::greater<>{});
      auto& [sum, r] = load.back();
      b.table[first + r * each + count[r]] = p;
      sum += sums[p].cost;
      if (++count[r] == each)
        load.pop_back();
      else
        std::push_heap(load.begin(), load.end(), std::greater<>{});
    }
  }
}

}  // namespace ballast::inline v0_2::detail
