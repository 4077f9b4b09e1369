// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_watch.hpp>
#include <ballast/core/status.hpp>
#include <ballast/patterns/detail/reduce_stock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Bin completion (Martello, Toth 1990) for a few packs: the longest sample that is left gets, in turn, every set of samples beside it to
/// which no other can be added and that leaves no more room than may stay empty. Rests that failed are remembered. Exact while its nodes
/// last.
template <class = when_called>
class pack_completion {
 public:
  pack_completion(pattern_rows const& rows, search_budget& budget) : rows_(rows), budget_(budget) {}

  /// Whether the samples fit into `packs` packs; `unknown` if that takes too many nodes.
  [[nodiscard]] status run(std::span<std::uint64_t const> left, std::uint64_t packs) {
    left_.assign(left.begin(), left.end());
    failed_.clear();
    packs_.clear();
    ends_.clear();
    nodes_ = 0;
    auto empty = static_cast<std::int64_t>(packs) * rows_.capacity;
    std::uint64_t samples = 0;
    for (std::size_t i = 0; i < left_.size(); ++i) {
      empty -= static_cast<std::int64_t>(left_[i]) * rows_.length[i];
      samples += left_[i];
    }
    if (empty < 0 || (rows_.max_samples != 0 && samples > packs * rows_.max_samples)) return status::infeasible;
    auto const found = pack_rest(0, packs, empty);
    budget_.spend(nodes_ * (10 + rows_.size() / 8));
    return found ? status::feasible : nodes_ > most_nodes ? status::unknown : status::infeasible;
  }
  /// Calls `visit(rows)` for each pack of the plan that was found.
  template <class Visit>
  void for_each_pack(Visit const& visit) const {
    std::size_t begin = 0;
    for (auto const end : ends_) {
      visit(std::span(packs_).subspan(begin, end - begin));
      begin = end;
    }
  }

 private:
  static constexpr std::uint64_t most_nodes = 4000;

  [[nodiscard]] bool pack_rest(std::size_t from, std::uint64_t packs, std::int64_t empty) {
    while (from < left_.size() && left_[from] == 0) ++from;
    if (from == left_.size()) return true;
    if (packs == 0 || ++nodes_ > most_nodes || failed_.contains(left_)) return false;
    auto const begin = packs_.size();
    take(from);
    auto const found = fill(from, from, begin, rows_.capacity - rows_.length[from], packs, empty);
    if (found) return true;
    give_back(from);
    if (nodes_ <= most_nodes) failed_.insert(left_);
    return false;
  }
  // Adds samples of row `from` and later ones to the pack, whose room is `room`.
  [[nodiscard]] bool fill(std::size_t first, std::size_t from, std::size_t begin, std::int64_t room, std::uint64_t packs,
                          std::int64_t empty) {
    auto const full = rows_.max_samples != 0 && packs_.size() - begin == rows_.max_samples;
    for (auto i = from; i < left_.size() && !full; ++i) {
      if (left_[i] == 0 || rows_.length[i] > room) continue;
      take(i);
      if (fill(first, i, begin, room - rows_.length[i], packs, empty)) return true;
      give_back(i);
      if (++nodes_ > most_nodes) return false;
    }
    if (room > empty || (!full && shortest_fits(room))) return false;
    ends_.push_back(packs_.size());
    if (pack_rest(first, packs - 1, empty - room)) return true;
    ends_.pop_back();
    return false;
  }
  [[nodiscard]] bool shortest_fits(std::int64_t room) const {
    auto i = left_.size();
    while (i > 0 && left_[i - 1] == 0) --i;
    return i > 0 && rows_.length[i - 1] <= room;
  }
  void take(std::size_t i) {
    --left_[i];
    packs_.push_back(static_cast<std::uint32_t>(i));
  }
  void give_back(std::size_t i) {
    ++left_[i];
    packs_.pop_back();
  }

  pattern_rows const& rows_;
  search_budget& budget_;
  std::vector<std::uint64_t> left_;
  std::set<std::vector<std::uint64_t>> failed_;
  std::vector<std::uint32_t> packs_;  // rows, pack after pack
  std::vector<std::size_t> ends_;
  std::uint64_t nodes_ = 0;
};

}  // namespace ballast::inline v0_2::detail
