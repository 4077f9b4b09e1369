// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/packing/raise_pack_count.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <span>
#include <utility>
#include <vector>

// Parts of `micro_batches`: packs for each rank, and the best table of packs.

namespace ballast::inline v0_2::detail {

/// Packs the units of every rank into a given number of micro-batches. Units without room in their rank go to another rank.
template <index_type Index>
class rank_filler {
 public:
  rank_filler(weighed_samples const& units, std::span<std::uint64_t const> apart, std::int64_t capacity, std::size_t each,
              groups<Index> const& ranks)
      : units_(units),
        apart_(apart),
        ranks_(ranks),
        each_(each),
        place_(each * ranks.size()),
        room_(place_.size(), capacity),
        load_(ranks.size(), 0) {}

  /// Returns whether all units find room and every rank has a pack for each of its micro-batches. The packs come rank after rank.
  [[nodiscard]] bool run(groups<Index>& packs, std::vector<std::uint64_t>& rank) {
    for (std::size_t r = 0; r < load_.size(); ++r) best_fit(ranks_[r], r * each_, (r + 1) * each_);
    if (!left_.empty() && left_.size() > (std::uint64_t{1} << 22) / place_.size()) return false;
    sort_by(left_, longer());
    for (auto u : left_) {  // into the least loaded rank with room
      auto best = place_.size();
      for (std::size_t p = 0; p < place_.size(); ++p)
        if (room_[p] >= units_.tokens[u] && (place_[p].empty() || may_meet(place_[p][0], u)) &&
            (best == place_.size() || load_[p / each_] < load_[best / each_]))
          best = p;
      if (best == place_.size()) return false;
      put(u, best);
    }
    for (std::size_t r = 0; r < load_.size(); ++r) {
      groups<Index> own;
      for (auto p = r * each_; p < (r + 1) * each_; ++p)
        if (!place_[p].empty()) own.push_back(place_[p]);
      if (!raise_pack_count(own, each_, [&](Index u) { return units_.tokens[u]; })) return false;
      for (auto const pack : own) {
        packs.push_back(pack);
        rank.push_back(r);
      }
    }
    return true;
  }

 private:
  [[nodiscard]] bool may_meet(Index a, Index b) const { return apart_.empty() || apart_[a] == apart_[b]; }
  [[nodiscard]] auto longer() const {
    return falling([this](Index u) { return units_.tokens[u]; });
  }
  void put(Index u, std::size_t p) {
    place_[p].push_back(u);
    room_[p] -= units_.tokens[u];
    load_[p / each_] += units_.cost[u];
  }
  /// Packs by best-fit decreasing into the places `first` … `last - 1`, key after key; units without room remain in `left_`.
  void best_fit(std::span<Index const> share, std::size_t first, std::size_t last) {
    mine_.assign(share.begin(), share.end());
    sort_by(mine_, [&](Index a, Index b) { return may_meet(a, b) ? longer()(a, b) : apart_[a] < apart_[b]; });
    std::set<std::pair<std::int64_t, std::size_t>> open;  // places of the key by room
    for (std::size_t k = 0; k < mine_.size(); ++k) {
      auto const u = mine_[k];
      if (k > 0 && !may_meet(u, mine_[k - 1])) open.clear();
      auto const at = open.lower_bound({units_.tokens[u], 0});
      if (at == open.end() && first == last) {
        left_.push_back(u);
        continue;
      }
      auto const p = at == open.end() ? first++ : at->second;
      if (at != open.end()) open.erase(at);
      put(u, p);
      open.emplace(room_[p], p);
    }
  }

  weighed_samples const& units_;
  std::span<std::uint64_t const> apart_;
  groups<Index> const& ranks_;
  std::size_t each_;
  std::vector<std::vector<Index>> place_;
  std::vector<std::int64_t> room_, load_;  ///< by place, by rank
  std::vector<Index> mine_, left_;
};

/// Keeps the best of several tables for the packs of one global batch.
template <index_type Index>
class best_layout {
 public:
  best_layout(weighed_samples const& units, batching_options const& o, micro_batch_constraints const& c) : units_(units), o_(o), c_(c) {}

  [[nodiscard]] std::vector<std::int64_t> costs_of(groups<Index> const& packs) const {
    std::vector<std::int64_t> cost;
    for (auto const pack : packs) cost.push_back(sum_of(units_.cost, pack));
    return cost;
  }

  /// Makes a table of packs whose ranks are given, or of rows without given ranks, and keeps it if it is the best so far.
  void offer(groups<Index> const& packs, std::vector<std::uint64_t> const& rank, std::uint64_t each) {
    auto const cost = costs_of(packs);
    std::vector<Index> by_cost(packs.size());
    std::iota(by_cost.begin(), by_cost.end(), Index{0});
    sort_by(by_cost, falling([&](Index p) { return cost[p]; }));
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
    for (std::size_t k = 0; k < by_cost.size(); ++k) {
      auto const row = k / held.size(), column = k % held.size();  // back and forth
      auto const r = by_rows() ? (row % 2 == 0 ? column : held.size() - 1 - column) : static_cast<std::size_t>(rank[by_cost[k]]);
      auto const m = by_rows() ? position(row, rows) : position(taken[r]++, held[r]);
      b.table[r * static_cast<std::size_t>(each) + static_cast<std::size_t>(m)] = by_cost[k];
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
  /// The position of the k-th most expensive of `count` micro-batches: with small ends, the two cheapest come first and last.
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
