// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/packing/detail/driver.hpp>
#include <ballast/packing/detail/scatter.hpp>
#include <ballast/packing/detail/search/near_optimal_search.hpp>
#include <ballast/packing/detail/search/vector_search.hpp>
#include <ballast/packing/patterns.hpp>
#include <ballast/packing/run_length.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief Packing that is optimal or a pack or two from it, with a bound that proves it.

namespace ballast::inline v0_2 {

/// @brief A plan on classes of equal length, and what proves how good it is.
struct near_optimal_plan {
  pack_patterns patterns;  ///< of the histogram's classes
  certificate count;       ///< packs, and the number below which no plan can go
  packs_needed bound;      ///< what proves `count.lower_bound`
  std::vector<std::int32_t>
      duals;  ///< linear_program: the value of a sample of each class that proves the bound (`check_duals`); else empty
  std::int64_t dual_capacity = 0;  ///< linear_program: most value one pack can hold
  std::uint64_t work = 0;          ///< spent, in the unit of `search_limits::work`
  bool complete = true;            ///< false where a stop or the wall clock cut the search short
};

namespace detail {

/// What a search found is the plan, unless a better bound is known.
inline void take_search(near_optimal_plan& out, near_optimal_search& search) {
  out.patterns = std::move(search.patterns());
  out.work += search.budget().spent();
  out.complete = !search.budget().interrupted();
  if (search.bound().packs < out.bound.packs || search.bound().bound == packing_bound::none) return;
  out.bound = search.bound();
  if (out.bound.bound != packing_bound::linear_program) return;
  out.duals = std::move(search.proof().value);
  out.dual_capacity = search.proof().capacity;
}

/// The plan where a pack may hold fewer samples than fit: the limit is a second measure, of which every sample needs 1.
[[nodiscard]] inline near_optimal_plan search_limited(histogram const& weights, std::int64_t capacity, std::uint64_t max_samples,
                                                      best_fit_patterns& best_fit, std::uint64_t packs, search_limits limits) {
  near_optimal_plan out;
  out.bound = packing_lower_bound(weights, capacity, max_samples, static_cast<std::int64_t>(packs));
  auto const keeps_limit = [&](pack_patterns const& plan) {
    for (std::size_t p = 0; p < plan.size(); ++p)
      if (std::accumulate(plan[p].begin(), plan[p].end(), std::uint64_t{0}, [](auto n, auto const& item) { return n + item.copies; }) >
          max_samples)
        return false;
    return true;
  };
  std::vector<std::uint32_t> of(weights.lengths.size());
  std::iota(of.begin(), of.end(), 0U);
  if (best_fit.plan(weights, capacity) == packs) {  // perhaps the limit does not bind
    limits.work /= 2;
    near_optimal_search search(weights, capacity, limits);
    search.run();
    take_search(out, search);
    if (keeps_limit(out.patterns)) return out;
  }
  (void)best_fit.plan(weights, capacity, max_samples);
  pack_patterns start;
  best_fit.append(weights, of, start);
  measure_classes classes{2, {}, weights.counts};
  for (auto const length : weights.lengths) classes.values.insert(classes.values.end(), {length, 1});
  std::int64_t const capacities[] = {capacity, static_cast<std::int64_t>(max_samples)};
  if (auto completed = plan_bin_completion(classes, capacities); completed.packs() < packs) start = std::move(completed);
  vector_search search(classes, capacities, limits);
  search.run(&start);
  out.patterns = std::move(search.patterns());
  out.work += search.budget().spent();
  out.complete = out.complete && !search.budget().interrupted();
  auto const by_program = search.bound().bound == vector_bound::linear_program;
  if (search.bound().packs <= out.bound.packs || (!by_program && search.bound().bound != vector_bound::mixture)) return out;
  out.bound = {search.bound().packs, by_program ? packing_bound::linear_program : packing_bound::mixture};
  out.duals = by_program ? search.duals() : std::vector<std::int32_t>{};
  out.dual_capacity = by_program ? search.dual_capacity() : 0;
  return out;
}

/// The plan of a histogram of weights, none above the capacity.
[[nodiscard]] inline near_optimal_plan search_patterns(histogram const& weights, std::int64_t capacity, std::uint64_t max_samples,
                                                       search_limits const& limits) {
  near_optimal_plan out;
  if (weights.lengths.empty()) return out;
  require(capacity / weights.lengths.front() <= (std::numeric_limits<std::uint32_t>::max)(),
          [&] { return "capacity = " + std::to_string(capacity) + " holds 2^32 samples or more"; });
  if (max_samples < weights.samples() && max_samples < static_cast<std::uint64_t>(capacity / weights.lengths.front())) {
    best_fit_patterns best_fit;
    auto const packs = best_fit.plan(weights, capacity, max_samples);
    out = search_limited(weights, capacity, max_samples, best_fit, packs, limits);
  } else {
    near_optimal_search search(weights, capacity, limits);
    search.run();
    take_search(out, search);
  }
  out.count = {static_cast<std::int64_t>(out.patterns.packs()), out.bound.packs};
  return out;
}

/// Takes the packs of a plan on classes to a packing of samples.
template <index_type Index>
struct near_optimal_solver {
  search_limits const& limits;
  near_optimal_plan& plan;
  std::uint64_t& placed;
  template <class Weights>
  void operator()(packing_items<Weights> const& items, groups<Index>& packs) const {
    plan = search_patterns(items.classes, items.capacity, items.max_samples, limits);
    placed = items.classes.samples();
    scatter_workspace<Index> positions;
    auto* const order = positions.order.get(static_cast<std::size_t>(placed));
    sort_canonically(items.weight, items.count, in_order{}, items.classes, order, positions, serial{});
    std::vector<std::uint64_t> next(items.classes.lengths.size());  // the longest come first
    for (std::uint64_t k = next.size(), first = 0; k-- > 0; first += items.classes.counts[k]) next[k] = first;
    packs.clear();
    expand(plan.patterns, std::move(next), order, packs);
  }
};

}  // namespace detail

/// @brief Packs a histogram of lengths near-optimally: the plan of classes, for callers who expand it themselves.
///
/// See `near_optimal` for what it computes.
///
/// @param lengths  histogram of sample lengths in tokens
/// @param options  capacity, max_samples, sample_multiple and pack_multiple; every length must fit, and a count of packs cannot be demanded
/// @param limits   how long to search
/// @return the plan; its classes are those of the histogram, or with a `sample_multiple` those of the rounded lengths
/// @post every class is placed exactly as often as it occurs; never more packs than best-fit decreasing
/// @throws invalid_input for a bad option, an invalid histogram, or a length above the capacity
/// @par Complexity
/// That of best-fit decreasing where this is proven optimal; else what `limits` allow, at most twice as much, and O(distinct lengths)
/// memory beside tables of at most 2^24 entries.
/// @par Determinism
/// A pure function of its arguments unless a stop or the wall clock strikes (`complete`).
[[nodiscard]] inline near_optimal_plan plan_near_optimal(histogram const& lengths, packing_options const& options,
                                                         search_limits const& limits = {}) {
  require(options.oversize == oversize::reject && options.pack_count == 0 && options.pack_count_multiple == 1, [] {
    return std::string("a plan of classes takes no over-size policy and no demanded number of packs: use near_optimal on the lengths");
  });
  auto const items = apply_oversize(lengths, options);
  auto const max_samples = options.max_samples != 0 ? options.max_samples : items.weights.samples() + 1;
  return detail::search_patterns(items.weights, round_down(options.capacity, options.pack_multiple), max_samples, limits);
}

/// @brief The number of packs that `near_optimal` needs, with its certificate, without saying which sample goes where.
///
/// Equals `near_optimal(lengths, options, limits).count` for every set of lengths with this histogram.
///
/// @param lengths  histogram of sample lengths in tokens
/// @param options  as for `near_optimal`, every field
/// @param limits   how long to search
/// @return the tally
/// @throws invalid_input for a bad option, an invalid histogram, or a length above the capacity under `oversize::reject`
/// @par Complexity
/// That of `plan_near_optimal`; the number of samples does not enter.
/// @par Determinism
/// A pure function of its arguments unless a stop or the wall clock strikes.
[[nodiscard]] inline pack_tally count_near_optimal(histogram const& lengths, packing_options const& options,
                                                   search_limits const& limits = {}) {
  auto const items = apply_oversize(lengths, options);
  auto const samples = items.weights.samples() + items.own;
  auto const plan = detail::search_patterns(items.weights, round_down(options.capacity, options.pack_multiple),
                                            options.max_samples != 0 ? options.max_samples : samples + 1, limits);
  auto bound = plan.bound;
  bound.packs += static_cast<std::int64_t>(items.own);
  auto const verdict = detail::judge_count(plan.patterns.packs() + items.own, samples, bound, options);
  return {verdict.status, verdict.count, verdict.bound, verdict.status == status::feasible ? items.tokens : 0, items.set_aside};
}

/// @brief Packs samples into the fewest packs, or a few more, and proves how few there can be.
///
/// Best-fit decreasing first, and nothing more where its plan is proven optimal. Else linear programs over groups of lengths say which
/// mixes of lengths to pack, packs that are exactly full are drawn for them, and exchanges between packs save the last ones; the linear
/// program also proves a bound. docs/near-optimal.md explains the method.
///
/// A limit of samples per pack that binds is a second measure of the same search, in the linear programs, in the bound and in the drawing.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  capacity and limits
/// @param limits   how long to search; about a second where no plan is proven optimal sooner
/// @param cost     weighs one length; tokens by default
/// @return packs of sample indices and how near their number is to the least possible one
/// @post never more packs than `best_fit_decreasing`
/// @throws invalid_input for a bad option, a length that is not positive, or one above the capacity under `oversize::reject`
/// @par Complexity
/// That of `best_fit_decreasing` where this is proven optimal; else what `limits` allow, at most twice as much, and O(n) memory beside
/// tables of at most 2^24 entries.
/// @par Determinism
/// A pure function of its arguments unless a stop or the wall clock strikes (`complete`): the linear programs compute in doubles, but round
/// the same way on every compiler and flag, and the bound is proven in integers.
/// @par Source
/// Gilmore, Gomory, "A linear programming approach to the cutting-stock problem", Operations Research 9 (1961): column generation. Farley,
/// Operations Research 38 (1990): the bound of any duals. Groups of lengths with linear duals, and drawing from them: this library.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] packing<Index> near_optimal(R const& lengths, packing_options const& options, search_limits const& limits = {},
                                          Cost const& cost = {}) {
  near_optimal_plan plan;
  std::uint64_t placed = 0;
  auto out = detail::drive<Index>(lengths, options, cost, detail::near_optimal_solver<Index>{limits, plan, placed});
  out.complete = plan.complete;
  // The driver knows only the bounds by formula.
  auto const alone = std::uint64_t{std::ranges::size(lengths)} + out.pieces.size() - out.set_aside.size() - placed;
  auto bound = plan.bound;
  bound.packs += static_cast<std::int64_t>(alone);
  auto const verdict = detail::judge_count(plan.patterns.packs() + alone, placed + alone, bound, options);
  if (verdict.count.lower_bound <= out.count.lower_bound) return out;
  out.status = verdict.status;
  out.count = verdict.count;
  out.bound = verdict.bound;
  return out;
}

}  // namespace ballast::inline v0_2
