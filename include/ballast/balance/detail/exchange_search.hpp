// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/dealt_sets.hpp>
#include <ballast/balance/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Lowers the largest load: in each round, the set with it exchanges items with one of those with the least. Ends when the largest load is
/// at most `enough`, or no exchange helps.
///
/// `load(s)` is the load of a set. `least(x, y)` is a load that no exchange of x and y goes below. `attempt(x, y, best)` tries exchanges of
/// x and y: it lowers `best`, the larger of both loads afterwards, and remembers the exchange. `perform(x)` makes the last one remembered,
/// or returns false, which ends the search.
/// `by_load` lists the sets, least loaded first; a round moves two of them, instead of comparing all.
template <class Load, class Least, class Attempt, class Perform>
void search_exchanges(std::size_t sets, refinement const& how, std::int64_t enough, std::vector<std::uint32_t>& by_load, Load const& load,
                      Least const& least, Attempt const& attempt, Perform const& perform) {
  auto const before = [&](std::uint32_t a, std::uint32_t b) { return load(a) != load(b) ? load(a) < load(b) : a < b; };
  by_load.resize(sets);
  std::iota(by_load.begin(), by_load.end(), std::uint32_t{0});
  if (load(*std::ranges::max_element(by_load, {}, load)) <= enough) return;
  std::sort(by_load.begin(), by_load.end(), before);
  auto const partners = how.partners != 0 ? (std::min)(how.partners, std::uint64_t{sets - 1}) : sets - 1;
  for (auto rounds = how.rounds != 0 ? how.rounds : 3 * std::uint64_t{sets}; rounds > 0; --rounds) {
    auto const most = load(by_load.back());
    if (most <= enough) return;
    auto const x = std::ranges::lower_bound(by_load, most, {}, load);
    auto y = x;
    auto best = most;
    auto left = partners;
    for (auto it = by_load.begin(); left > 0; ++it) {
      if (it == x) continue;
      if (best <= least(*x, *it)) break;
      --left;
      auto const now = best;
      attempt(*x, *it, best);
      if (best < now) y = it;
    }
    if (y == x) return;
    auto low = *y, high = *x;
    if (!perform(high)) return;
    if (before(high, low)) std::swap(low, high);
    auto const settle = [&](auto at, auto end, std::uint32_t s) {  // in order before `end`, where `at` is free
      if (auto const to = std::lower_bound(by_load.begin(), at, s, before); to != at)
        *(std::move_backward(to, at, at + 1) - 1) = s;
      else
        *std::move(at + 1, std::lower_bound(at + 1, end, s, before), at) = s;
    };
    settle(y, x, low);
    settle(x, x + 1, high);
  }
}

/// The exchanges of sets of equal speed; no exchange goes below the mean of both loads.
template <index_type Index, class Attempt, class Perform>
void search_exchanges(dealt_sets<Index>& d, refinement const& how, std::int64_t enough, Attempt const& attempt, Perform const& perform) {
  search_exchanges(
      d.load.size(), how, enough, memory_of(d.scratch).by_load, [&](std::uint32_t s) { return d.load[s]; },
      [&](std::uint32_t x, std::uint32_t y) { return d.load[y] + (d.load[x] - d.load[y]) / 2; }, attempt, perform);
}

/// For sets that may hold whatever has room.
struct accept_all {
  [[nodiscard]] bool operator()(std::uint32_t) const noexcept { return true; }
};

/// Moves an item that `sorted_sets` no longer lists to another set.
template <index_type Index>
void transfer(dealt_sets<Index>& d, keyed_item<Index> const& what, std::uint32_t from, std::uint32_t to) {
  auto& target = d.sorted_sets[to];
  target.insert(std::lower_bound(target.begin(), target.end(), what), what);
  d.set_of[what.item] = to;
  d.load[from] -= what.key;
  d.load[to] += what.key;
  d.room[from] += d.size[what.item];
  d.room[to] -= d.size[what.item];
  --d.count[from];
  ++d.count[to];
}
/// Moves an item that `sorted_sets` lists to another set.
template <index_type Index>
void move_listed(dealt_sets<Index>& d, keyed_item<Index> const& what, std::uint32_t from, std::uint32_t to) {
  auto& source = d.sorted_sets[from];
  source.erase(std::lower_bound(source.begin(), source.end(), what));
  transfer(d, what, from, to);
}

}  // namespace ballast::inline v0_2::detail
