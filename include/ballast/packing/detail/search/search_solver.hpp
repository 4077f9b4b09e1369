// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/detail/search/search_classes.hpp>
#include <ballast/packing/run_length.hpp>

#include <cstdint>
#include <utility>
#include <vector>

// Packers that search, in the form that the driver calls: best fit and search work on classes, and samples are expanded once, after the
// decision.

namespace ballast::inline v0_2::detail {

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

}  // namespace ballast::inline v0_2::detail
