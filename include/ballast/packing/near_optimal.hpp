// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/packing/detail/search/search_solver.hpp>
#include <ballast/packing/patterns.hpp>
#include <ballast/packing/run_length.hpp>

#include <cstdint>
#include <string>
#include <vector>

/// @file
/// @brief Packing that is optimal or a pack or two from it, with a bound that proves it.

namespace ballast::inline v0_2 {

/// @brief A plan on classes, and what proves how good it is.
/// @tparam Bound  a number of packs and what proves that no plan has fewer
template <class Bound>
struct basic_near_optimal_plan {
  pack_patterns patterns;  ///< of the classes
  certificate count;       ///< packs, and the number below which no plan can go
  Bound bound;             ///< what proves `count.lower_bound`
  std::vector<std::int32_t>
      duals;  ///< linear_program: the value of a sample of each class that proves the bound (`check_duals`); else empty
  std::int64_t dual_capacity = 0;  ///< linear_program: most value one pack can hold
  std::uint64_t work = 0;          ///< spent, in the unit of `search_limits::work`
  bool complete = true;            ///< false where a stop or the wall clock cut the search short
};
/// @brief The plan of a histogram: on classes of equal length.
using near_optimal_plan = basic_near_optimal_plan<packs_needed>;

namespace detail {

/// The plan of a histogram of weights, none above the capacity.
[[nodiscard]] inline near_optimal_plan search_patterns(histogram const& weights, std::int64_t capacity, std::uint64_t max_samples,
                                                       search_limits const& limits) {
  pooled_memory memory;
  pool_scope const scope(memory);
  best_fit_patterns best_fit;
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
  return detail::tally(apply_oversize(lengths, options), options, {limits});
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
/// @param cost     weighs one length
/// @param limits   how long to search; about a second where no plan is proven optimal sooner
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
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] packing<Index> near_optimal(R const& lengths, packing_options const& options, Cost const& cost,
                                          search_limits const& limits = {}) {
  packing_workspace<Index> workspace;
  packing<Index> out;
  detail::search_rule const rule{limits};
  detail::drive<Index>(lengths, options, cost, detail::search_solver<Index>{options, rule, workspace}, workspace.driver, out);
  return out;
}
/// @brief The same for tokens. @param lengths as above @param options as above @param limits as above @return as above
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] packing<Index> near_optimal(R const& lengths, packing_options const& options, search_limits const& limits = {}) {
  return near_optimal<Index>(lengths, options, token_cost{}, limits);
}

}  // namespace ballast::inline v0_2
