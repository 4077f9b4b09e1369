// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/deal_packs.hpp>
#include <ballast/batching/detail/fill_places.hpp>
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/batching/detail/step_dealer.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/core/sort.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

// Packs that exist already into steps: `dealing::sorted` and `dealing::rows`.

namespace ballast::inline v0_2::detail {

/// Distributes the samples of a step over its places again, or exchanges some if not all fit; keeps the old places unless the step becomes
/// cheaper.
template <index_type Index>
void redeal_steps(batching<Index>& b, weighed_samples const& items, batching_options const& o) {
  // If ranks wait at every micro-batch, each row of places counts as a step.
  auto const rows = o.synchronisation == synchronisation::per_micro_batch ? b.micro_batches : 1;
  auto const each = static_cast<std::size_t>(b.micro_batches / rows), ranks = static_cast<std::size_t>(b.ranks);
  step_dealer<Index> deal(items, b.ranks, each, o.capacity);
  constexpr std::array rules{deal_rule::rate_cap, deal_rule::longest_first};
  std::vector<Index> samples;
  std::vector<std::uint32_t> rank_of;
  std::vector<std::vector<Index>> contents(b.packs.size());
  for (std::size_t p = 0; p < contents.size(); ++p) contents[p].assign(b.packs[p].begin(), b.packs[p].end());
  for (std::size_t s = 0; s < b.steps(); ++s)
    for (std::size_t row = 0; row < rows; ++row) {
      samples.clear();
      rank_of.clear();
      std::int64_t slowest = 0;
      bool whole = true;
      auto const place = [&](std::size_t r, std::size_t m) { return b.at(s, r, rows == 1 ? m : row); };
      for (std::size_t r = 0; r < ranks; ++r) {
        std::int64_t mine = 0;
        for (std::size_t m = 0; m < each; ++m) {
          auto const p = place(r, m);
          whole = whole && p != b.none;
          if (p == b.none) continue;
          for (auto i : contents[p]) mine += items.cost[i];
          samples.insert(samples.end(), contents[p].begin(), contents[p].end());
          rank_of.insert(rank_of.end(), contents[p].size(), static_cast<std::uint32_t>(r));
        }
        slowest = (std::max)(slowest, mine);
      }
      if (!whole) continue;
      deal.gather(samples);
      auto const cheaper = [&](bool all) { return all && deal.slowest() < slowest; };
      if (!cheaper(deal.deal_all(rules)) && !cheaper(deal.improve(rank_of)))
        continue;  // with full packs there is no room to distribute samples again, but often to exchange some
      for (std::size_t r = 0; r < ranks; ++r)
        for (std::size_t m = 0; m < each; ++m) {
          auto const got = deal.place(r, m);
          whole = whole && !got.empty();
        }
      if (!whole) continue;
      for (std::size_t r = 0; r < ranks; ++r)
        for (std::size_t m = 0; m < each; ++m) {
          auto const got = deal.place(r, m);
          contents[place(r, m)].assign(got.begin(), got.end());
        }
    }
  b.packs.clear();
  for (auto const& c : contents) b.packs.push_back(c);
}

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
