// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/dealing.hpp>
#include <ballast/balance/karmarkar_karp.hpp>
#include <ballast/balance/rate_matching.hpp>
#include <ballast/balance/refine.hpp>
#include <ballast/balance/snake.hpp>
#include <ballast/cost/polynomial.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

/// @file
/// @brief `balance`: the default balancer, never behind any single method of the room.

namespace ballast::inline v0_2 {

namespace detail {

/// Whether `b` says more than `a`: a plan where there was none, fewer items set aside, or a smaller largest load.
template <index_type Index>
[[nodiscard]] bool beats(balanced_sets<Index> const& b, balanced_sets<Index> const& a) {
  if (b.status != status::feasible || a.status != status::feasible) return a.status == status::unknown && b.status != status::unknown;
  if (b.set_aside.size() != a.set_aside.size()) return b.set_aside.size() < a.set_aside.size();
  return b.load.value < a.load.value;
}

/// Tries one method after the other on a problem that is prepared, and keeps the best plan in `out`.
template <index_type Index>
class best_of_methods {
 public:
  best_of_methods(deal<Index>& d, balance_options const& o, balanced_sets<Index>& out, balanced_sets<Index>& candidate)
      : d_(d), o_(o), out_(out), candidate_(candidate) {
    out_.status = status::unknown;
  }
  /// Lets `method` deal, refines what it dealt if that is the best so far or has good prospects, and says whether nothing better can be.
  template <class Method>
  [[nodiscard]] bool decides(Method const& method, bool hopeful, bool by_size = false) {
    method();
    if (by_size) d_.sort_by(d_.cost);  // the items come sorted by cost, and so do they leave
    finish(d_, o_.misfit, candidate_);
    if (candidate_.status == status::feasible && !candidate_.load.optimal() && (hopeful || beats(candidate_, out_))) {
      for (std::size_t s = 0; s < candidate_.sets.size(); ++s) d_.count[s] = candidate_.sets[s].size();
      refiner<Index>(d_, {}, candidate_.load.lower_bound);
      finish(d_, misfit::set_aside, candidate_);
    }
    if (first_ || beats(candidate_, out_)) std::swap(candidate_, out_);
    first_ = false;
    return out_.status == status::infeasible || (out_.status == status::feasible && out_.set_aside.empty() && out_.load.optimal());
  }

 private:
  deal<Index>& d_;
  balance_options const& o_;
  balanced_sets<Index>&out_, &candidate_;
  bool first_ = true;
};

}  // namespace detail

/// @brief The default balancer, into caller-owned memory. See the other overload for what it computes.
/// @param items      what is dealt, one integer each; may be empty
/// @param options    number of sets and limits
/// @param cost       weighs one item: its share of a set's load
/// @param size       weighs one item: its share of a set's capacity
/// @param workspace  scratch memory, kept between calls
/// @param out        overwritten with the plan; its memory is used again
/// @throws invalid_input as the other overload
template <index_type Index, length_range R, cost_model Cost, cost_model Size>
void balance(R const& items, balance_options const& options, Cost const& cost, Size const& size, balance_workspace<Index>& workspace,
             balanced_sets<Index>& out) {
  auto& d = workspace.deal;
  detail::prepare(items, options, cost, size, d);
  d.sort_by(d.cost);
  detail::best_of_methods<Index> best(d, options, out, workspace.candidate);
  auto const longest_first = [&] {
    d.start();
    d.deal_to_least_loaded(d.order);
  };
  auto const differences = [&] {
    d.start();
    detail::differencing<Index>(d).run();
  };
  auto const by_rate = [&](rate_target target) {
    return [&d, target] {
      d.part = d.cost;  // for any cost of sizes and a second measure, the rates are in the order of that measure's
      detail::deal_by_rate(d, d.total_cost, target);
    };
  };
  auto const forth_and_back = [&] {
    d.start();
    detail::deal_as_snake(d);
  };
  auto const into_the_fullest = [&] {  // finds room where sets are nearly full
    d.sort_by(d.size);
    d.start();
    std::span<detail::keyed<Index> const> const items_by_size(d.order);
    d.deal_in_order(items_by_size, [&](auto a, auto b) { return d.room[a] < d.room[b]; }, [](auto, auto) {});
  };
  static_cast<void>(
      best.decides(longest_first, true) || best.decides(differences, true) || best.decides(by_rate(rate_target::mean), false, true) ||
      best.decides(forth_and_back, options.equal_counts) ||
      (options.capacity > 0 && (best.decides(by_rate(rate_target::capacity), false, true) || best.decides(into_the_fullest, false, true))));
}

/// @brief Shares items out to a fixed number of sets so that the largest load is small: the best plan of all methods of the room.
///
/// `longest_processing_time` and `karmarkar_karp`, both followed by `refine`; then `rate_matching` of cost and size, the `snake`, and with
/// a capacity rates towards it and best fit by size: those are refined where they are the best so far, with equal counts the snake always.
/// It ends with the first plan that the lower bound proves optimal, which is often the first one; else it keeps the best. Never behind any
/// of them, whatever the limits.
///
/// @tparam Index  type of the item indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @tparam Size   a `cost_model`
/// @param items    what is dealt, one integer each: sample lengths, or the numbers of packs with callables that look them up; may be empty
/// @param options  number of sets and limits; of `target` both are tried
/// @param cost     weighs one item: its share of a set's load; not negative; the item itself by default
/// @param size     weighs one item: its share of a set's capacity; not negative; the item itself by default
/// @return the sets, each with its most expensive item first
/// @post no more items are set aside than by any method above, and where as many are, the largest load is no larger
/// @throws invalid_input for a bad option, or a cost or size, or a sum of them, outside [0, 2^63)
/// @par Complexity
/// That of the methods, `karmarkar_karp` being the slowest: O(n log n + n k) for n items and k sets.
/// @par Determinism
/// A pure function of the costs, the sizes and the options.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost, cost_model Size = token_cost>
[[nodiscard]] balanced_sets<Index> balance(R const& items, balance_options const& options, Cost const& cost = {}, Size const& size = {}) {
  balance_workspace<Index> workspace;
  balanced_sets<Index> out;
  balance(items, options, cost, size, workspace, out);
  return out;
}

}  // namespace ballast::inline v0_2
