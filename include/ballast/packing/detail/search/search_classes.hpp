// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_limits.hpp>
#include <ballast/packing/bounds.hpp>
#include <ballast/packing/detail/search/near_optimal_search.hpp>
#include <ballast/packing/detail/search/vector_search.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

namespace ballast::inline v0_2::detail {

/// A plan of classes, in the current pool, with the proof of its lower bound.
template <class = when_called>
struct found_plan {
  pooled_patterns patterns;
  packs_needed bound{};
  dual_proof proof;  ///< the proof, if the bound is that of the linear program
  std::uint64_t work = 0;
  bool complete = true;

  /// Takes the plan and the bound of a search, unless a better bound is known.
  void take(near_optimal_search<>& search, search_budget const& budget) {
    patterns = std::move(search.patterns());
    spend(budget);
    if (search.bound().packs < bound.packs || search.bound().bound == packing_bound::none) return;
    bound = search.bound();
    if (bound.bound == packing_bound::linear_program) proof = std::move(search.proof());
  }
  void spend(search_budget const& budget) {
    work += budget.spent();
    complete = complete && !budget.interrupted();
  }
};

/// The best lower bound by formula without a limit of samples per pack.
[[nodiscard]] inline packs_needed bound_without_limit(histogram const& weights, std::int64_t capacity, std::uint64_t packs) {
  return packing_lower_bound(weights, capacity, (std::numeric_limits<std::uint64_t>::max)(), static_cast<std::int64_t>(packs));
}

/// Looks for the fewest packs under a limit of samples per pack, or for what proves that fewer are impossible, with the work of `limits`.
template <class = when_called>
inline void finish_limited(histogram const& weights, std::int64_t capacity, std::uint64_t max_samples, search_limits const& limits,
                           search_tuning const& tuning, found_plan<>& out) {
  search_budget budget(limits);
  auto const packs = out.patterns.packs();
  if (budget.satisfied({static_cast<std::int64_t>(packs), out.bound.packs})) return;
  cutting_stock_options options{.capacity = capacity, .packs = static_cast<std::uint64_t>(out.bound.packs), .max_samples = max_samples};
  auto const found = solve_fewest(weights, options, packs, tuning.most_full_cells, budget, limits.work, {});
  out.spend(budget);
  if (auto const fewest = static_cast<std::int64_t>(options.packs); fewest > out.bound.packs) {
    out.bound = {fewest, packing_bound::cutting_stock};
    out.proof = {};
  }
  if (found.status != status::feasible) return;
  out.patterns = {};
  out.patterns.append(found.patterns);
}

/// The plan under a limit of samples per pack: the limit is a second measure, of which every sample needs 1.
template <class = when_called>
[[nodiscard]] inline found_plan<> search_limited(histogram const& weights, std::int64_t capacity, std::uint64_t max_samples,
                                                 packs_needed const& bound, best_fit_patterns<>& best_fit, search_limits limits,
                                                 search_tuning const& tuning) {
  found_plan<> out;
  auto const packs = best_fit.packs();
  out.bound = bound;
  auto const keeps_limit = [&](pooled_patterns const& plan) {
    for (std::size_t p = 0; p < plan.size(); ++p)
      if (std::accumulate(plan[p].begin(), plan[p].end(), std::uint64_t{0}, [](auto n, auto const& item) { return n + item.copies; }) >
          max_samples)
        return false;
    return true;
  };
  if (best_fit_patterns<> any_number; any_number.plan(weights, capacity) == packs) {  // the limit may not bind
    limits.work /= 2;
    search_budget budget(limits);
    near_optimal_search<> search(weights, capacity, any_number, budget, tuning);
    search.run(bound_without_limit(weights, capacity, packs));
    out.take(search, budget);
    if (keeps_limit(out.patterns)) return out;
  }
  pack_patterns start;
  start.append(best_fit.patterns(weights));
  measure_classes classes{2, {}, weights.counts};
  for (auto const length : weights.lengths) classes.values.insert(classes.values.end(), {length, 1});
  std::int64_t const capacities[] = {capacity, static_cast<std::int64_t>(max_samples)};
  if (tuning.completion_start)
    if (auto completed = plan_bin_completion(classes, capacities); completed.packs() < packs) start = std::move(completed);
  auto const distinct = weights.lengths.size();
  auto const exact = tuning.exact_finish && distinct <= tuning.few_rows && distinct <= limits.work / tuning.work_of_row &&
                     can_price(capacity, distinct, max_samples, cutting_stock_options{}.most_cells);
  if (exact) limits.work /= 2;
  vector_search<> search(classes, capacities, limits);
  search.run(&start);
  out.patterns = std::move(search.best());
  out.spend(search.budget());
  auto const by_program = search.bound().bound == vector_bound::linear_program;
  if (search.bound().packs > out.bound.packs && (by_program || search.bound().bound == vector_bound::mixture)) {
    out.bound = {search.bound().packs, by_program ? packing_bound::linear_program : packing_bound::mixture};
    out.proof = {};
    if (by_program) {
      auto const duals = search.duals();
      out.proof.value.assign(duals.begin(), duals.end());
      out.proof.capacity = search.dual_capacity();
    }
  }
  if (exact) finish_limited(weights, capacity, max_samples, limits, tuning, out);
  return out;
}

/// The plan of a histogram of weights, none above the capacity. `best_fit` has planned them, and `bound` is the best one by formula.
template <class = when_called>
[[nodiscard]] found_plan<> search_classes(histogram const& weights, std::int64_t capacity, std::uint64_t max_samples,
                                          packs_needed const& bound, best_fit_patterns<>& best_fit, search_limits const& limits,
                                          search_tuning const& tuning = default_tuning) {
  found_plan<> out;
  if (weights.lengths.empty()) return out;
  auto const most = capacity / weights.lengths.front();
  if (constexpr auto count = (std::numeric_limits<std::uint32_t>::max)(); most > count) {  // of the copies of a class in a pattern
    require(weights.samples() <= count, [&] { return sentence("capacity = ", capacity, " holds 2^32 samples or more"); });
    return {.patterns = best_fit.patterns(weights), .bound = bound, .proof = {}};
  }
  if (max_samples < weights.samples() && max_samples < static_cast<std::uint64_t>(most))
    return search_limited(weights, capacity, max_samples, bound, best_fit, limits, tuning);
  search_budget budget(limits);
  near_optimal_search<> search(weights, capacity, best_fit, budget, tuning);
  search.run(max_samples >= weights.samples() ? bound : bound_without_limit(weights, capacity, best_fit.packs()));
  out.take(search, budget);
  return out;
}

BALLAST_INSTANTIATE(found_plan<> search_classes(histogram const&, std::int64_t, std::uint64_t, packs_needed const&, best_fit_patterns<>&,
                                                search_limits const&, search_tuning const&))

}  // namespace ballast::inline v0_2::detail
