// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/step_places.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

// Splits the packs of a step, or merges them, until its ranks have what they should.

namespace ballast::inline v0_2::detail {

/// The cost of the cheapest sample that is not shared; the last sample if the pack is sorted.
template <index_type Index>
[[nodiscard]] std::int64_t cheapest_of(step_places<Index> const& at, Index p, bool sorted) {
  auto const& pack = at.contents[p];
  if (sorted) return at.items.cost[pack.back()];
  auto least = (std::numeric_limits<std::int64_t>::max)();
  for (auto i : pack)
    if (at.bound[i] == 0) least = (std::min)(least, at.items.cost[i]);
  return least;
}
/// Sorts `from`, shared samples first, then by cost, most expensive first, and gives half of it, or its last sample. Returns the cost of
/// the given samples.
template <index_type Index>
std::int64_t give_samples(step_places<Index>& at, Index from, Index to, bool half, char& sorted) {
  auto& source = at.contents[from];
  auto& target = at.contents[to];
  if (std::exchange(sorted, char{1}) == 0)
    sort_by(source, [&](Index a, Index b) { return at.bound[a] != at.bound[b] ? at.bound[a] > at.bound[b] : at.costs_more(a, b); });
  std::int64_t kept = 0, given = 0;
  if (half) {
    std::size_t stay = 0;
    for (auto const i : source) {
      auto const stays = at.bound[i] != 0 || kept <= given;
      (stays ? kept : given) += at.items.cost[i];
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
    given = at.items.cost[target.back()];
  }
  return given;
}

/// The packs of a step that can be split, best first.
template <index_type Index>
class pack_givers {
 public:
  pack_givers(step_places<Index>& of, std::size_t s)
      : of_(of),
        places_(of.step(s)),
        loads_(of.ranks),
        least_(places_.size(), nobody),
        of_place_(places_.size()),
        of_rank_(of.ranks),
        sorted_(of.contents.size(), 0) {
    for (std::size_t p = 0; p < places_.size(); ++p) list_place(p);
    for (std::size_t r = 0; r < loads_.size(); ++r) {
      loads_[r] = of.load(s, r);
      list_rank(r);
    }
  }
  /// Splits a pack into the next empty slot; returns false if no pack can be split.
  bool fill_next(open_slots<Index>& slots) {
    auto const to = slots.rank();
    auto const idle = slots.idle();
    auto const mine = best_of(to);
    auto const& others = idle ? by_load_ : by_sample_;
    if (mine == of_.none && others.empty()) return false;
    auto const from = mine != of_.none ? mine : std::get<2>(*others.begin());
    auto const pack = of_.new_pack();
    auto const at = slots.fill(pack);
    sorted_.resize(of_.contents.size(), 1);
    auto const given = give_samples(of_, places_[from], pack, mine != of_.none || idle, sorted_[places_[from]]);
    loads_[from / of_.each] -= given;
    loads_[to] += given + of_.o.cost_per_micro_batch;
    for (auto p : {from, at}) list_place(p);
    for (auto r : {from / of_.each, to}) list_rank(r);
    return true;
  }

 private:
  static constexpr auto nobody = (std::numeric_limits<std::int64_t>::max)();
  using entry = std::tuple<std::int64_t, std::size_t, std::size_t>;  // the key, smallest first; the size, negated; the place

  [[nodiscard]] std::size_t size_at(std::size_t p) const { return ~of_.contents[places_[p]].size(); }
  /// The place of a rank whose cheapest sample costs least, or of_.none.
  [[nodiscard]] std::size_t best_of(std::size_t r) const {
    auto best = of_.none;
    for (auto p = r * of_.each; p < (r + 1) * of_.each; ++p)
      if (least_[p] != nobody && (best == of_.none || std::tuple(least_[p], size_at(p)) < std::tuple(least_[best], size_at(best))))
        best = p;
    return best;
  }
  void list_place(std::size_t p) {
    by_sample_.erase(of_place_[p]);
    least_[p] = of_.can_give(places_[p]) ? cheapest_of(of_, places_[p], sorted_[places_[p]] != 0) : nobody;
    if (least_[p] != nobody) by_sample_.insert(of_place_[p] = {least_[p], size_at(p), p});
  }
  void list_rank(std::size_t r) {
    by_load_.erase(of_rank_[r]);
    entry best{-loads_[r], 0, of_.none};
    for (auto p = r * of_.each; p < (r + 1) * of_.each; ++p)
      if (least_[p] != nobody && (std::get<2>(best) == of_.none || size_at(p) < std::get<1>(best))) best = {-loads_[r], size_at(p), p};
    if (std::get<2>(best) != of_.none) by_load_.insert(of_rank_[r] = best);
  }

  step_places<Index>& of_;
  std::span<Index const> places_;
  std::vector<std::int64_t> loads_, least_;  ///< load of each rank; cheapest sample of each place
  std::vector<entry> of_place_, of_rank_;
  std::set<entry> by_sample_, by_load_;  ///< places by their cheapest sample; the largest pack of each rank by the rank's load
  std::vector<char> sorted_;             ///< whether the samples of each pack are sorted
};

/// If a step has no more samples than places, puts each sample into its own pack; returns false if it has more.
template <index_type Index>
bool separate(step_places<Index>& at, std::size_t s) {
  std::vector<Index> samples;
  for (auto p : at.step(s))
    if (p != at.plan.none) samples.insert(samples.end(), at.contents[p].begin(), at.contents[p].end());
  if (samples.size() > at.ranks * at.each) return false;
  sort_by(samples, [&](Index a, Index b) { return at.costs_more(a, b); });
  for (auto& p : at.step(s))
    if (p != at.plan.none) at.contents[std::exchange(p, at.plan.none)].clear();
  for (std::size_t k = 0; k < samples.size(); ++k) {
    auto const row = k / at.ranks, rank = row % 2 == 0 ? k % at.ranks : at.ranks - 1 - k % at.ranks;
    auto const to = at.new_pack();
    at.contents[to].push_back(samples[k]);
    at.step(s)[rank * at.each + row] = to;
  }
  return true;
}

/// Splits packs of a step until no slot is empty (or no rank, if that is enough), or nothing can be split. A pack of the same rank gives
/// half of its samples; for a rank without a pack, a pack of the most loaded rank gives half; otherwise the cheapest sample is given.
template <index_type Index>
void split_inside(step_places<Index>& at, std::size_t s, bool ranks_only) {
  if (!ranks_only && at.width == 1 && at.level == 0 && !at.has_shared(s) && separate(at, s)) return;
  open_slots slots(at, s);
  if (slots.empty()) return;
  for (pack_givers from(at, s); !slots.empty() && !(ranks_only && !slots.idle());)
    if (!from.fill_next(slots)) return;
}

/// The pack that all samples of a pack were in before packs were split, or none if they were in several.
template <index_type Index>
[[nodiscard]] Index former_pack(step_places<Index>& at, Index p) {
  if (at.origin.empty()) {
    at.origin.resize(at.items.size());
    for (std::size_t q = 0; q < at.plan.packs.size(); ++q)
      for (auto i : at.plan.packs[q]) at.origin[i] = static_cast<Index>(q);
  }
  auto const first = at.origin[at.contents[p].front()];
  return std::ranges::all_of(at.contents[p], [&](Index i) { return at.origin[i] == first; }) ? first : at.plan.none;
}

/// Merges packs, lightest first, until there are `count` fewer. Returns whether that was possible; otherwise nothing has changed.
template <index_type Index>
[[nodiscard]] bool merge_packs(step_places<Index>& at, std::size_t s, std::size_t count) {
  std::vector<keyed_item<Index>> lightest_first;
  for (auto p : at.step(s))
    if (p != at.plan.none) lightest_first.push_back({-at.tokens_of(p), p});
  std::sort(lightest_first.begin(), lightest_first.end());
  std::vector<std::pair<std::int64_t, std::int64_t>> size;               // tokens and cost of each
  std::map<Index, std::set<std::pair<std::int64_t, std::size_t>>> open;  // by former pack: costs of packs that may take others
  auto const group_of = [&](Index p) { return at.mix ? Index{0} : former_pack(at, p); };
  for (auto const& [tokens, p] : lightest_first) {
    if (auto const group = group_of(p); group != at.plan.none) open[group].emplace(at.cost_of(p), size.size());
    size.emplace_back(-tokens, at.cost_of(p));
  }
  std::vector<Index> into(at.contents.size(), at.plan.none);
  for (std::size_t from = 0; from < size.size() && count != 0; ++from) {
    auto const p = lightest_first[from].item;
    auto& others = open[group_of(p)];
    if (into[p] != at.plan.none) continue;
    others.erase({size[from].second, from});
    // What has no room now has none for a heavier pack. Where nothing has, none of these has room in this pack either.
    while (!others.empty() && size[others.begin()->second].first + size[from].first > at.o.capacity) others.erase(others.begin());
    if (others.empty()) continue;
    auto const best = others.extract(others.begin()).value().second;
    into[p] = into[lightest_first[best].item] = lightest_first[best].item;  // which takes another, and so stays
    size[best].first += size[from].first;
    others.emplace(size[best].second += size[from].second, best);
    --count;
  }
  if (count != 0) return false;
  for (auto& p : at.step(s))
    if (p != at.plan.none && into[p] != at.plan.none && into[p] != p) {
      auto const samples = std::exchange(at.contents[p], {});
      auto& target_of = at.contents[into[std::exchange(p, at.plan.none)]];
      target_of.insert(target_of.end(), samples.begin(), samples.end());
    }
  return true;
}

/// Splits packs until all ranks have the largest number of packs of any rank. If there are too few samples for that, packs are merged
/// until one pack fewer for each rank is left; if they do not fit, the step stays unequal. In a step with shared samples, which keep
/// their ranks, packs are only split.
template <index_type Index>
void even_out(step_places<Index>& at, std::size_t s) {
  if (!at.o.equal_micro_batches) return;
  std::size_t packs = 0, samples = 0, most = 0;
  for (std::size_t r = 0; r < at.ranks; ++r) most = (std::max)(most, at.taken(s, r));
  for (auto p : at.step(s))
    if (p != at.plan.none) {
      auto const bound = static_cast<std::size_t>(std::ranges::count_if(at.contents[p], [&](Index i) { return at.bound[i] != 0; }));
      ++packs;
      samples += at.contents[p].size() - (bound > 1 ? bound - 1 : 0);
    }
  auto const held = at.has_shared(s);
  at.level = held ? most : divide_up(packs, at.ranks);
  if (!held) at.spread(s);
  if (packs != at.level * at.ranks && samples >= at.level * at.ranks) split_inside(at, s, false);
  if (packs != at.level * at.ranks && samples < at.level * at.ranks && !held && at.level > 1 &&
      merge_packs(at, s, packs - (at.level - 1) * at.ranks)) {
    --at.level;
    at.spread(s);
  }
  at.level = 0;
}

}  // namespace ballast::inline v0_2::detail
