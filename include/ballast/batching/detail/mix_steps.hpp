// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/split_packs.hpp>
#include <ballast/batching/detail/step_dealer.hpp>
#include <ballast/core/sort.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// The cost that a step can take without becoming slower.
struct step_slack {
  std::vector<std::int64_t> cost, most;  ///< for each place: its cost, and the cost up to which it does not slow the step by itself
  std::vector<std::int64_t> open;        ///< for each rank: the cost that can be added
  step_slack(std::size_t places, std::size_t ranks) : cost(places), most(places), open(ranks) {}
};
template <index_type Index>
void measure_slack(step_places<Index>& at, std::size_t d, step_slack& out) {
  constexpr auto infinite = (std::numeric_limits<std::int64_t>::max)();
  auto const rows = at.o.synchronisation == synchronisation::per_micro_batch;
  auto const warm_up = static_cast<std::int64_t>(at.width != 1 ? at.o.stages - 1 : 0);
  std::ranges::transform(at.step(d), out.cost.begin(), [&](Index p) { return at.cost_of(p); });
  for (std::size_t r = 0; r < at.ranks; ++r) {
    auto const mine = std::span(out.cost).subspan(r * at.each, at.each);
    auto const largest = *std::ranges::max_element(mine);
    out.open[r] = std::accumulate(mine.begin(), mine.end(), warm_up * largest);
    std::fill_n(out.most.begin() + static_cast<std::ptrdiff_t>(r * at.each), at.each, warm_up == 0 ? infinite : largest);
  }
  if (rows) {  // the largest cost of each row
    auto const& cost = out.cost;
    for (std::size_t p = 0; p < cost.size(); ++p) out.most[p] = p < at.each ? cost[p] : (std::max)(out.most[p - at.each], cost[p]);
    for (auto p = cost.size() - at.each; p-- > 0;) out.most[p] = out.most[p + at.each];
  }
  auto const slowest = *std::ranges::max_element(out.open);
  for (auto& open : out.open) open = rows ? infinite : slowest - open;
}
template <index_type Index>
[[nodiscard]] std::vector<Index> samples_of(step_places<Index>& at, std::initializer_list<std::size_t> steps) {
  std::vector<Index> samples;
  for (auto s : steps)
    for (auto p : at.step(s))
      if (p != at.plan.none) samples.insert(samples.end(), at.contents[p].begin(), at.contents[p].end());
  return samples;
}

/// Moves all samples of a step into packs of other steps that do not become slower, if there are any.
template <index_type Index>
[[nodiscard]] bool dissolve(step_places<Index>& at, std::size_t s) {
  auto samples = samples_of(at, {s});
  sort_by(samples, falling([&](Index i) { return at.items.tokens[i]; }));
  std::vector<std::pair<Index, Index>> moves;  // sample, pack
  step_slack slack(at.ranks * at.each, at.ranks);
  std::size_t next = 0;
  for (auto d = at.plan.steps(); d-- > 0 && next != samples.size();) {
    if (d == s) continue;
    measure_slack(at, d, slack);
    for (std::size_t p = 0; p < slack.cost.size() && next != samples.size(); ++p) {
      auto const pack = at.step(d)[p];
      if (pack == at.plan.none) continue;
      auto room = at.o.capacity - at.tokens_of(pack);
      auto& open = slack.open[p / at.each];
      for (; next != samples.size(); ++next) {
        auto const i = samples[next];
        if (at.items.tokens[i] > room || at.items.cost[i] > open || at.items.cost[i] > slack.most[p] - slack.cost[p]) break;
        moves.emplace_back(i, pack);
        room -= at.items.tokens[i];
        open -= at.items.cost[i];
        slack.cost[p] += at.items.cost[i];
      }
    }
  }
  if (next != samples.size()) return false;
  for (auto const& [sample, pack] : moves) at.contents[pack].push_back(sample);
  for (auto& p : at.step(s))
    if (p != at.plan.none) at.contents[std::exchange(p, at.plan.none)].clear();
  return true;
}

/// Deals the samples of a step that lacks samples, and of a neighbour of it, to both steps again. Afterwards `s` lacks samples.
template <index_type Index>
[[nodiscard]] bool deal_with_neighbour(step_places<Index>& at, std::size_t& s) {
  if (at.plan.steps() < 2 || at.width != 1) return false;
  auto const d = s > 0 ? s - 1 : s + 1;
  if (at.has_shared(d)) return false;
  auto const samples = samples_of(at, {s, d});
  auto const places = at.ranks * at.each;
  if (samples.size() < 2 * places) return false;
  constexpr std::array rules{deal_rule::longest_first, deal_rule::rate_mean};
  auto const rows = at.o.synchronisation == synchronisation::per_micro_batch;  // places are then balanced as ranks are otherwise
  step_dealer<Index> deal(at.items, rows ? 2 * places : 2 * at.ranks, rows ? 1 : at.each, at.o.capacity);
  deal(samples, rules);
  if (!deal.left().empty()) return false;
  for (std::size_t k = 0; k < 2 * places; ++k) {
    auto const got = rows ? deal.place(k, 0) : deal.place(k / at.each, k % at.each);
    auto const to = (k < places ? d : s) * places + k % places;
    if (at.plan.table[to] != at.plan.none) at.contents[at.plan.table[to]].clear();
    if (got.empty())
      at.plan.table[to] = at.plan.none;
    else if (at.plan.table[to] == at.plan.none)
      at.plan.table[to] = at.new_pack();
    if (!got.empty()) at.contents[at.plan.table[to]].assign(got.begin(), got.end());
  }
  auto const both = std::array{s, d};
  for (auto which : both) {
    split_inside(at, which, false);
    if (at.empty_slot(which) != at.none) s = which;  // the other step has too many samples to lack any
  }
  return at.empty_slot(s) == at.none;
}

}  // namespace ballast::inline v0_2::detail
