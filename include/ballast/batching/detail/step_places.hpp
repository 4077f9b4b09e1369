// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/items.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

// The places of a plan while they are being filled: what stands in them, and the changes inside one step.

namespace ballast::inline v0_2::detail {

/// A slot is a place, or a whole rank where ranks are pipelines, which may run different numbers of micro-batches. Samples shared by ranks
/// stay where they are.
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
  /// Leaves out steps that have become empty, and packs that have.
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
  /// An empty slot of the rank that has fewest packs: its place in the step, or none.
  [[nodiscard]] std::size_t empty_slot(std::size_t s) {
    auto best = none;
    auto fewest = width_ == 1 ? each_ : std::size_t{1};
    for (std::size_t r = 0; r < ranks_; ++r)
      if (auto const has = taken(s, r); has < fewest) {
        fewest = has;
        best = r;
      }
    return best == none ? none : first_free(s, best);
  }
  /// The empty slots of a step in the order in which they are filled: always one of the rank that has fewest packs.
  class open_slots {
   public:
    open_slots(step_places& of, std::size_t s) : of_(of), step_(s), full_(of.width_ == 1 ? of.each_ : std::size_t{1}) {
      for (std::size_t r = 0; r < of.ranks_; ++r)
        if (auto const has = of.taken(s, r); has < full_) ranks_.emplace(has, r);
    }
    [[nodiscard]] bool empty() const noexcept { return ranks_.empty(); }
    [[nodiscard]] std::size_t rank() const { return ranks_.begin()->second; }
    [[nodiscard]] bool idle() const { return ranks_.begin()->first == 0; }  ///< whether that rank has no pack
    /// Puts a pack there, and returns its place.
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
  [[nodiscard]] bool dearer(Index a, Index b) const { return items_.cost[a] != items_.cost[b] ? items_.cost[a] > items_.cost[b] : a < b; }

  [[nodiscard]] bool movable(Index p) const {
    return p != b_.none && std::none_of(contents_[p].begin(), contents_[p].end(), [&](Index i) { return bound_[i] != 0; });
  }

  /// Where a step has no more samples than places, each gets a pack of its own; false if it has more.
  bool separate(std::size_t s) {
    std::vector<Index> samples;
    for (auto p : step(s))
      if (p != b_.none) samples.insert(samples.end(), contents_[p].begin(), contents_[p].end());
    if (samples.size() > ranks_ * each_) return false;
    std::sort(samples.begin(), samples.end(), [&](Index a, Index b) { return dearer(a, b); });
    for (auto& p : step(s))
      if (p != b_.none) contents_[std::exchange(p, b_.none)].clear();
    for (std::size_t k = 0; k < samples.size(); ++k) {
      auto const row = k / ranks_, rank = row % 2 == 0 ? k % ranks_ : ranks_ - 1 - k % ranks_;
      auto const to = new_pack();
      contents_[to].push_back(samples[k]);
      step(s)[rank * each_ + row] = to;
    }
    return true;
  }

  /// Splits packs of a step until no slot is empty, or no rank, or nothing can be split. Packs of the same rank give half of what they
  /// hold; those of the most loaded rank give half to a rank that has nothing; else the cheapest sample of all is given.
  void split_inside(std::size_t s, bool ranks_only) {
    if (!ranks_only && width_ == 1 && !has_shared(s) && separate(s)) return;
    open_slots slots(*this, s);
    if (slots.empty()) return;
    auto const places = step(s);
    constexpr auto nobody = (std::numeric_limits<std::int64_t>::max)();
    using entry = std::tuple<std::int64_t, std::size_t, std::size_t>;  // what is least wanted first, the size inverted, the place
    std::vector<std::int64_t> loads(ranks_), least(places.size(), nobody);
    std::vector<entry> of_place(places.size()), of_rank(ranks_);
    std::set<entry> by_sample, by_load;  // places by their cheapest sample; the largest pack of each rank by the rank's load
    std::vector<char> sorted(contents_.size(), 0);
    auto const size_at = [&](std::size_t p) { return ~contents_[places[p]].size(); };
    auto const list_place = [&](std::size_t p) {
      by_sample.erase(of_place[p]);
      least[p] = can_give(places[p]) ? cheapest(places[p], sorted[places[p]] != 0) : nobody;
      if (least[p] != nobody) by_sample.insert(of_place[p] = {least[p], size_at(p), p});
    };
    auto const list_rank = [&](std::size_t r) {
      by_load.erase(of_rank[r]);
      entry best{-loads[r], 0, none};
      for (auto p = r * each_; p < (r + 1) * each_; ++p)
        if (least[p] != nobody && (std::get<2>(best) == none || size_at(p) < std::get<1>(best))) best = {-loads[r], size_at(p), p};
      if (std::get<2>(best) != none) by_load.insert(of_rank[r] = best);
    };
    for (std::size_t p = 0; p < places.size(); ++p) list_place(p);
    for (std::size_t r = 0; r < ranks_; ++r) {
      loads[r] = load(s, r);
      list_rank(r);
    }
    while (!slots.empty() && !(ranks_only && !slots.idle())) {
      auto const to = slots.rank();
      auto const idle = slots.idle();
      auto own = places.size();
      for (auto p = to * each_; p < (to + 1) * each_; ++p)
        if (least[p] != nobody && (own == places.size() || std::tuple(least[p], size_at(p)) < std::tuple(least[own], size_at(own))))
          own = p;
      auto const& others = idle ? by_load : by_sample;
      if (own == places.size() && others.empty()) return;
      auto const from = own != places.size() ? own : std::get<2>(*others.begin());
      auto const pack = new_pack();
      auto const at = slots.fill(pack);
      sorted.resize(contents_.size(), 1);
      auto const given = give(places[from], pack, own != places.size() || idle, sorted[places[from]]);
      loads[from / each_] -= given;
      loads[to] += given + o_.cost_per_micro_batch;
      for (auto p : {from, at}) list_place(p);
      for (auto q : {from / each_, to}) list_rank(q);
    }
  }
  /// The cost of the cheapest sample that is not bound; the last one where the pack is sorted.
  [[nodiscard]] std::int64_t cheapest(Index p, bool sorted) const {
    auto const& pack = contents_[p];
    if (sorted) return items_.cost[pack.back()];
    auto least = (std::numeric_limits<std::int64_t>::max)();
    for (auto i : pack)
      if (bound_[i] == 0) least = (std::min)(least, items_.cost[i]);
    return least;
  }
  /// Sorts `from`, bound samples first and then the most expensive, and gives half of it, or its last sample. Returns what that costs.
  std::int64_t give(Index from, Index to, bool half, char& sorted) {
    auto& source = contents_[from];
    auto& target = contents_[to];
    if (std::exchange(sorted, char{1}) == 0)
      std::sort(source.begin(), source.end(),
                [&](Index a, Index b) { return bound_[a] != bound_[b] ? bound_[a] > bound_[b] : dearer(a, b); });
    std::int64_t kept = 0, given = 0;
    if (half) {
      std::size_t stay = 0;
      for (auto const i : source) {
        auto const stays = bound_[i] != 0 || kept <= given;
        (stays ? kept : given) += items_.cost[i];
        if (stays)
          source[stay++] = i;
        else
          target.push_back(i);
      }
      source.resize(stay);
    }
    if (target.empty()) {  // one sample, or equal halves of something bound and one free sample
      target.push_back(source.back());
      source.pop_back();
      given = items_.cost[target.back()];
    }
    return given;
  }

  /// Gives the packs of a step to its ranks anew, dearest first to a rank that has fewest, unless their numbers differ by one at most.
  void spread(std::size_t s) {
    std::vector<std::pair<std::size_t, std::int64_t>> has(ranks_);
    for (std::size_t r = 0; r < ranks_; ++r) has[r].first = taken(s, r);
    auto const [few, many] = std::minmax_element(has.begin(), has.end());
    if (many->first - few->first < 2 || (width_ != 1 && few->first != 0)) return;
    std::vector<Index> free;
    for (auto& p : step(s))
      if (movable(p)) free.push_back(std::exchange(p, b_.none));
    std::sort(free.begin(), free.end(), [&](Index a, Index b) { return cost_of(a) != cost_of(b) ? cost_of(a) > cost_of(b) : a < b; });
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
  std::size_t width_;  ///< places of a slot
  std::vector<std::vector<Index>> contents_;
  std::vector<char> bound_;  ///< samples shared by ranks
};

}  // namespace ballast::inline v0_2::detail
