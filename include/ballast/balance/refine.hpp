// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/dealt_sets.hpp>
#include <ballast/balance/detail/exchange_search.hpp>
#include <ballast/balance/options.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/balance/workspace.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

/// @file
/// @brief `refine`: improves a plan by moves and swaps between the most expensive set and cheap sets.

namespace ballast::inline v0_2 {

namespace detail {

/// The algorithm of `refine`.
template <index_type Index, class Accepts>
class refiner {
 public:
  refiner(dealt_sets<Index>& d, refinement const& r, std::int64_t lower_bound, Accepts const& accepts) : d_(d), accepts_(accepts) {
    auto const k = d.load.size();
    auto& sets = d_.sorted_sets;
    if (sets.size() < k) sets.resize(k);
    for (std::size_t s = 0; s < k; ++s) sets[s].clear();
    std::uint64_t placed = 0;
    for (auto const& sample : d_.order)
      if (d_.set_of[sample.item] != d_.none) {
        sets[d_.set_of[sample.item]].push_back(sample);
        ++placed;
      }
    fewest_ = d_.equal ? placed / k : 0;
    most_ = (std::min)(d_.equal ? (placed + k - 1) / k : placed, d_.max_items != 0 ? d_.max_items : placed);
    search_exchanges(
        d_, r, lower_bound, [&](std::uint32_t x, std::uint32_t y, std::int64_t& best) { try_all(x, y, best); },
        [&](std::uint32_t x) { return perform(x); });
  }

 private:
  using item = keyed_item<Index>;
  /// Item `give` of the most expensive set for item `take` of another, if it swaps.
  struct exchange {
    std::uint32_t to;
    std::size_t give, take;
    bool swaps;
  };

  void try_all(std::uint32_t x, std::uint32_t y, std::int64_t& best) {
    auto const& mine = d_.sorted_sets[x];
    auto const& theirs = d_.sorted_sets[y];
    auto const half = (d_.load[x] - d_.load[y]) / 2;
    auto const may_move = mine.size() > fewest_ && theirs.size() < most_;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      auto const cost = mine[i].key, size = d_.size[mine[i].item];
      if (d_.load[x] - cost >= best) break;  // the cheaper ones give no more
      if (i > 0 && mine[i - 1].key == cost && d_.size[mine[i - 1].item] == size) continue;
      auto const offer = [&](std::size_t j, bool swaps, std::int64_t back, std::int64_t back_size) {
        auto const load = (std::max)(d_.load[x] - cost + back, d_.load[y] + cost - back);
        if (load >= best || size - back_size > d_.room[y] || back_size - size > d_.room[x]) return;
        best = load;
        best_ = {y, i, j, swaps};
      };
      if (may_move) offer(0, false, 0, 0);
      auto const nearest =
          std::partition_point(theirs.begin(), theirs.end(), [&](item const& t) { return t.key > cost - half; }) - theirs.begin();
      auto const from = static_cast<std::size_t>((std::max)(nearest, std::ptrdiff_t{1}) - 1);
      for (auto j = from; j < theirs.size() && j < static_cast<std::size_t>(nearest) + 2; ++j)
        if (theirs[j].key < cost) offer(j, true, theirs[j].key, d_.size[theirs[j].item]);
    }
  }
  [[nodiscard]] bool perform(std::uint32_t x) {
    auto const y = best_.to;
    auto const given = d_.sorted_sets[x][best_.give];
    auto const taken = best_.swaps ? d_.sorted_sets[y][best_.take] : item{};
    if (best_.swaps) move_listed(d_, taken, y, x);
    move_listed(d_, given, x, y);
    if (accepts_(x) && accepts_(y)) return true;
    move_listed(d_, given, y, x);
    if (best_.swaps) move_listed(d_, taken, x, y);
    return false;
  }

  dealt_sets<Index>& d_;
  Accepts const& accepts_;
  std::uint64_t fewest_ = 0, most_ = 0;  ///< fewest and most items of a set after a move
  exchange best_{};
};

}  // namespace detail

/// @brief Lowers the largest load of a plan by moves and swaps of items, in place.
///
/// A round takes the most expensive set and, for each of the cheapest sets, tries to move an item there or to swap it for the item that
/// would balance the two sets. The exchange that leaves the smallest maximum of the two sets is made. The refinement ends when no exchange
/// helps, when the lower bound is reached, or after the largest number of rounds. Limits that the plan meets are still met afterwards.
///
/// @tparam Index  type of the item indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @tparam Size   a `cost_model`
/// @param items      the items, one integer each
/// @param options    number of sets and limits
/// @param cost       cost of an item, which counts towards the load of its set; not negative
/// @param size       size of an item, which counts towards the capacity of its set; not negative
/// @param workspace  scratch memory, kept between calls
/// @param plan       the plan of any balancer, or any other sets of item indices; unchanged if not feasible. Items in no set are listed in
/// `set_aside` afterwards
/// @param how        rounds and partners
/// @post the largest load has not grown
/// @throws invalid_input as the balancers do; also if the plan has another number of sets, an index out of range, or an item twice
/// @par Complexity
/// O((n + k) log (n + k)), plus O(k + p m log m) for each round with p partners and m items in a set.
/// @par Determinism
/// A pure function of its arguments; of equal exchanges, the one with the cheaper partner is made, then the one of the more expensive item,
/// and a move before a swap.
/// @par Source
/// The exchanges are those of Finn, Horowitz, "A linear time approximation algorithm for multiprocessor scheduling", BIT 19 (1979), with
/// swaps.
template <index_type Index, length_range R, cost_model Cost, cost_model Size>
void refine(R const& items, balance_options const& options, Cost const& cost, Size const& size, balance_workspace<Index>& workspace,
            balanced_sets<Index>& plan, refinement const& how = {}) {
  auto& d = detail::memory_of(workspace).deal;
  detail::prepare(items, options, cost, size, d);
  if (plan.status != status::feasible) return;
  require(plan.sets.size() == options.sets, [&] { return sentence("the plan has ", plan.sets.size(), " sets, not ", options.sets); });
  d.sort_by(d.cost);
  d.start();
  for (std::size_t s = 0; s < plan.sets.size(); ++s)
    for (auto const i : plan.sets[s]) {
      require(i < d.items(), [&] { return sentence("set ", s, " holds ", i, ", which is not the index of an item"); });
      require(d.set_of[i] == d.none, [&] { return sentence("item ", i, " occurs twice, the second time in set ", s); });
      d.set_of[i] = static_cast<std::uint32_t>(s);
      d.load[s] += d.cost[i];
      d.room[s] -= d.size[i];
      ++d.count[s];
    }
  refine(d, plan.load.lower_bound, how);
  detail::finish(d, misfit::set_aside, plan);
}

/// @brief As above, for sets that a caller has dealt items to.
/// @tparam Index  type of the item numbers
/// @tparam Accepts  returns a bool for the number of a set
/// @param sets    the sets, with all items in `order`, sorted by cost; afterwards `sorted_sets` lists the items of each set
/// @param enough  the refinement ends when the largest load is at most this
/// @param how     rounds and partners
/// @param accepts whether a set may stay as it is now; the first exchange that leaves one that may not is undone, and is the last
/// @post the largest load has not grown
/// @par Complexity
/// As above.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index, class Accepts = detail::accept_all>
void refine(dealt_sets<Index>& sets, std::int64_t enough, refinement const& how = {}, Accepts const& accepts = {}) {
  detail::refiner<Index, Accepts>(sets, how, enough, accepts);
}

}  // namespace ballast::inline v0_2
