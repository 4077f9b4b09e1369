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
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// `dealing::rows`: rows of similar packs, one for each micro-batch, and rows of all costs in a step.
template <index_type Index>
[[nodiscard]] batching<Index> rows_into_steps(groups<Index> packs, weighed_samples const& items, batching_options const& o,
                                              deal_options const& deal) {
  batching<Index> b;
  auto order = take_shuffled(b, std::move(packs), items, o);
  auto const sums = pack_sums(b.packs, [&](Index i) { return items.cost[i]; }, o.cost_per_micro_batch);

  auto const ranks = static_cast<std::size_t>(o.ranks), each = static_cast<std::size_t>(o.micro_batches), places = ranks * each;
  splitmix64 draw(~epoch_seed(o));
  b.table.assign((order.size() + places - 1) / places * places, b.none);
  std::vector<std::size_t> filled;
  std::vector<std::pair<std::int64_t, std::size_t>> load;
  std::vector<keyed_item<Index>> rows;
  for_sorted_windows(order, sums, places, deal.window, [&](std::size_t first, std::size_t last) {
    auto const put_row = [&](std::size_t from, std::size_t step, std::size_t row) {
      for (std::size_t k = from; k < (std::min)(from + ranks, last); ++k) {
        auto const rank = row % 2 == 0 ? k - from : ranks - 1 - (k - from);
        b.table[(step * ranks + rank) * each + row] = order[k];
      }
    };
    auto const steps = (last - first) / places;
    // Longest processing time first: each row, most expensive first, goes to the cheapest step; ties are broken at random.
    rows.clear();
    for (std::size_t k = 0; k < steps * each; ++k) {
      std::int64_t sum = 0;
      for (std::size_t j = 0; j < ranks; ++j) sum += sums[order[first + k * ranks + j]].cost;
      rows.push_back({sum, static_cast<Index>(first + k * ranks)});
    }
    std::sort(rows.begin(), rows.end());
    auto const turn = emit<Index>(steps, emission::shuffled, draw);
    load.clear();
    for (std::size_t s = 0; s < steps; ++s) load.emplace_back(0, s);
    filled.assign(steps, 0);
    for (auto const& [sum, from] : rows) {
      std::pop_heap(load.begin(), load.end(), std::greater<>{});
      auto& [total, s] = load.back();
      put_row(from, first / places + turn[s], filled[s]);
      total += sum;
      if (++filled[s] == each)
        load.pop_back();
      else
        std::push_heap(load.begin(), load.end(), std::greater<>{});
    }
    for (std::size_t from = first + steps * places, row = 0; from < last; from += ranks, ++row) put_row(from, last / places, row);
  });
  auto waiting_per_row = o;
  waiting_per_row.synchronisation = synchronisation::per_micro_batch;
  if (deal.redeal) redeal_steps(b, items, waiting_per_row);
  fill_places(b, items, o, mixing::never);
  certify(b, items, o);
  return b;
}

}  // namespace ballast::inline v0_2::detail
