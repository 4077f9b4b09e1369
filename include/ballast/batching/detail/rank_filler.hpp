// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/packing/raise_pack_count.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

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
    return [this](Index a, Index b) { return units_.tokens[a] != units_.tokens[b] ? units_.tokens[a] > units_.tokens[b] : a < b; };
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

}  // namespace ballast::inline v0_2::detail
