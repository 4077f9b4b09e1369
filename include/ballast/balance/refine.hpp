// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/dealing.hpp>
#include <ballast/cost/polynomial.hpp>

/// @file
/// @brief Refinement of any plan: moves and swaps between the dearest set and cheap ones.

namespace ballast::inline v0_2 {

/// @brief How much a refinement may do.
struct refinement {
  std::uint64_t rounds = 0;    ///< most exchanges; 0 = three for each set
  std::uint64_t partners = 8;  ///< how many of the cheapest sets are tried in a round; 0 = all
};

namespace detail {

template <index_type Index>
class refiner {
 public:
  refiner(deal<Index>& d, refinement const& r, std::int64_t lower_bound)
      : d_(d), k_(d.load.size()), partners_(r.partners != 0 && r.partners < k_ ? static_cast<std::size_t>(r.partners) : k_ - 1) {
    auto& sets = d_.sorted_sets;
    if (sets.size() < k_) sets.resize(k_);
    for (std::size_t s = 0; s < k_; ++s) sets[s].clear();
    std::uint64_t placed = 0;
    for (auto const& sample : d_.order)
      if (d_.set_of[sample.item] != winner_tree::none) {
        sets[d_.set_of[sample.item]].push_back(sample);
        ++placed;
      }
    fewest_ = d_.equal ? placed / k_ : 0;
    most_ = (std::min)(d_.equal ? (placed + k_ - 1) / k_ : placed, d_.max_items != 0 ? d_.max_items : placed);
    for (auto rounds = r.rounds != 0 ? r.rounds : 3 * std::uint64_t{k_}; rounds > 0; --rounds) {
      auto const dearest = static_cast<std::size_t>(std::max_element(d_.load.begin(), d_.load.end()) - d_.load.begin());
      if (d_.load[dearest] <= lower_bound) return;
      auto const best = best_exchange(dearest);
      if (best.load >= d_.load[dearest]) return;
      perform(dearest, best);
    }
  }

 private:
  using item = keyed<Index>;

  [[nodiscard]] exchange<Index> best_exchange(std::size_t x) {
    auto& cheapest = d_.cheapest;
    cheapest.clear();
    for (std::size_t s = 0; s < k_; ++s)
      if (s != x) cheapest.push_back(static_cast<std::uint32_t>(s));
    auto const last = cheapest.begin() + static_cast<std::ptrdiff_t>(partners_);
    std::partial_sort(cheapest.begin(), last, cheapest.end(),
                      [&](auto a, auto b) { return d_.load[a] != d_.load[b] ? d_.load[a] < d_.load[b] : a < b; });
    exchange<Index> best{d_.load[x], 0, 0, 0, false};
    for (auto it = cheapest.begin(); it != last; ++it) try_all(x, *it, best);
    return best;
  }
  void try_all(std::size_t x, std::uint32_t y, exchange<Index>& best) const {
    auto const& mine = d_.sorted_sets[x];
    auto const& theirs = d_.sorted_sets[y];
    auto const half = (d_.load[x] - d_.load[y]) / 2;
    auto const may_move = mine.size() > fewest_ && theirs.size() < most_;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      auto const cost = mine[i].key, size = d_.size[mine[i].item];
      if (i > 0 && mine[i - 1].key == cost && d_.size[mine[i - 1].item] == size) continue;
      auto const offer = [&](std::size_t j, bool swaps, std::int64_t back, std::int64_t back_size) {
        auto const load = (std::max)(d_.load[x] - cost + back, d_.load[y] + cost - back);
        if (load < best.load && size - back_size <= d_.room[y] && back_size - size <= d_.room[x]) best = {load, y, i, j, swaps};
      };
      if (may_move) offer(0, false, 0, 0);
      auto const nearest =
          std::partition_point(theirs.begin(), theirs.end(), [&](item const& t) { return t.key > cost - half; }) - theirs.begin();
      auto const from = static_cast<std::size_t>((std::max)(nearest, std::ptrdiff_t{1}) - 1);
      for (auto j = from; j < theirs.size() && j < static_cast<std::size_t>(nearest) + 2; ++j)
        if (theirs[j].key < cost) offer(j, true, theirs[j].key, d_.size[theirs[j].item]);
    }
  }
  void perform(std::size_t x, exchange<Index> const& e) {
    auto& mine = d_.sorted_sets[x];
    auto& theirs = d_.sorted_sets[e.to];
    auto const given = mine[e.give];
    mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(e.give));
    if (e.swaps) {
      auto const taken = theirs[e.take];
      theirs.erase(theirs.begin() + static_cast<std::ptrdiff_t>(e.take));
      transfer(taken, e.to, x);
    }
    transfer(given, x, e.to);
  }
  void transfer(item const& what, std::size_t from, std::size_t to) {
    auto& target = d_.sorted_sets[to];
    target.insert(std::lower_bound(target.begin(), target.end(), what), what);
    d_.set_of[what.item] = static_cast<std::uint32_t>(to);
    d_.load[from] -= what.key;
    d_.load[to] += what.key;
    d_.room[from] += d_.size[what.item];
    d_.room[to] -= d_.size[what.item];
    --d_.count[from];
    ++d_.count[to];
  }

  deal<Index>& d_;
  std::size_t k_, partners_;
  std::uint64_t fewest_ = 0, most_ = 0;  ///< items of a set that a move may leave behind, or reach
};

}  // namespace detail

/// @brief Lowers the largest load of a plan by exchanges, in place.
///
/// A round takes the dearest set and tries, with each of the cheapest sets, to move an item there or to swap it for one that would level
/// the two; the exchange that leaves the smaller maximum of the two is done. It ends where none helps, where the lower bound is reached,
/// or after the rounds that were granted. Limits that the plan keeps stay kept.
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
/// A pure function of its arguments; equal exchanges: the cheaper partner, then the dearer item, and a move before a swap.
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
      require(d.set_of[i] == detail::winner_tree::none,
              [&] { return "item " + std::to_string(i) + " stands twice, the second time in set " + std::to_string(s); });
      d.set_of[i] = static_cast<std::uint32_t>(s);
      d.load[s] += d.cost[i];
      d.room[s] -= d.size[i];
      ++d.count[s];
    }
  detail::refiner<Index>(d, how, plan.load.lower_bound);
  detail::finish(d, misfit::set_aside, plan);
}

}  // namespace ballast::inline v0_2
