// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/items.hpp>
#include <ballast/core/keyed_item.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

// The places of a plan while they are being filled.

namespace ballast::inline v0_2::detail {

/// A slot is a place. Pipelines have more places than micro-batches: their slots are the places up to the largest number of micro-batches
/// of a rank or, if the numbers may differ, one slot of each rank. Samples shared by ranks stay in their places.
template <index_type Index>
class step_places {
 public:
  step_places(batching<Index>& b, weighed_samples const& items, batching_options const& o)
      : b_(b),
        items_(items),
        o_(o),
        ranks_(static_cast<std::size_t>(b.ranks)),
        each_(static_cast<std::size_t>(b.micro_batches)),
        width_(o.synchronisation == synchronisation::pipeline ? each_ : 1) {}

 protected:
  static constexpr auto none = static_cast<std::size_t>(-1);

  void read_packs() {
    contents_.resize(b_.packs.size());
    for (std::size_t p = 0; p < contents_.size(); ++p) contents_[p].assign(b_.packs[p].begin(), b_.packs[p].end());
    bound_.assign(items_.size(), 0);
    for (auto const& s : b_.shared) bound_[s.sample] = 1;
  }
  /// Removes steps and packs that have become empty.
  void write_back() {
    auto const places = ranks_ * each_;
    std::vector<std::uint64_t> now(b_.steps());
    std::size_t kept = 0;
    for (std::size_t s = 0; s < now.size(); ++s) {
      now[s] = kept;
      if (std::ranges::all_of(step(s), [&](Index p) { return p == b_.none; })) continue;
      if (kept != s) std::ranges::copy(step(s), step(kept).begin());
      ++kept;
    }
    b_.table.resize(kept * places);
    for (auto& x : b_.shared) x.step = now[x.step];
    std::vector<Index> number(contents_.size(), b_.none);
    b_.packs.clear();
    for (std::size_t p = 0; p < contents_.size(); ++p) {
      if (contents_[p].empty()) continue;
      number[p] = static_cast<Index>(b_.packs.size());
      b_.packs.push_back(contents_[p]);
    }
    for (auto& p : b_.table)
      if (p != b_.none) p = number[p];
  }

  [[nodiscard]] std::span<Index> step(std::size_t s) { return std::span(b_.table).subspan(s * ranks_ * each_, ranks_ * each_); }
  [[nodiscard]] std::size_t taken(std::size_t s, std::size_t r) {
    auto const mine = step(s).subspan(r * each_, each_);
    return each_ - static_cast<std::size_t>(std::count(mine.begin(), mine.end(), b_.none));
  }
  /// The number of micro-batches that each rank of a step should have.
  [[nodiscard]] std::size_t slots_of_rank(std::size_t s) {
    if (level_ != 0) return level_;
    if (width_ == 1) return each_;
    std::size_t most = 1;
    for (std::size_t r = 0; o_.equal_micro_batches && r < ranks_; ++r) most = (std::max)(most, taken(s, r));
    return most;
  }
  /// The place in the step of an empty slot of the rank with fewest packs, or none.
  [[nodiscard]] std::size_t empty_slot(std::size_t s) {
    auto best = none;
    auto fewest = slots_of_rank(s);
    for (std::size_t r = 0; r < ranks_; ++r)
      if (auto const has = taken(s, r); has < fewest) {
        fewest = has;
        best = r;
      }
    return best == none ? none : first_free(s, best);
  }
  /// The empty slots of a step, in the order in which they are filled: always a slot of the rank with fewest packs.
  class open_slots {
   public:
    open_slots(step_places& of, std::size_t s) : of_(of), step_(s), full_(of.slots_of_rank(s)) {
      for (std::size_t r = 0; r < of.ranks_; ++r)
        if (auto const has = of.taken(s, r); has < full_) ranks_.emplace(has, r);
    }
    [[nodiscard]] bool empty() const noexcept { return ranks_.empty(); }
    [[nodiscard]] std::size_t rank() const { return ranks_.begin()->second; }
    [[nodiscard]] bool idle() const { return ranks_.begin()->first == 0; }  ///< whether that rank has no pack
    /// Puts a pack into the next slot, and returns its place.
    std::size_t fill(Index pack) {
      auto const [has, r] = *ranks_.begin();
      ranks_.erase(ranks_.begin());
      if (has + 1 < full_) ranks_.emplace(has + 1, r);
      auto const at = of_.first_free(step_, r);
      of_.step(step_)[at] = pack;
      return at;
    }

   private:
    step_places& of_;
    std::size_t step_, full_;
    std::set<std::pair<std::size_t, std::size_t>> ranks_;  // packs, rank
  };

  [[nodiscard]] std::size_t first_free(std::size_t s, std::size_t r) {
    auto const at = step(s);
    auto place = r * each_;
    while (at[place] != b_.none) ++place;
    return place;
  }
  [[nodiscard]] std::int64_t cost_of(Index p) const {
    if (p == b_.none) return 0;
    auto sum = o_.cost_per_micro_batch;
    for (auto i : contents_[p]) sum += items_.cost[i];
    return sum;
  }
  [[nodiscard]] std::int64_t tokens_of(Index p) const {
    std::int64_t sum = 0;
    for (auto i : contents_[p]) sum += items_.tokens[i];
    return sum;
  }
  [[nodiscard]] std::int64_t load(std::size_t s, std::size_t r) {
    std::int64_t sum = 0;
    for (auto p : step(s).subspan(r * each_, each_)) sum += cost_of(p);
    return sum;
  }
  [[nodiscard]] bool can_give(Index p) const {
    return p != b_.none && contents_[p].size() > 1 &&
           std::any_of(contents_[p].begin(), contents_[p].end(), [&](Index i) { return bound_[i] == 0; });
  }
  [[nodiscard]] bool has_shared(std::size_t s) const {
    return std::any_of(b_.shared.begin(), b_.shared.end(), [&](auto const& x) { return x.step == s; });
  }
  Index new_pack() {
    contents_.emplace_back();
    return static_cast<Index>(contents_.size() - 1);
  }
  [[nodiscard]] bool costs_more(Index a, Index b) const {
    return items_.cost[a] != items_.cost[b] ? items_.cost[a] > items_.cost[b] : a < b;
  }

  [[nodiscard]] bool movable(Index p) const {
    return p != b_.none && std::none_of(contents_[p].begin(), contents_[p].end(), [&](Index i) { return bound_[i] != 0; });
  }

  /// Distributes the packs of a step over its ranks again, unless their numbers of packs differ by at most one: each pack, most expensive
  /// first, goes to a rank with fewest packs.
  void spread(std::size_t s) {
    std::vector<std::pair<std::size_t, std::int64_t>> has(ranks_);
    for (std::size_t r = 0; r < ranks_; ++r) has[r].first = taken(s, r);
    auto const [few, many] = std::minmax_element(has.begin(), has.end());
    if (many->first - few->first < 2 || (width_ != 1 && few->first != 0 && level_ == 0)) return;
    std::vector<Index> free;
    for (auto& p : step(s))
      if (movable(p)) free.push_back(std::exchange(p, b_.none));
    sort_by(free, [&](Index a, Index b) { return cost_of(a) != cost_of(b) ? cost_of(a) > cost_of(b) : a < b; });
    for (std::size_t r = 0; r < ranks_; ++r) has[r] = {taken(s, r), load(s, r)};
    for (auto p : free) {
      auto const r = static_cast<std::size_t>(std::min_element(has.begin(), has.end()) - has.begin());
      step(s)[first_free(s, r)] = p;
      ++has[r].first;
      has[r].second += cost_of(p);
    }
  }

  batching<Index>& b_;
  weighed_samples const& items_;
  batching_options const& o_;
  std::size_t ranks_, each_;
  std::size_t width_;      ///< number of places of a slot
  std::size_t level_ = 0;  ///< if not 0, the number of slots of each rank
  std::vector<std::vector<Index>> contents_;
  std::vector<char> bound_;  ///< whether each sample is shared by ranks
};

}  // namespace ballast::inline v0_2::detail
