// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/detail/search/search_classes.hpp>
#include <ballast/packing/run_length.hpp>
#include <ballast/patterns/patterns.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief Packing by column generation: usually optimal or one or two packs above, with a lower bound that shows it.

namespace ballast::inline v0_2 {

namespace detail {

// Packers that search, in the form that the driver calls: best fit and search work on classes, and samples are expanded once, after the
// decision.

/// When to search, and which plan is taken.
struct search_rule {
  search_limits limits;
  bool always = true;  ///< false: search only if best fit misses `limits.gap`, and only take a better plan

  /// True if the plan is within `limits.gap` of its bound, or proven infeasible.
  [[nodiscard]] bool accepts(settled_count<packing_bound> const& v) const noexcept {
    return !always && (v.status == status::feasible ? v.count.gap() <= limits.gap : v.status == status::infeasible);
  }
  /// Whether `b` is better than `a`: a plan instead of none, fewer packs, or a better bound.
  [[nodiscard]] bool prefers(settled_count<packing_bound> const& b, settled_count<packing_bound> const& a) const noexcept {
    return always || b.status != a.status || b.count.value < a.count.value || b.count.lower_bound > a.count.lower_bound;
  }
};

/// The decision on classes.
struct class_decision {
  bool searched = false;  ///< true: the plan is `found.patterns`; false: that of best fit
  std::uint64_t packs = 0;
  packs_needed bound{};
  found_plan<> found;
};

/// Decides between best fit and search. `judge(packs, bound)` applies the demanded number of packs. Must be called, and its result used, in
/// the scope of a pool. A tally (`counts`) always takes the bound of the search; a packing only if that bound proves more than the bound by
/// formula under the demanded number of packs.
template <class Judge>
[[nodiscard]] class_decision decide(histogram const& weights, std::int64_t capacity, std::uint64_t max_samples, search_rule const& rule,
                                    best_fit_patterns<>& best_fit, Judge const& judge, bool counts) {
  class_decision out;
  out.packs = best_fit.plan(weights, capacity, max_samples);
  out.bound = packing_lower_bound(weights, capacity, max_samples, static_cast<std::int64_t>(out.packs));
  auto const simple = judge(out.packs, out.bound);
  if (rule.accepts(simple)) return out;
  out.found = search_classes(weights, capacity, max_samples, out.bound, best_fit, rule.limits);
  auto const packs = out.found.patterns.packs();
  auto const proven = counts || judge(packs, out.found.bound).count.lower_bound > judge(packs, out.bound).count.lower_bound;
  auto const& bound = proven ? out.found.bound : out.bound;
  if (!rule.prefers(judge(packs, bound), simple)) return out;
  out.searched = true;
  out.packs = packs;
  out.bound = bound;
  return out;
}

/// A packer that searches, for `drive`.
template <index_type Index>
struct search_solver {
  packing_options const& options;
  search_rule const& rule;
  packing_memory<Index>& ws;

  template <class Weights>
  solved operator()(packing_items<Weights> const& items, groups<Index>& packs) const {
    pool_scope const scope(ws.searches);
    best_fit_patterns<> best_fit;
    auto const alone = std::uint64_t{ws.driver.alone.size()}, placed = items.classes.samples();
    auto const judge = [&](std::uint64_t count, packs_needed bound) {
      bound.packs += static_cast<std::int64_t>(alone);
      return judge_count(count + alone, placed + alone, bound, options);
    };
    auto const decision = decide(items.classes, items.capacity, items.max_samples, rule, best_fit, judge, false);
    auto const* const order = canonical_order(items, ws.positions, serial{});
    if (decision.searched) {
      std::vector<std::uint64_t> next(items.classes.lengths.size());  // the longest come first
      for (std::uint64_t k = next.size(), first = 0; k-- > 0; first += items.classes.counts[k]) next[k] = first;
      packs.clear();
      packs.offsets.reserve(static_cast<std::size_t>(decision.packs) + 1);
      packs.members.reserve(static_cast<std::size_t>(placed));
      expand(decision.found.patterns, std::move(next), order, packs);
    } else {
      expand(decision.packs, best_fit.runs(), order, packs, serial{});
    }
    return {decision.bound, decision.found.complete};
  }
};

/// The number of packs for a histogram after the over-size policy was applied.
template <class = when_called>
[[nodiscard]] inline pack_tally tally(trained_histogram const& items, packing_options const& o, search_rule const& rule) {
  auto const samples = items.weights.samples() + items.alone;
  auto const judge = [&](std::uint64_t count, packs_needed bound) {
    bound.packs += static_cast<std::int64_t>(items.alone);
    return judge_count(count + items.alone, samples, bound, o);
  };
  pooled_memory memory;
  pool_scope const scope(memory);
  best_fit_patterns<> best_fit;
  auto const decision = decide(items.weights, round_down(o.capacity, o.pack_multiple), o.max_samples != 0 ? o.max_samples : samples + 1,
                               rule, best_fit, judge, true);
  auto const verdict = judge(decision.packs, decision.bound);
  return {verdict.status, verdict.count, verdict.bound, verdict.status == status::feasible ? items.tokens : 0, items.set_aside};
}

}  // namespace detail

/// @brief A plan on classes of equal samples, with the proof of its lower bound.
/// @tparam Bound  type of a lower bound on the number of packs and of its proof
template <class Bound>
struct basic_near_optimal_plan {
  pack_patterns patterns;           ///< the packs, as patterns of classes
  certificate count;                ///< number of packs, and its lower bound
  Bound bound;                      ///< what proves `count.lower_bound`
  std::vector<std::int32_t> duals;  ///< for `linear_program`: the dual value of each class, checked by `check_duals`; else empty
  std::int64_t dual_capacity = 0;   ///< for `linear_program`: the largest sum of dual values in one pack
  std::uint64_t work = 0;           ///< work spent, in the unit of `search_limits::work`
  bool complete = true;             ///< false if a stop request or the wall clock ended the search early
};
/// @brief The plan of a histogram, whose classes are lengths.
using near_optimal_plan = basic_near_optimal_plan<packs_needed>;

namespace detail {

/// The plan of a histogram of weights, none above the capacity.
template <class = when_called>
[[nodiscard]] inline near_optimal_plan search_patterns(histogram const& weights, std::int64_t capacity, std::uint64_t max_samples,
                                                       search_limits const& limits) {
  pooled_memory memory;
  pool_scope const scope(memory);
  best_fit_patterns<> best_fit;
  auto const packs = static_cast<std::int64_t>(best_fit.plan(weights, capacity, max_samples));
  auto const bound = packing_lower_bound(weights, capacity, max_samples, packs);
  auto const found = search_classes(weights, capacity, max_samples, bound, best_fit, limits);
  near_optimal_plan out;
  out.patterns.append(found.patterns);
  out.count = {static_cast<std::int64_t>(found.patterns.packs()), found.bound.packs};
  out.bound = found.bound;
  out.duals.assign(found.proof.value.begin(), found.proof.value.end());
  out.dual_capacity = found.proof.capacity;
  out.work = found.work;
  out.complete = found.complete;
  return out;
}

}  // namespace detail

/// @brief Packs a histogram of lengths near-optimally, and returns the plan as patterns of lengths.
///
/// For callers who assign samples to patterns themselves. `near_optimal` describes the method.
///
/// @param lengths  histogram of sample lengths in tokens
/// @param options  capacity, max_samples, sample_multiple and pack_multiple; every length must fit, and no number of packs can be demanded
/// @param limits   limits of the search
/// @return the plan; its classes are the lengths of the histogram, rounded up to `sample_multiple`
/// @post every class is placed exactly as often as it occurs; never more packs than best-fit decreasing
/// @throws invalid_input for a bad option, an invalid histogram, or a length above the capacity
/// @par Complexity
/// That of best-fit decreasing if it is proven optimal; otherwise the work that `limits` allow, or twice as much at most, and O(distinct
/// lengths) memory plus tables of at most 2^24 entries.
/// @par Determinism
/// A pure function of its arguments, unless a stop request or the wall clock ends the search (`complete` is false then).
template <class = when_called>
[[nodiscard]] inline near_optimal_plan plan_near_optimal(histogram const& lengths, packing_options const& options,
                                                         search_limits const& limits = {}) {
  require(options.oversize == oversize::reject && options.pack_count == 0 && options.pack_count_multiple == 1, [] {
    return std::string("a plan of classes takes no over-size policy and no demanded number of packs: use near_optimal on the lengths");
  });
  auto const items = apply_oversize(lengths, options);
  auto const max_samples = options.max_samples != 0 ? options.max_samples : items.weights.samples() + 1;
  return detail::search_patterns(items.weights, round_down(options.capacity, options.pack_multiple), max_samples, limits);
}

/// @brief Counts the packs that `near_optimal` needs, and certifies the count, without placing any sample.
///
/// Equals `near_optimal(lengths, options, limits).count` for every set of lengths with this histogram.
///
/// @param lengths  histogram of sample lengths in tokens
/// @param options  as for `near_optimal`, every field
/// @param limits   limits of the search
/// @return number of packs with its certificate, tokens, and samples set aside
/// @throws invalid_input for a bad option, an invalid histogram, or a length above the capacity under `oversize::reject`
/// @par Complexity
/// That of `plan_near_optimal`; independent of the number of samples.
/// @par Determinism
/// A pure function of its arguments, unless a stop request or the wall clock ends the search.
template <class = when_called>
[[nodiscard]] inline pack_tally count_near_optimal(histogram const& lengths, packing_options const& options,
                                                   search_limits const& limits = {}) {
  return detail::tally(apply_oversize(lengths, options), options, {limits});
}

/// @brief Packs samples near-optimally by column generation and local search, and proves a lower bound on the number of packs.
///
/// The plan of best-fit decreasing is returned if it is proven optimal. Otherwise linear programs over bands of neighbouring lengths say
/// which mixes of lengths to pack, random packs of these mixes that are full or nearly so are drawn, and exchanges between packs save the
/// last packs. The linear program also proves the lower bound. docs/near-optimal.md explains the method.
///
/// If the limit of samples per pack binds, the search treats it as a second measure of every sample. With at most 250 distinct lengths it
/// ends exactly, with a row for each length; see `solve_cutting_stock`.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  capacity and limits
/// @param cost     weighs one length
/// @param limits   limits of the search; by default it ends after about a second, or sooner if a plan is proven optimal
/// @return packs of sample indices, and the number of packs beside a proven lower bound
/// @post never more packs than `best_fit_decreasing`
/// @throws invalid_input for a bad option, a length that is not positive, or one above the capacity under `oversize::reject`
/// @par Complexity
/// That of `best_fit_decreasing` if it is proven optimal; otherwise the work that `limits` allow, or twice as much at most, and O(n) memory
/// plus tables of at most 2^24 entries. Where a pack has room for 2^32 of the shortest samples, the plan is that of best fit.
/// @par Determinism
/// A pure function of its arguments, unless a stop request or the wall clock ends the search (`complete` is false then). The linear
/// programs compute in doubles, but round in the same way with every compiler and flag, and the bound is proven in integers.
/// @par Source
/// Gilmore, Gomory, "A linear programming approach to the cutting-stock problem", Operations Research 9 (1961): column generation. Farley,
/// Operations Research 38 (1990): a lower bound from any dual values. Bands of lengths with linear dual values, and drawing packs from
/// them: this library.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] packing<Index> near_optimal(R const& lengths, packing_options const& options, Cost const& cost,
                                          search_limits const& limits = {}) {
  packing_workspace<Index> workspace;
  packing<Index> out;
  detail::search_rule const rule{limits};
  auto& memory = detail::memory_of(workspace);
  detail::drive<Index>(lengths, options, cost, detail::search_solver<Index>{options, rule, memory}, memory.driver, out);
  return out;
}
/// @brief The same for tokens.
/// @param lengths sample lengths in tokens, each at least 1
/// @param options capacity and limits
/// @param limits limits of the search
/// @return packs of sample indices, and the number of packs beside a proven lower bound
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] packing<Index> near_optimal(R const& lengths, packing_options const& options, search_limits const& limits = {}) {
  return near_optimal<Index>(lengths, options, token_cost{}, limits);
}

}  // namespace ballast::inline v0_2
