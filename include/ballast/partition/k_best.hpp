// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/partition/detail/ranked.hpp>
#include <ballast/partition/min_max.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief The k best partitions, for callers who measure the candidates.

namespace ballast::inline v0_2 {

/// @brief Partitions in order of merit.
/// @tparam Index  type of the boundaries
template <index_type Index = std::uint32_t>
struct ranked_stages {
  ballast::status status = ballast::status::infeasible;  ///< whether there is any
  certificate bottleneck;                                ///< of the best one; where infeasible as in `staged`
  partition_bound bound = partition_bound::none;         ///< what proves its lower bound
  std::vector<level_stages<Index>> plans;                ///< best first; the lower bound of each is the least bottleneck
  bool every = false;                                    ///< whether there are no others
};

namespace detail {

/// The plans of a list, as results.
template <index_type Index, class Chain>
void append_plans(Chain const& chain, cut_list<Chain>& list, staged<Index> const& best, std::vector<level_stages<Index>>& out) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    level_stages<Index> plan{best, list.squares(i)};
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

}  // namespace detail

/// @brief The best partitions, by bottleneck, then by sum of squared stage costs, then by boundaries (the last inner one lower, then the
/// one before).
///
/// The least limit that `count` cuts keep is found by counting; the cuts below it are few and all listed, those at it are chosen by their
/// squares.
///
/// @tparam Index  type of the boundaries
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`; floating costs through `scaled`
/// @param layers   the chain, as for `min_max_partition`
/// @param count    how many, at least 1
/// @param options  number of stages and limits; `limit` is not used
/// @param cost     weighs one layer, not negative; the integer itself by default
/// @return the plans, fewer only if there are no more; infeasible as `min_max_partition`
/// @throws invalid_input for a count of 0, a bad option, or a cost, size or sum outside [0, 2^63)
/// @par Complexity
/// O(p n^2 log C + p n (n + k log n)) time for n layers, p stages, k plans and a total cost of C; O(p n k) memory.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// This library (docs/partition.md).
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] ranked_stages<Index> k_best_partitions(R const& layers, std::uint64_t count, partition_options const& options,
                                                     Cost const& cost = {}) {
  require(count >= 1, [] { return std::string("count = 0 must be positive"); });
  partition_workspace workspace;
  staged<Index> best;
  detail::cut_every_stage(layers, options, cost, workspace, best);
  ranked_stages<Index> out{best.status, best.bottleneck, best.bound, {}, best.status != status::feasible};
  if (best.status != status::feasible) return out;
  auto const& d = workspace.chain;
  if (d.plain())
    detail::rank_cuts(detail::plain_chain{d}, count, best, out);
  else
    detail::rank_cuts(detail::limited_chain{d}, count, best, out);
  return out;
}

}  // namespace ballast::inline v0_2
