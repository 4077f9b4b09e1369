// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/dealing.hpp>
#include <ballast/balance/detail/differencing.hpp>
#include <ballast/balance/options.hpp>
#include <ballast/balance/rate_matching.hpp>
#include <ballast/balance/refine.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/balance/snake.hpp>
#include <ballast/balance/workspace.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/cost/polynomial.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

/// @file
/// @brief `balance`: the default balancer.

namespace ballast::inline v0_2 {

namespace detail {

/// Whether `b` is better than `a`: a plan instead of none, fewer items set aside, or a smaller largest load.
template <index_type Index>
[[nodiscard]] bool beats(balanced_sets<Index> const& b, balanced_sets<Index> const& a) {
  if (b.status != status::feasible || a.status != status::feasible) return a.status == status::unknown && b.status != status::unknown;
  if (b.set_aside.size() != a.set_aside.size()) return b.set_aside.size() < a.set_aside.size();
  return b.load.value < a.load.value;
}

/// Tries one method after the other on a prepared problem, and keeps the best plan in `out`.
template <index_type Index>
class best_of_methods {
 public:
  best_of_methods(deal<Index>& d, balance_options const& o, balanced_sets<Index>& out, balanced_sets<Index>& candidate)
      : d_(d), o_(o), out_(out), candidate_(candidate) {
    out_.status = status::unknown;
  }
  /// Deals by `method`, refines the plan if it is the best so far or `hopeful`, and returns whether no better plan is possible.
  template <class Method>
  [[nodiscard]] bool decides(Method const& method, bool hopeful, bool by_size = false) {
    method();
    if (by_size) d_.sort_by(d_.cost);  // items are sorted by cost before and after each method
    finish(d_, o_.misfit, candidate_);
    if (candidate_.status == status::feasible && !candidate_.load.optimal() && (hopeful || beats(candidate_, out_))) {
      for (std::size_t s = 0; s < candidate_.sets.size(); ++s) d_.count[s] = candidate_.sets[s].size();
      refine(d_, candidate_.load.lower_bound);
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

/// @brief Distributes items over a fixed number of sets such that the largest load is small, by the best of several methods.
///
/// The methods are `longest_processing_time` and `karmarkar_karp`, each followed by `refine`, then `rate_matching` of cost and size and
/// `snake`; with a capacity also `rate_matching` towards the capacity and best fit by size. The later methods are refined if they are the
/// best so far (`snake` always with equal counts). The first plan that the lower bound proves optimal is returned, which is often the first
/// plan; otherwise the best of all.
///
/// @tparam Index  type of the item indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @tparam Size   a `cost_model`
/// @param items    the items, one integer each: sample lengths, or numbers of packs if the callables look packs up; may be empty
/// @param options  number of sets and limits; `target` is not read
/// @param cost     cost of an item, which counts towards the load of its set; not negative; the item itself by default
/// @param size     size of an item, which counts towards the capacity of its set; not negative; the item itself by default
/// @return the sets, each with its most expensive item first
/// @post no method above sets fewer items aside, and none that sets as many aside has a smaller largest load
/// @throws invalid_input for a bad option, or a cost or size, or a sum of them, outside [0, 2^63)
/// @par Complexity
/// That of the methods, of which `karmarkar_karp` is the slowest: O(n log n + n k) for n items and k sets.
/// @par Determinism
/// A pure function of the costs, the sizes and the options.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost, cost_model Size = token_cost>
[[nodiscard]] balanced_sets<Index> balance(R const& items, balance_options const& options, Cost const& cost = {}, Size const& size = {}) {
  return detail::by_value<Index>([&](auto& workspace, auto& out) { balance(items, options, cost, size, workspace, out); });
}

/// @brief As above, into caller-owned memory.
/// @param items      the items, one integer each
/// @param options    number of sets and limits
/// @param cost       cost of an item, which counts towards the load of its set
/// @param size       size of an item, which counts towards the capacity of its set
/// @param workspace  scratch memory, kept between calls
/// @param out        overwritten with the plan; its memory is used again
/// @throws invalid_input as the overload above
template <index_type Index, length_range R, cost_model Cost, cost_model Size>
void balance(R const& items, balance_options const& options, Cost const& cost, Size const& size, balance_workspace<Index>& workspace,
             balanced_sets<Index>& out) {
  auto& d = detail::memory_of(workspace).deal;
  detail::prepare(items, options, cost, size, d);
  d.sort_by(d.cost);
  detail::best_of_methods<Index> best(d, options, out, detail::memory_of(workspace).candidate);
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
      d.part = d.cost;  // where cost is a weighted sum of size and another measure, both order items by rate in the same way
      detail::deal_by_rate(d, d.total_cost, target);
    };
  };
  auto const forth_and_back = [&] {
    d.start();
    detail::deal_as_snake(d);
  };
  auto const into_the_fullest = [&] {  // finds room if sets are nearly full
    d.sort_by(d.size);
    d.start();
    std::span<keyed_item<Index> const> const items_by_size(d.order);
    d.deal_in_order(items_by_size, [&](auto a, auto b) { return d.room[a] < d.room[b]; }, [](auto, auto) {});
  };
  static_cast<void>(
      best.decides(longest_first, true) || best.decides(differences, true) || best.decides(by_rate(rate_target::mean), false, true) ||
      best.decides(forth_and_back, options.equal_counts) ||
      (options.capacity > 0 && (best.decides(by_rate(rate_target::capacity), false, true) || best.decides(into_the_fullest, false, true))));
}

}  // namespace ballast::inline v0_2
