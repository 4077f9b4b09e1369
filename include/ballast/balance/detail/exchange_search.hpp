// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/dealt_sets.hpp>
#include <ballast/balance/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Lowers the largest load: in each round, the set with it exchanges items with one of those with the least. Ends when the largest load is
/// at most `enough`, or no exchange helps.
///
/// `load(s)` is the load of a set. `least(x, y)` is a load that no exchange of x and y goes below. `attempt(x, y, best)` tries exchanges of
/// x and y: it lowers `best`, the larger of both loads afterwards, and remembers the exchange. `perform(x)` makes the last one remembered.
template <class Load, class Least, class Attempt, class Perform>
void search_exchanges(std::size_t sets, refinement const& how, std::int64_t enough, std::vector<std::uint32_t>& cheapest, Load const& load,
                      Least const& least, Attempt const& attempt, Perform const& perform) {
  for (auto rounds = how.rounds != 0 ? how.rounds : 3 * std::uint64_t{sets}; rounds > 0; --rounds) {
    std::uint32_t x = 0;
    for (std::uint32_t s = 1; s < sets; ++s)
      if (load(s) > load(x)) x = s;
    if (load(x) <= enough) return;
    cheapest.clear();
    for (std::uint32_t s = 0; s < sets; ++s)
      if (s != x) cheapest.push_back(s);
    auto const partners = how.partners != 0 ? (std::min)(how.partners, std::uint64_t{cheapest.size()}) : cheapest.size();
    auto const last = cheapest.begin() + static_cast<std::ptrdiff_t>(partners);
    auto best = load(x);
    for (auto it = cheapest.begin(), sorted = it; it != last; ++it) {
      if (it == sorted) {  // sorts twice as many partners as before, since seldom are many tried
        sorted += (std::min)((std::max)(std::ptrdiff_t{8}, it - cheapest.begin()), last - it);
        std::partial_sort(it, sorted, cheapest.end(), [&](auto a, auto b) { return load(a) != load(b) ? load(a) < load(b) : a < b; });
      }
      if (best <= least(x, *it)) break;
      attempt(x, *it, best);
    }
    if (best >= load(x)) return;
    perform(x);
  }
}

/// The exchanges of sets of equal speed; no exchange goes below the mean of both loads.
template <index_type Index, class Attempt, class Perform>
void search_exchanges(dealt_sets<Index>& d, refinement const& how, std::int64_t enough, Attempt const& attempt, Perform const& perform) {
  search_exchanges(
      d.load.size(), how, enough, memory_of(d.scratch).cheapest, [&](std::uint32_t s) { return d.load[s]; },
      [&](std::uint32_t x, std::uint32_t y) { return d.load[y] + (d.load[x] - d.load[y]) / 2; }, attempt, perform);
}

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

}  // namespace ballast::inline v0_2::detail
