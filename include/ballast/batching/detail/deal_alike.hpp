// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/like_rows.hpp>
#include <ballast/batching/detail/vector_packs.hpp>
#include <ballast/batching/detail/weighed_vectors.hpp>
#include <ballast/batching/detail/windows.hpp>
#include <ballast/batching/vector_options.hpp>
#include <ballast/core/metrics/step_balance.hpp>
#include <ballast/core/random.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

// Deals packs of several measures to steps, in rows of packs that are similar in every measure.

namespace ballast::inline v0_2::detail {

/// Fills steps of places, `ranks * each`, with rows of packs.
template <index_type Index>
class row_dealer {
 public:
  row_dealer(batching<Index> const& b, std::span<pack_sum const> sums)
      : sums_(sums), ranks_(static_cast<std::size_t>(b.ranks)), each_(static_cast<std::size_t>(b.micro_batches)), load_(ranks_) {}

  /// Fills micro-batch `row` of a step: the most expensive pack goes to the least loaded rank.
  void operator()(std::span<Index const> packs, std::span<Index> step, std::size_t row) {
    row_.assign(packs.begin(), packs.end());
    std::sort(row_.begin(), row_.end(),
              [&](Index x, Index y) { return sums_[x].cost != sums_[y].cost ? sums_[x].cost > sums_[y].cost : x < y; });
    for (std::size_t r = 0; r < ranks_; ++r) {
      load_[r] = {0, r};
      for (std::size_t m = 0; m < row; ++m)
        if (auto const p = step[r * each_ + m]; p != batching<Index>::none) load_[r].first += sums_[p].cost;
    }
    if (row != 0) std::sort(load_.begin(), load_.end());
    for (std::size_t k = 0; k < row_.size(); ++k) step[load_[k].second * each_ + row] = row_[k];
  }

 private:
  std::span<pack_sum const> sums_;
  std::size_t ranks_, each_;
  std::vector<std::pair<std::int64_t, std::size_t>> load_;
  std::vector<Index> row_;
};

/// The steps of one kind of samples: rows of similar packs from windows of the random order, and rows of different cost in each step; of
/// similar cost in pipelines, where a micro-batch that takes longer than the others makes their stages wait.
template <index_type Index>
[[nodiscard]] std::vector<Index> steps_of_rows(batching<Index> const& b, std::vector<Index>& order, std::span<pack_sum const> sums,
                                               load_table const& columns, std::size_t window, bool pipelines, splitmix64& draw) {
  auto const ranks = static_cast<std::size_t>(b.ranks), each = static_cast<std::size_t>(b.micro_batches), places = ranks * each;
  like_rows<Index> sort_rows(columns, ranks);
  row_dealer<Index> deal(b, sums);
  std::vector<Index> table((order.size() + places - 1) / places * places, b.none);
  std::vector<std::pair<std::int64_t, std::size_t>> rows;  // cost and begin of each row
  std::vector<std::size_t> turn;
  auto const full = order.size() / places * places;
  auto const row_at = [&](std::size_t from) { return std::span<Index const>(order).subspan(from, (std::min)(ranks, order.size() - from)); };
  for (std::size_t first = 0; first < full; first += window * places) {
    auto const steps = (std::min)(window, (full - first) / places);
    sort_rows(std::span(order).subspan(first, steps * places));
    rows.clear();
    for (auto from = first; from < first + steps * places; from += ranks) {
      std::int64_t sum = 0;
      for (auto p : row_at(from)) sum -= sums[p].cost;
      rows.emplace_back(sum, from);
    }
    std::sort(rows.begin(), rows.end());
    turn.resize(steps);
    auto const emitted = emit<Index>(steps, emission::cyclic, draw);
    for (std::size_t s = 0; s < steps; ++s) turn[emitted[s]] = s;
    for (std::size_t j = 0; j < rows.size(); ++j) {
      auto const row = pipelines ? j % each : j / steps;
      auto const k = pipelines ? j / each : row % 2 == 0 ? j % steps : steps - 1 - j % steps;
      auto const step = first + turn[k] * places;
      deal(row_at(rows[j].second), std::span(table).subspan(step, places), row);
    }
  }
  std::sort(order.begin() + static_cast<std::ptrdiff_t>(full), order.end(),
            [&](Index x, Index y) { return sums[x].cost != sums[y].cost ? sums[x].cost > sums[y].cost : x < y; });
  for (auto from = full; from < order.size(); from += ranks)
    deal(row_at(from), std::span(table).subspan(full, places), (from - full) / ranks);
  return table;
}

/// The steps of both kinds, mixed evenly; incomplete steps come last.
template <index_type Index>
void interleave(batching<Index>& b, std::array<std::vector<Index>, 2> const& table, std::array<std::size_t, 2> complete) {
  auto const places = static_cast<std::size_t>(b.ranks * b.micro_batches);
  std::array<std::size_t, 2> next{0, 0};
  auto const take = [&](std::size_t kind) {
    auto const from = table[kind].begin() + static_cast<std::ptrdiff_t>(places * next[kind]++);
    b.table.insert(b.table.end(), from, from + static_cast<std::ptrdiff_t>(places));
  };
  auto const steps = complete[0] + complete[1];
  for (std::size_t s = 0; s < steps; ++s) take((s + 1) * complete[1] / steps - s * complete[1] / steps);
  for (std::size_t kind = 0; kind < 2; ++kind)
    if (next[kind] * places < table[kind].size()) take(kind);
}

/// The balance of the ranks in the loads `load(pack)`.
template <index_type Index, class Load>
[[nodiscard]] step_balance balance_of(batching<Index> const& b, Load const& load) {
  auto const each = static_cast<std::size_t>(b.micro_batches);
  std::vector<std::int64_t> loads(b.table.size() / each);
  for (std::size_t at = 0; at < b.table.size(); ++at)
    if (auto const p = b.table[at]; p != b.none) loads[at / each] += load(p);
  return balance_of_steps(loads, static_cast<std::size_t>(b.ranks));
}

template <index_type Index>
[[nodiscard]] vector_batching<Index> deal_alike(groups<Index> packs, weighed_vectors const& of, vector_batching_options const& o) {
  vector_batching<Index> b;
  auto const shape = shape_of(o);
  pack_loads loads;
  auto order = take_kinds<Index>(b, std::move(packs), of, o, loads);
  auto const& sums = loads.sums;
  auto const k = of.samples.measures(), places = static_cast<std::size_t>(o.steps.ranks * o.steps.micro_batches);
  auto const most = b.packs.size() / places + 1;
  auto const window = o.window == 0 || o.window > most ? most : static_cast<std::size_t>(o.window);
  auto const columns = balanced_columns(loads, of, window * static_cast<std::size_t>(o.steps.micro_batches));
  splitmix64 draw(~epoch_seed(shape));
  auto const pipelines = o.steps.synchronisation == synchronisation::pipeline && o.steps.stages > 1;
  std::array<std::vector<Index>, 2> table;
  for (std::size_t kind = 0; kind < 2; ++kind) table[kind] = steps_of_rows<Index>(b, order[kind], sums, columns, window, pipelines, draw);
  interleave<Index>(b, table, {order[0].size() / places, order[1].size() / places});
  certify(b, of.items, shape, sums);
  b.critical = {};
  for (std::size_t m = 0; m < k; ++m) b.balance.push_back(balance_of(b, [&](Index p) { return loads.measures[p][m]; }));
  b.cost_balance = balance_of(b, [&](Index p) { return loads.sums[p].cost; });
  return b;
}

BALLAST_INSTANTIATE(vector_batching<std::uint32_t> deal_alike(groups<std::uint32_t>, weighed_vectors const&,
                                                              vector_batching_options const&))
BALLAST_INSTANTIATE(vector_batching<std::uint64_t> deal_alike(groups<std::uint64_t>, weighed_vectors const&,
                                                              vector_batching_options const&))

}  // namespace ballast::inline v0_2::detail
