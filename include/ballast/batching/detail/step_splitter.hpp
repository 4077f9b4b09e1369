// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/step_places.hpp>
#include <ballast/core/keyed_item.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Splits packs of a step that has empty slots.
template <index_type Index>
class step_splitter : protected step_places<Index> {
 public:
  using step_places<Index>::step_places;

 protected:
  using base = step_places<Index>;
  using base::b_, base::items_, base::o_, base::ranks_, base::each_, base::width_, base::level_, base::contents_, base::bound_, base::none;
  using base::can_give, base::has_shared, base::new_pack, base::costs_more, base::step, base::load;
  using typename base::open_slots;

  /// If a step has no more samples than places, puts each sample into its own pack; returns false if it has more.
  bool separate(std::size_t s) {
    std::vector<Index> samples;
    for (auto p : step(s))
      if (p != b_.none) samples.insert(samples.end(), contents_[p].begin(), contents_[p].end());
    if (samples.size() > ranks_ * each_) return false;
    sort_by(samples, [&](Index a, Index b) { return costs_more(a, b); });
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

  /// Splits packs of a step until no slot is empty (or no rank, if that is enough), or nothing can be split. A pack of the same rank gives
  /// half of its samples; for a rank without a pack, a pack of the most loaded rank gives half; otherwise the cheapest sample of all is
  /// given.
  void split_inside(std::size_t s, bool ranks_only) {
    if (!ranks_only && width_ == 1 && level_ == 0 && !has_shared(s) && separate(s)) return;
    open_slots slots(*this, s);
    if (slots.empty()) return;
    for (givers from(*this, s); !slots.empty() && !(ranks_only && !slots.idle());)
      if (!from.fill_next(slots)) return;
  }

 private:
  /// The packs of a step that can be split, best first.
  class givers {
   public:
    givers(step_splitter& of, std::size_t s)
        : of_(of),
          places_(of.step(s)),
          loads_(of.ranks_),
          least_(places_.size(), nobody),
          of_place_(places_.size()),
          of_rank_(of.ranks_),
          sorted_(of.contents_.size(), 0) {
      for (std::size_t p = 0; p < places_.size(); ++p) list_place(p);
      for (std::size_t r = 0; r < loads_.size(); ++r) {
        loads_[r] = of.load(s, r);
        list_rank(r);
      }
    }
    /// Splits a pack into the next empty slot; returns false if no pack can be split.
    bool fill_next(open_slots& slots) {
      auto const to = slots.rank();
      auto const idle = slots.idle();
      auto const mine = best_of(to);
      auto const& others = idle ? by_load_ : by_sample_;
      if (mine == none && others.empty()) return false;
      auto const from = mine != none ? mine : std::get<2>(*others.begin());
      auto const pack = of_.new_pack();
      auto const at = slots.fill(pack);
      sorted_.resize(of_.contents_.size(), 1);
      auto const given = of_.give(places_[from], pack, mine != none || idle, sorted_[places_[from]]);
      loads_[from / of_.each_] -= given;
      loads_[to] += given + of_.o_.cost_per_micro_batch;
      for (auto p : {from, at}) list_place(p);
      for (auto r : {from / of_.each_, to}) list_rank(r);
      return true;
    }

   private:
    static constexpr auto nobody = (std::numeric_limits<std::int64_t>::max)();
    using entry = std::tuple<std::int64_t, std::size_t, std::size_t>;  // the key, smallest first; the size, negated; the place

    [[nodiscard]] std::size_t size_at(std::size_t p) const { return ~of_.contents_[places_[p]].size(); }
    /// The place of a rank whose cheapest sample costs least, or none.
    [[nodiscard]] std::size_t best_of(std::size_t r) const {
      auto best = none;
      for (auto p = r * of_.each_; p < (r + 1) * of_.each_; ++p)
        if (least_[p] != nobody && (best == none || std::tuple(least_[p], size_at(p)) < std::tuple(least_[best], size_at(best)))) best = p;
      return best;
    }
    void list_place(std::size_t p) {
      by_sample_.erase(of_place_[p]);
      least_[p] = of_.can_give(places_[p]) ? of_.cheapest(places_[p], sorted_[places_[p]] != 0) : nobody;
      if (least_[p] != nobody) by_sample_.insert(of_place_[p] = {least_[p], size_at(p), p});
    }
    void list_rank(std::size_t r) {
      by_load_.erase(of_rank_[r]);
      entry best{-loads_[r], 0, none};
      for (auto p = r * of_.each_; p < (r + 1) * of_.each_; ++p)
        if (least_[p] != nobody && (std::get<2>(best) == none || size_at(p) < std::get<1>(best))) best = {-loads_[r], size_at(p), p};
      if (std::get<2>(best) != none) by_load_.insert(of_rank_[r] = best);
    }

    step_splitter& of_;
    std::span<Index const> places_;
    std::vector<std::int64_t> loads_, least_;  ///< load of each rank; cheapest sample of each place
    std::vector<entry> of_place_, of_rank_;
    std::set<entry> by_sample_, by_load_;  ///< places by their cheapest sample; the largest pack of each rank by the rank's load
    std::vector<char> sorted_;             ///< whether the samples of each pack are sorted
  };

  /// The cost of the cheapest sample that is not shared; the last sample if the pack is sorted.
  [[nodiscard]] std::int64_t cheapest(Index p, bool sorted) const {
    auto const& pack = contents_[p];
    if (sorted) return items_.cost[pack.back()];
    auto least = (std::numeric_limits<std::int64_t>::max)();
    for (auto i : pack)
      if (bound_[i] == 0) least = (std::min)(least, items_.cost[i]);
    return least;
  }
  /// Sorts `from`, shared samples first, then by cost, most expensive first, and gives half of it, or its last sample. Returns the cost of
  /// the given samples.
  std::int64_t give(Index from, Index to, bool half, char& sorted) {
    auto& source = contents_[from];
    auto& target = contents_[to];
    if (std::exchange(sorted, char{1}) == 0)
      sort_by(source, [&](Index a, Index b) { return bound_[a] != bound_[b] ? bound_[a] > bound_[b] : costs_more(a, b); });
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
    if (target.empty()) {  // only one sample can be given
      target.push_back(source.back());
      source.pop_back();
      given = items_.cost[target.back()];
    }
    return given;
  }
};

}  // namespace ballast::inline v0_2::detail
