// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/measure_exchange.hpp>
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/batching/detail/vector_packs.hpp>
#include <ballast/batching/detail/vector_parts.hpp>
#include <ballast/batching/vector_options.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/metrics/step_balance.hpp>
#include <ballast/core/random.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/portfolio.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief Plans steps of samples with several measures: balances each measure, and the cost, over the ranks.

namespace ballast::inline v0_2 {

namespace detail {

// Deals packs of several measures to steps, in rows of packs that are similar in every measure.

/// Fills steps of places, `ranks * each`, with rows of packs.
template <index_type Index>
class row_dealer {
 public:
  row_dealer(batching<Index> const& b, std::span<pack_sum const> sums)
      : sums_(sums), ranks_(static_cast<std::size_t>(b.ranks)), each_(static_cast<std::size_t>(b.micro_batches)), load_(ranks_) {}

  /// Fills micro-batch `row` of a step: the most expensive pack goes to the least loaded rank.
  void operator()(std::span<Index const> packs, std::span<Index> step, std::size_t row) {
    row_.assign(packs.begin(), packs.end());
    std::sort(row_.begin(), row_.end(), falling([&](Index p) { return sums_[p].cost; }));
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
  std::sort(order.begin() + static_cast<std::ptrdiff_t>(full), order.end(), falling([&](Index p) { return sums[p].cost; }));
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

/// Exchanges samples in all steps. If ranks wait at every micro-batch, each row of places counts as a step.
template <index_type Index>
void exchange_in_steps(batching<Index>& b, weighed_vectors const& of, vector_batching_options const& o) {
  if (!b.repeated.empty()) return;  // a pack of two steps can only be balanced in one
  exchanged_measures measures{.capacity = of.capacity, .max_samples = o.max_samples, .cost_is_last = of.cost_differs};
  for (std::size_t m = 0; m < of.samples.measures(); ++m) {
    measures.limited.push_back(of.samples.column(m));
    if (of.weight[m] != 0) measures.balanced.push_back(of.samples.column(m));
  }
  if (of.cost_differs) measures.balanced.emplace_back(of.items.cost);
  auto const rows =
      o.steps.synchronisation == synchronisation::per_micro_batch ? static_cast<std::size_t>(b.micro_batches) : std::size_t{1};
  auto const ranks = static_cast<std::size_t>(b.ranks), each = static_cast<std::size_t>(b.micro_batches) / rows;
  measure_exchange<Index> exchange(std::move(measures), ranks);
  std::vector<Index> packs(ranks * each);
  auto contents = lists_of(b.packs);
  for (std::size_t s = 0; s < b.steps(); ++s)
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t k = 0; k < packs.size(); ++k) packs[k] = b.at(s, k / each, rows == 1 ? k % each : row);
      exchange(contents, packs);
    }
  b.packs = groups_of(contents);
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
  if (o.exchange) {
    exchange_in_steps(b, of, o);
    sum_up(b.packs, of, o.steps.cost_per_micro_batch, 0, loads);
  }
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

/// Packs the samples of one kind, with the samples of a class in random order, and appends the packs. Returns the packer that made them.
template <index_type Index>
vector_packer pack_kind(std::vector<Index> const& chosen, weighed_vectors const& of, vector_batching_options const& o, std::uint64_t seed,
                        portfolio_options const& by, groups<Index>& packs, certificate& count) {
  std::vector<std::vector<std::int64_t>> columns(of.samples.measures());
  std::vector<std::span<std::int64_t const>> views;
  for (std::size_t m = 0; m < columns.size(); ++m) {
    columns[m].reserve(chosen.size());
    for (auto i : chosen) columns[m].push_back(of.samples.column(m)[i]);
    views.emplace_back(columns[m]);
  }
  auto plan = pack_portfolio<Index>(sample_measures(std::move(views)),
                                    {.capacity = of.capacity, .max_samples = o.max_samples, .oversize = o.oversize, .seed = seed}, by);
  count.value += plan.count.value;
  count.lower_bound += plan.count.lower_bound;
  for (auto& i : plan.packs.members) i = chosen[i];
  if (packs.empty()) {
    packs = std::move(plan.packs);
    return plan.packer;
  }
  for (auto const group : plan.packs) packs.push_back(group);
  return plan.packer;
}

}  // namespace detail

/// @brief Deals packs of samples with several measures to steps, such that each measure is balanced over the ranks of a step.
///
/// All packs are put in a random order and cut into windows, and each window is cut into rows: a row is one micro-batch across all ranks. A
/// window is divided along the measure and at the place that saves most waiting, and each part is divided again, until the packs of each
/// row are similar in *every* measure. Rows of different cost share a step. Since every micro-batch is balanced, the plan also suits
/// trainers that wait at every micro-batch.
///
/// @tparam Index  type of the sample indices
/// @tparam Cost   cost of a sample by its measures
/// @param packs    sample indices of each pack; samples in no pack are listed in `dropped`
/// @param samples  measures of each sample
/// @param options  capacities, shape of a step, window and weights
/// @param cost     maps the measures of a sample to an integer that is not negative; the cost is balanced in addition to the measures
/// @return the plan, the balance of each measure and of the cost, and the certificate of the slowest ranks' cost
/// @throws invalid_input for a bad option, measure or cost, or packs that overlap, are empty, exceed a capacity or `max_samples`, or mix
/// samples that `separate` keeps apart
/// @par Complexity
/// O(samples + measures^2 packs log(packs) log(window)).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// The distance ratio: Yao et al., OmniBal, arXiv 2407.20761. Rows: this library.
template <index_type Index, row_cost Cost = weighted_sum>
[[nodiscard]] vector_batching<Index> deal_steps(groups<Index> packs, sample_measures const& samples, vector_batching_options const& options,
                                                Cost const& cost = {}) {
  return detail::deal_alike<Index>(std::move(packs), detail::weigh_measures<Index>(samples, options, cost), options);
}

/// @brief Plans the steps of an epoch of samples with several measures: packs by `pack_portfolio`, then calls `deal_steps`.
///
/// If near-optimal search saves at most a thousandth of the packs, the packs of the simpler packers are used if their ranks wait less.
/// Packs differ from epoch to epoch: samples that agree in all measures exchange places at random. Samples that `options.separate` keeps
/// apart are also packed apart.
///
/// @tparam Index  type of the sample indices
/// @tparam Cost   cost of a sample by its measures
/// @param samples  measures of each sample
/// @param options  capacities, shape of a step, window and weights
/// @param cost     maps the measures of a sample to an integer that is not negative; the cost is balanced in addition to the measures
/// @return the plan; samples that were set aside are in `dropped`, and `pack_count` certifies the packing
/// @throws invalid_input for a bad option, measure or cost
/// @par Complexity
/// That of `pack_portfolio` and `deal_steps`.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, row_cost Cost = weighted_sum>
[[nodiscard]] vector_batching<Index> plan_steps(sample_measures const& samples, vector_batching_options const& options,
                                                Cost const& cost = {}) {
  auto const items = detail::weigh_measures<Index>(samples, options, cost);
  auto const seed = epoch_seed(options.steps);
  std::array<std::vector<Index>, 2> chosen;
  for (auto i : random_permutation<Index>(samples.size(), splitmix64(seed)())) chosen[items.kind(options.separate, i)].push_back(i);
  certificate count;
  auto searched = false;
  auto const packed = [&](portfolio_options const& by) {
    groups<Index> packs;
    count = {};
    for (auto const& part : chosen)
      if (!part.empty() && detail::pack_kind(part, items, options, seed, by, packs, count) == vector_packer::near_optimal) searched = true;
    return packs;
  };
  auto plan = detail::deal_alike<Index>(packed({}), items, options);
  plan.pack_count = count;
  if (!searched) return plan;
  // The search only saves packs. If it saved almost none, the packs of simpler packers may balance better.
  auto packs = packed({.members = {vector_packer::completion, vector_packer::best_fit, vector_packer::iterative_sampling}});
  if (count.value - plan.pack_count.value > plan.pack_count.value / 1000) return plan;
  auto other = detail::deal_alike<Index>(std::move(packs), items, options);
  if (other.slowest.value >= plan.slowest.value) return plan;
  other.pack_count = {count.value, plan.pack_count.lower_bound};
  return other;
}

}  // namespace ballast::inline v0_2
