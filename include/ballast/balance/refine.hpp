// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/dealt_sets.hpp>
#include <ballast/balance/detail/refiner.hpp>
#include <ballast/balance/options.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/balance/workspace.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

/// @file
/// @brief Refinement of any plan: moves and swaps between the most expensive set and cheap ones.

namespace ballast::inline v0_2 {

/// @brief Lowers the largest load of a plan by exchanges, in place.
///
/// A round takes the most expensive set and tries, with each of the cheapest sets, to move an item there or to swap it for one that would
/// balance the two; the exchange that leaves the smaller maximum of the two is done. It ends where none helps, where the lower bound is
/// reached, or after the rounds that were granted. Limits that the plan keeps stay kept.
///
/// @tparam Index  type of the item indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @tparam Size   a `cost_model`
/// @param items      what was dealt
/// @param options    number of sets and limits
/// @param cost       weighs one item: its share of a set's load; not negative
/// @param size       weighs one item: its share of a set's capacity; not negative
/// @param workspace  scratch memory, kept between calls
/// @param plan       any balancer's, or hand-made: sets of item indices; unchanged if not feasible. Items that stand in no set are listed
///                   in `set_aside` afterwards
/// @param how        rounds and partners
/// @post the largest load has not grown
/// @throws invalid_input as the balancers do; if the plan has another number of sets, an index that is no item, or an item twice
/// @par Complexity
/// O(n log n) and, each round, O(k log p + p m log m) for p partners and m items in a set.
/// @par Determinism
/// A pure function of its arguments; equal exchanges: the cheaper partner, then the more expensive item, and a move before a swap.
/// @par Source
/// The exchanges are those of Finn, Horowitz, "A linear time approximation algorithm for multiprocessor scheduling", BIT 19 (1979), with
/// swaps.
template <index_type Index, length_range R, cost_model Cost, cost_model Size>
void refine(R const& items, balance_options const& options, Cost const& cost, Size const& size, balance_workspace<Index>& workspace,
            balanced_sets<Index>& plan, refinement const& how = {}) {
  auto& d = workspace.deal;
  detail::prepare(items, options, cost, size, d);
  if (plan.status != status::feasible) return;
  require(plan.sets.size() == options.sets,
          [&] { return "the plan has " + std::to_string(plan.sets.size()) + " sets, not " + std::to_string(options.sets); });
  d.sort_by(d.cost);
  d.start();
  for (std::size_t s = 0; s < plan.sets.size(); ++s)
    for (auto const i : plan.sets[s]) {
      require(i < d.items(), [&] { return "set " + std::to_string(s) + " holds " + std::to_string(i) + ", which is no item"; });
      require(d.set_of[i] == d.none,
              [&] { return "item " + std::to_string(i) + " stands twice, the second time in set " + std::to_string(s); });
      d.set_of[i] = static_cast<std::uint32_t>(s);
      d.load[s] += d.cost[i];
      d.room[s] -= d.size[i];
      ++d.count[s];
    }
  refine(d, plan.load.lower_bound, how);
  detail::finish(d, misfit::set_aside, plan);
}

/// @brief As above, of sets that a caller deals items to.
/// @tparam Index  type of the item numbers
/// @param sets    sets under construction, their items in an order by cost; `sorted_sets` is what each of them holds afterwards
/// @param enough  a largest load that needs no lowering
/// @param how     rounds and partners
/// @post the largest load has not grown
/// @par Complexity
/// As above.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index>
void refine(dealt_sets<Index>& sets, std::int64_t enough, refinement const& how = {}) {
  detail::refiner<Index>(sets, how, enough);
}

}  // namespace ballast::inline v0_2
