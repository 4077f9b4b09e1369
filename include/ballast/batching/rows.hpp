// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/sorted.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief Steps for trainers whose ranks wait for each other at every micro-batch: rows of like packs, mixed inside a step.

namespace ballast::inline v0_2 {

/// @brief How rows are made.
struct row_options {
  std::uint64_t window = 16;  ///< steps whose packs are sorted together; 0 = the whole set
  bool redeal = true;         ///< whether the samples of each row are dealt to its packs anew, where that lowers its cost
};

namespace detail {
template <index_type Index>
[[nodiscard]] batching<Index> rows_into_steps(groups<Index> packs, step_items const& items, batching_options const& o,
                                              row_options const& how) {
  batching<Index> b;
  auto order = take_shuffled(b, std::move(packs), items, o);
  auto const sums = pack_sums(b.packs, [&](Index i) { return items.cost[i]; }, o.cost_per_micro_batch);

  auto const ranks = static_cast<std::size_t>(o.ranks), each = static_cast<std::size_t>(o.micro_batches), places = ranks * each;
  auto const most = order.size() / places + 1;
  auto const window = how.window == 0 || how.window > most ? most : static_cast<std::size_t>(how.window);
  splitmix64 draw(~epoch_seed(o));
  b.table.assign((order.size() + places - 1) / places * places, b.none);
  std::vector<std::size_t> filled;
  std::vector<std::pair<std::int64_t, std::size_t>> load, rows;
  for (std::size_t first = 0; first < order.size(); first += window * places) {
    auto const last = (std::min)(first + window * places, order.size());
    std::sort(order.begin() + static_cast<std::ptrdiff_t>(first), order.begin() + static_cast<std::ptrdiff_t>(last),
              [&](Index x, Index y) { return sums[x].cost != sums[y].cost ? sums[x].cost > sums[y].cost : x < y; });
    auto const put_row = [&](std::size_t from, std::size_t step, std::size_t row) {
      for (std::size_t k = from; k < (std::min)(from + ranks, last); ++k) {
        auto const rank = row % 2 == 0 ? k - from : ranks - 1 - (k - from);
        b.table[(step * ranks + rank) * each + row] = order[k];
      }
    };
    auto const steps = (last - first) / places;
    // Longest processing time first: a dear row to the step that has least so far. Equal steps are told apart at random.
    rows.clear();
    for (std::size_t k = 0; k < steps * each; ++k) {
      std::int64_t sum = 0;
      for (std::size_t j = 0; j < ranks; ++j) sum += sums[order[first + k * ranks + j]].cost;
      rows.emplace_back(sum, first + k * ranks);
    }
    std::sort(rows.begin(), rows.end(),
              [](auto const& x, auto const& y) { return x.first != y.first ? x.first > y.first : x.second < y.second; });
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
  }
  auto waiting_per_row = o;
  waiting_per_row.synchronisation = synchronisation::per_micro_batch;
  if (how.redeal) redeal_steps(b, items, waiting_per_row);
  fill_places(b, items, o, mixing::never);
  certify(b, items, o);
  return b;
}
}  // namespace detail

/// @brief Makes steps whose ranks have like packs in each micro-batch and unlike ones from micro-batch to micro-batch.
///
/// Packs of a window, in a random order of all packs, are sorted by cost; as many neighbours as there are ranks make a row, a micro-batch
/// across ranks. Rows are dealt to the steps of the window so that all steps cost the same, which makes each of them a good mixture.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param packs    which samples share a micro-batch; samples in none of them are listed as dropped
/// @param lengths  tokens of each sample
/// @param options  shape of a step, what to do with an incomplete one, where ranks wait, and seed
/// @param cost     what a sample costs
/// @param how      windows and redealing
/// @return the plan, its cost and the bound
/// @throws invalid_input as `steps_in_order`
/// @par Complexity
/// O(samples + packs log packs); redealing adds O(samples log ranks) and a bounded number of exchanges per row.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index, length_range R, cost_model Cost>
[[nodiscard]] batching<Index> row_steps(groups<Index> packs, R const& lengths, batching_options const& options, Cost const& cost,
                                        row_options const& how = {}) {
  return detail::rows_into_steps(std::move(packs), detail::weigh<Index>(lengths, options, cost), options, how);
}

}  // namespace ballast::inline v0_2
