// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/deal_packs.hpp>
#include <ballast/batching/detail/fill_places.hpp>
#include <ballast/batching/detail/redeal.hpp>
#include <ballast/batching/detail/windows.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/core/sort.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Cuts an order of packs into steps, and distributes the packs of each step over its ranks such that the slowest rank has little work. If
/// ranks wait at every micro-batch, neighbours in cost share a row; otherwise by longest processing time first, with at most
/// `micro_batches` packs to a rank.
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
    sort_by(step, [&](Index x, Index y) { return sums[x].cost != sums[y].cost ? sums[x].cost > sums[y].cost : x < y; });
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

/// `dealing::sorted`: neighbours in cost share a step, within windows of a random order of all packs.
template <index_type Index>
[[nodiscard]] batching<Index> sort_into_steps(groups<Index> packs, weighed_samples const& items, batching_options const& o,
                                              deal_options const& deal) {
  batching<Index> b;
  auto order = take_shuffled(b, std::move(packs), items, o);
  auto const sums = pack_sums(b.packs, [&](Index i) { return items.cost[i]; }, o.cost_per_micro_batch);

  auto const places = static_cast<std::size_t>(o.ranks * o.micro_batches);
  splitmix64 draw(~epoch_seed(o));
  std::vector<Index> emitted;
  emitted.reserve(order.size());
  for_sorted_windows(order, sums, places, deal.window, [&](std::size_t first, std::size_t last) {
    auto const whole = (last - first) / places;
    for (auto s : emit<Index>(whole, deal.emission, draw))
      for (std::size_t k = 0; k < places; ++k) emitted.push_back(order[first + s * places + k]);
    emitted.insert(emitted.end(), order.begin() + static_cast<std::ptrdiff_t>(first + whole * places),
                   order.begin() + static_cast<std::ptrdiff_t>(last));
  });
  arrange_steps(b, std::span<Index const>(emitted), sums, o);
  if (deal.redeal) redeal_steps(b, items, o);
  if (fill_places(b, items, o, mixing::never) || deal.redeal)
    certify(b, items, o);
  else
    certify(b, items, o, sums);
  return b;
}

}  // namespace ballast::inline v0_2::detail
