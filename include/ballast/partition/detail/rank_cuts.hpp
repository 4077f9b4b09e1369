// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/partition/detail/ranked.hpp>
#include <ballast/partition/result.hpp>
#include <ballast/partition/stage_cost.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// The best cuts as results, in order of merit.

namespace ballast::inline v0_2::detail {

/// The plans of a list, as results.
template <index_type Index, class Chain>
void append_plans(Chain const& chain, cut_list<Chain>& list, staged<Index> const& best, std::vector<balanced_stages<Index>>& out) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    balanced_stages<Index> plan{best, list.squares(i)};
    auto const cuts = list.cuts(i);
    plan.plan.bottleneck.value = 0;
    plan.plan.boundaries.assign(1, 0);
    for (std::size_t s = 0; s < chain.stages(); ++s) {
      plan.plan.bottleneck.value = (std::max)(plan.plan.bottleneck.value, chain.cost(cuts[s], cuts[s + 1], s));
      plan.plan.boundaries.push_back(static_cast<Index>(cuts[s + 1]));
    }
    out.push_back(std::move(plan));
  }
}

template <index_type Index, class Chain>
void rank_cuts(Chain const& chain, std::uint64_t count, staged<Index> const& best, ranked_stages<Index>& out) {
  auto least = best.bottleneck.value;  // the least limit that `count` cuts keep
  auto const all = count_cuts(chain, unaffordable - 1, count);
  out.every = all.cuts < count;
  auto enough = all.at_most;
  while (!out.every && least < enough) {
    auto const middle = least + (enough - least) / 2;
    auto const found = count_cuts(chain, middle, count);
    if (found.cuts == count)
      enough = found.at_most;
    else
      least = found.next;
  }
  auto const most = static_cast<std::size_t>(count);
  cut_list<Chain> below(chain, out.every ? enough : enough - 1, -1, most);  // fewer than `count`, so all of them
  append_plans(chain, below, best, out.plans);
  std::sort(out.plans.begin(), out.plans.end(), [](auto const& a, auto const& b) {
    if (a.plan.bottleneck.value != b.plan.bottleneck.value) return a.plan.bottleneck.value < b.plan.bottleneck.value;
    if (a.squares != b.squares) return a.squares < b.squares;
    return std::lexicographical_compare(a.plan.boundaries.rbegin(), a.plan.boundaries.rend(), b.plan.boundaries.rbegin(),
                                        b.plan.boundaries.rend());
  });
  if (out.every) return;
  cut_list<Chain> at(chain, enough, enough, most - out.plans.size());
  append_plans(chain, at, best, out.plans);
}

}  // namespace ballast::inline v0_2::detail
