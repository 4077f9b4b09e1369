// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/batching/micro_batch_options.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Keeps the best of several tables for the packs of one global batch.
template <index_type Index>
class best_layout {
 public:
  best_layout(weighed_samples const& units, batching_options const& o, micro_batch_constraints const& c) : units_(units), o_(o), c_(c) {}

  [[nodiscard]] std::vector<std::int64_t> costs_of(groups<Index> const& packs) const {
    std::vector<std::int64_t> cost;
    for (auto const pack : packs) {
      cost.push_back(0);
      for (auto u : pack) cost.back() += units_.cost[u];
    }
    return cost;
  }

  /// Makes a table of packs whose ranks are given, or of rows without given ranks, and keeps it if it is the best so far.
  void offer(groups<Index> const& packs, std::vector<std::uint64_t> const& rank, std::uint64_t each) {
    auto const cost = costs_of(packs);
    std::vector<Index> falling(packs.size());
    std::iota(falling.begin(), falling.end(), Index{0});
    sort_by(falling, [&](Index a, Index b) { return cost[a] != cost[b] ? cost[a] > cost[b] : a < b; });
    std::vector<std::uint64_t> held(static_cast<std::size_t>(o_.ranks), 0);
    if (!by_rows())
      for (auto r : rank) ++held[static_cast<std::size_t>(r)];
    auto const rows = divide_up(packs.size(), held.size());
    batching<Index> b;
    b.ranks = o_.ranks;
    b.micro_batches = each;
    b.packs = packs;
    b.table.assign(static_cast<std::size_t>(o_.ranks * each), b.none);
    std::vector<std::uint64_t> taken(held.size(), 0);
    for (std::size_t k = 0; k < falling.size(); ++k) {
      auto const row = k / held.size(), column = k % held.size();  // back and forth
      auto const r = by_rows() ? (row % 2 == 0 ? column : held.size() - 1 - column) : static_cast<std::size_t>(rank[falling[k]]);
      auto const m = by_rows() ? position(row, rows) : position(taken[r]++, held[r]);
      b.table[r * static_cast<std::size_t>(each) + static_cast<std::size_t>(m)] = falling[k];
    }
    certify(b, units_, o_);
    if (found_ && best_.slowest.value <= b.slowest.value) return;
    best_ = std::move(b);
    found_ = true;
  }
  /// Whether the best table is within a thousandth of its lower bound.
  [[nodiscard]] bool good() const { return found_ && best_.slowest.value - best_.slowest.lower_bound <= best_.slowest.lower_bound / 1000; }
  void clear() { found_ = false; }
  [[nodiscard]] batching<Index> take() { return std::move(best_); }

 private:
  [[nodiscard]] bool by_rows() const { return o_.synchronisation == synchronisation::per_micro_batch; }
  /// The position of the k-th most expensive of `count` micro-batches: with small ends, the two cheapest come first and last and the most
  /// expensive in the middle.
  [[nodiscard]] std::uint64_t position(std::uint64_t k, std::uint64_t count) const {
    if (!c_.small_ends) return k;
    auto const rising = count - 1 - k;
    return rising % 2 == 0 ? rising / 2 : count - 1 - rising / 2;
  }

  weighed_samples const& units_;
  batching_options const& o_;
  micro_batch_constraints const& c_;
  batching<Index> best_;
  bool found_ = false;
};

}  // namespace ballast::inline v0_2::detail
