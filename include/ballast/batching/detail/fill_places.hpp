// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/mix_steps.hpp>
#include <ballast/batching/detail/split_packs.hpp>
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/batching/detail/step_places.hpp>
#include <ballast/core/sort.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

// Fills empty places after all samples were placed, so that no rank is without work.

namespace ballast::inline v0_2::detail {

/// Moves packs of later incomplete steps into empty slots of earlier ones, until one is left, or only steps with shared samples are.
template <index_type Index>
void put_together(step_places<Index>& at, std::vector<std::size_t>& lacking) {
  std::size_t from = lacking.size(), next = 0;
  for (std::size_t to = 0; to + 1 < from; ++to)
    for (open_slots slots(at, lacking[to]); to + 1 < from && !slots.empty();) {
      auto const source = at.step(lacking[from - 1]);
      while (next < source.size() && !at.movable(source[next])) ++next;
      if (next == source.size()) {
        --from;
        next = 0;
      } else {
        slots.fill(std::exchange(source[next], at.plan.none));
      }
    }
  std::erase_if(lacking, [&](std::size_t s) {
    return at.empty_slot(s) == at.none || std::ranges::all_of(at.step(s), [&](Index p) { return p == at.plan.none; });
  });
  std::partition(lacking.begin(), lacking.end(), [&](std::size_t s) { return !at.has_shared(s); });
}

/// Fills each empty slot with one sample, taken from a pack with several samples on the most loaded rank of each other step in turn. The
/// sample whose cost is nearest to the mean is taken, so that the step resembles a random one.
template <index_type Index>
void take_from_others(step_places<Index>& at, std::size_t s) {
  open_slots slots(at, s);
  auto const mean = at.items.all_cost / static_cast<std::int64_t>(at.items.size());
  auto const off = [&](Index i) { return at.items.cost[i] > mean ? at.items.cost[i] - mean : mean - at.items.cost[i]; };
  std::map<Index, std::vector<Index>> free;  // samples that each giving pack can still give, the next one last
  std::vector<std::size_t> kept(at.items.size(), 0);
  std::vector<std::size_t> given(at.contents.size(), 0);
  auto const gives = [&](Index p) {
    if (p == at.plan.none || given[p] == 0) return at.can_give(p);
    return given[p] + 1 < at.contents[p].size() && !free[p].empty();
  };
  using ranks_by_load = std::set<std::pair<std::int64_t, std::size_t>>;  // negative load, rank
  std::vector<std::optional<ranks_by_load>> donors(at.plan.steps());
  auto const giver_of = [&](std::size_t d, std::size_t r) {  // the first pack of the rank that can give a sample, or at.none
    auto const mine = at.step(d).subspan(r * at.each, at.each);
    auto const it = std::find_if(mine.begin(), mine.end(), gives);
    return it == mine.end() ? at.plan.none : *it;
  };
  std::size_t failed = 0;
  for (auto d = s; failed < at.plan.steps() && !slots.empty();) {
    d = (d + at.plan.steps() - 1) % at.plan.steps();
    ++failed;
    if (!donors[d]) {
      donors[d].emplace();
      auto const ranks = d != s && at.empty_slot(d) == at.none ? at.ranks : 0;
      for (std::size_t r = 0; r < ranks; ++r)
        if (giver_of(d, r) != at.plan.none) donors[d]->emplace(-at.load(d, r), r);
    }
    if (donors[d]->empty()) continue;
    failed = 0;
    auto const [negative, r] = *donors[d]->begin();
    donors[d]->erase(donors[d]->begin());
    auto const pack = giver_of(d, r);
    auto& nearest = free[pack];
    if (given[pack]++ == 0) {
      std::ranges::copy_if(at.contents[pack], std::back_inserter(nearest), [&](Index i) { return at.bound[i] == 0; });
      sort_by(nearest, [&](Index a, Index b) { return off(a) != off(b) ? off(a) > off(b) : a > b; });
    }
    auto const sample = nearest.back();
    nearest.pop_back();
    if (giver_of(d, r) != at.plan.none) donors[d]->emplace(negative + at.items.cost[sample], r);
    slots.fill(at.new_pack());
    at.contents.back().push_back(sample);
    given.push_back(0);
  }
  for (auto const& [pack, rest] : free) {  // a sample that is repeated may be in several packs: each keeps the rest of its own
    for (auto i : rest) ++kept[i];
    std::erase_if(at.contents[pack], [&](Index i) {
      if (at.bound[i] != 0 || kept[i] == 0) return at.bound[i] == 0;
      --kept[i];
      return false;
    });
  }
}

template <index_type Index>
void drop_step(step_places<Index>& at, std::size_t s) {
  for (auto& p : at.step(s)) {
    if (p == at.plan.none) continue;
    at.plan.dropped.insert(at.plan.dropped.end(), at.contents[p].begin(), at.contents[p].end());
    at.contents[p].clear();
    p = at.plan.none;
  }
  std::erase_if(at.plan.shared, [&](auto const& x) { return x.step == s; });
  std::sort(at.plan.dropped.begin(), at.plan.dropped.end());
  at.plan.dropped.erase(std::unique(at.plan.dropped.begin(), at.plan.dropped.end()), at.plan.dropped.end());
}
template <index_type Index>
void fill_with_copies(step_places<Index>& at, std::size_t s) {
  repeat_budget budget(at.items, at.o);
  open_slots slots(at, s);
  std::vector<Index> chosen(at.contents.size(), at.plan.none);  // the cheapest sample of each pack that is not shared
  for (std::size_t p = 0; p < chosen.size(); ++p)
    for (auto i : at.contents[p])
      if (at.bound[i] == 0 && (chosen[p] == at.plan.none || at.costs_more(chosen[p], i))) chosen[p] = i;
  std::size_t failed = 0;
  for (std::size_t k = 0; !slots.empty() && failed < at.plan.table.size(); k = (k + 1) % at.plan.table.size()) {
    ++failed;
    if (at.plan.table[k] == at.plan.none || chosen[at.plan.table[k]] == at.plan.none) continue;
    auto const sample = chosen[at.plan.table[k]];
    budget.take(sample);
    failed = 0;
    slots.fill(at.new_pack());
    at.contents.back().push_back(sample);
    chosen.push_back(sample);
    at.plan.repeated.push_back(sample);
  }
  std::sort(at.plan.repeated.begin(), at.plan.repeated.end());
}

/// Makes the incomplete step the last one, and applies `left_over` to it.
template <index_type Index>
void settle(step_places<Index>& at, std::size_t s) {
  auto const places = at.ranks * at.each;
  std::rotate(at.plan.table.begin() + static_cast<std::ptrdiff_t>(s * places),
              at.plan.table.begin() + static_cast<std::ptrdiff_t>((s + 1) * places), at.plan.table.end());
  auto const last = at.plan.steps() - 1;
  for (auto& x : at.plan.shared) x.step = x.step == s ? last : x.step > s ? x.step - 1 : x.step;
  if (at.o.left_over == left_over::drop) return drop_step(at, last);
  if (at.o.left_over == left_over::split) take_from_others(at, last);
  if (at.o.left_over == left_over::repeat) fill_with_copies(at, last);
  if (at.empty_slot(last) != at.none) at.spread(last);
  if (at.o.left_over == left_over::shorten) split_inside(at, last, true);  // its packs may have moved to other steps
  even_out(at, last);
}

/// Fills empty places. First, packs are split within the step. Steps that still have empty slots are then merged, dissolved into room of
/// other steps, or dealt again together with a full step. If such a step remains, it becomes the last step: as `left_over` says, samples of
/// full steps move there, copies fill it, or it is dropped; otherwise its packs are spread evenly over the ranks and, if ranks must have
/// equal numbers of packs, split or merged.
/// @return whether anything changed
template <index_type Index>
bool fill_places(batching<Index>& b, weighed_samples const& items, batching_options const& o, mixing how) {
  if (b.packs.empty()) return false;
  step_places<Index> at(b, items, o, how);
  std::vector<std::size_t> lacking;
  for (std::size_t s = 0; s < at.plan.steps(); ++s)
    if (at.empty_slot(s) != at.none) lacking.push_back(s);
  if (lacking.empty()) return false;
  at.read_packs();
  for (auto s : lacking) split_inside(at, s, at.o.left_over == left_over::shorten && s + 1 == at.plan.steps());
  std::erase_if(lacking, [&](std::size_t s) { return at.empty_slot(s) == at.none; });
  put_together(at, lacking);
  auto const mixed = at.mix && !lacking.empty() && !at.has_shared(lacking.front()) &&
                     (dissolve(at, lacking.front()) || deal_with_neighbour(at, lacking.front()));
  if (lacking.size() > 1)  // the last step may have been split for its ranks alone
    for (auto s : lacking)
      if (at.has_shared(s) || at.o.left_over == left_over::shorten) split_inside(at, s, false);
  for (std::size_t k = 1; k < lacking.size(); ++k) {
    take_from_others(at, lacking[k]);
    even_out(at, lacking[k]);
  }
  if (!lacking.empty() && !mixed) settle(at, lacking.front());
  at.write_back();
  return true;
}

}  // namespace ballast::inline v0_2::detail
