// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/split_packs.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Whether the samples of two packs were in one pack before packs were split.
template <index_type Index>
[[nodiscard]] bool from_one_pack(step_places<Index>& at, Index a, Index b) {
  if (at.origin.empty()) {
    at.origin.resize(at.items.size());
    for (std::size_t p = 0; p < at.plan.packs.size(); ++p)
      for (auto i : at.plan.packs[p]) at.origin[i] = static_cast<Index>(p);
  }
  auto const first = at.origin[at.contents[a].front()];
  auto const same = [&](Index i) { return at.origin[i] == first; };
  return std::ranges::all_of(at.contents[a], same) && std::ranges::all_of(at.contents[b], same);
}

/// Merges packs, lightest first, until there are `count` fewer. Returns whether that was possible; otherwise nothing has changed.
template <index_type Index>
[[nodiscard]] bool merge_packs(step_places<Index>& at, std::size_t s, std::size_t count) {
  struct pack {
    std::int64_t tokens, cost;
    Index number, into;
  };
  std::vector<keyed_item<Index>> lightest_first;
  for (auto p : at.step(s))
    if (p != at.plan.none) lightest_first.push_back({-at.tokens_of(p), p});
  std::sort(lightest_first.begin(), lightest_first.end());
  std::vector<pack> packs;
  for (auto const& [tokens, p] : lightest_first) packs.push_back({-tokens, at.cost_of(p), p, at.plan.none});
  std::vector<char> target(packs.size(), 0);
  for (std::size_t from = 0; from < packs.size() && count != 0; ++from) {
    if (target[from] != 0) continue;
    auto best = packs.size();
    for (std::size_t to = 0; to < packs.size(); ++to)
      if (to != from && packs[to].into == at.plan.none && packs[to].tokens + packs[from].tokens <= at.o.capacity &&
          (at.mix || from_one_pack(at, packs[to].number, packs[from].number)) &&
          (best == packs.size() || packs[to].cost < packs[best].cost))
        best = to;
    if (best == packs.size()) continue;
    packs[from].into = packs[best].number;
    packs[best].tokens += packs[from].tokens;
    packs[best].cost += packs[from].cost;
    target[best] = 1;
    --count;
  }
  if (count != 0) return false;
  for (auto& p : at.step(s))
    for (auto const& x : packs)
      if (x.number == p && x.into != at.plan.none) {
        auto const samples = std::exchange(at.contents[p], {});
        at.contents[x.into].insert(at.contents[x.into].end(), samples.begin(), samples.end());
        p = at.plan.none;
        break;
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
