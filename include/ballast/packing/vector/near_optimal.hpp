// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/packing/detail/search/vector_search.hpp>
#include <ballast/packing/near_optimal.hpp>
#include <ballast/packing/vector/bounds.hpp>
#include <ballast/packing/vector/detail/driver.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/options.hpp>
#include <ballast/packing/vector/result.hpp>
#include <ballast/patterns/patterns.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

/// @file
/// @brief Packing of samples with several measures by column generation: optimal or close to it, with a lower bound that shows it.

namespace ballast::inline v0_2 {

/// @brief The plan of samples of several measures, on classes of samples that agree in every measure.
using vector_near_optimal_plan = basic_near_optimal_plan<vector_packs_needed>;

namespace detail {

/// The plan of classes of which only one measure is used, by the search for one measure.
template <class = when_called>
[[nodiscard]] inline vector_near_optimal_plan plan_one_measure(measure_classes const& classes, std::int64_t capacity,
                                                               search_limits const& limits, pack_patterns const* start) {
  auto one = search_patterns({classes.values, classes.counts}, capacity, classes.samples() + 1, limits);
  auto const by_program = one.bound.bound == packing_bound::linear_program;
  vector_packs_needed bound{one.bound.packs, by_program ? vector_bound::linear_program : vector_bound::measure, 0, one.bound.bound};
  if (start != nullptr && start->packs() < one.patterns.packs()) {
    one.patterns = *start;
    one.count.value = static_cast<std::int64_t>(start->packs());
  }
  return {std::move(one.patterns), one.count, bound, std::move(one.duals), one.dual_capacity, one.work, one.complete};
}

}  // namespace detail

/// @brief Packs classes of several measures near-optimally, and returns the plan as patterns of classes.
///
/// For callers who assign samples to patterns themselves. `near_optimal` describes the method.
///
/// @param classes   the classes to pack, ascending, with positive counts; a measure may be 0
/// @param capacity  capacity of one pack in each measure, not below any value of the classes
/// @param limits    limits of the search
/// @param start     a valid plan of these classes to improve on; if null, `plan_vector_best_fit` and `plan_bin_completion` make one
/// @return the plan, never with more packs than `start`
/// @post every class is placed exactly as often as it occurs
/// @throws invalid_input unless the classes and the capacities are valid
/// @par Complexity
/// The work that `limits` allow, and O(classes * slices + states * capacity) memory. The leading measures are all but the one with most
/// distinct values; a slice is a combination of their values that occurs, and a state is a combination of used capacities. With more than
/// 256 slices, more than 2^14 states, or larger tables than a search can afford, the leading measures are rounded in the linear programs,
/// and the lower bound is that of `vector_lower_bound`. With a capacity above 2^31, or more than 2^12 samples of a class in a pack, `start`
/// is returned.
/// @par Determinism
/// A pure function of its arguments, unless a stop request or the wall clock ends the search (`complete` is false then).
template <class = when_called>
[[nodiscard]] vector_near_optimal_plan plan_near_optimal(measure_classes const& classes, std::span<std::int64_t const> capacity,
                                                         search_limits const& limits = {}, pack_patterns const* start = nullptr) {
  require_valid(classes, capacity);
  if (classes.size() == 0) return {};
  constexpr std::int64_t most_copies = (std::numeric_limits<std::uint32_t>::max)();
  std::size_t measure = 0, used = 0;
  for (std::size_t m = 0; m < classes.measures; ++m)
    if (classes.total(m) != 0) {
      measure = m;
      ++used;
    }
  if (used == 1 && capacity[measure] / classes[0][measure] <= most_copies) {  // the others are 0 everywhere
    measure_classes one{1, {}, classes.counts};
    for (std::size_t c = 0; c < classes.size(); ++c) one.values.push_back(classes[c][measure]);
    auto plan = detail::plan_one_measure(one, capacity[measure], limits, start);
    if (plan.bound.bound == vector_bound::measure) plan.bound.measure = measure;
    return plan;
  }
  detail::vector_search<> search(classes, capacity, limits);
  search.run(start);
  vector_near_optimal_plan out{search.patterns(), {}, search.bound(), {}, 0, search.budget().spent(), !search.budget().interrupted()};
  out.count = {static_cast<std::int64_t>(out.patterns.packs()), out.bound.packs};
  if (out.bound.bound == vector_bound::linear_program) {
    out.duals = search.duals();
    out.dual_capacity = search.dual_capacity();
  }
  return out;
}

/// @brief Returns a lower bound on the number of packs: that of linear programs if it is better than `vector_lower_bound`.
///
/// @param classes   the classes to pack, ascending, with positive counts; a measure may be 0
/// @param capacity  capacity of one pack in each measure, not below any value of the classes
/// @param limits    limits of the search; `gap` is relative to a plan by best fit and completion
/// @return the best lower bound found, with `vector_bound::linear_program` or a bound of `vector_lower_bound`
/// @throws invalid_input unless the classes and the capacities are valid
/// @par Complexity
/// That of best fit, completion and a few linear programs over at most about 260 bands of classes.
/// @par Determinism
/// A pure function of its arguments, unless a stop request or the wall clock ends the search.
/// @par Source
/// Farley, "A note on bounding a class of linear programming problems, including cutting stock problems", Operations Research 38 (1990).
template <class = when_called>
[[nodiscard]] inline vector_packs_needed linear_program_bound(measure_classes const& classes, std::span<std::int64_t const> capacity,
                                                              search_limits const& limits = {}) {
  require_valid(classes, capacity);
  if (classes.size() == 0) return {};
  detail::vector_search<> search(classes, capacity, limits);
  search.bound_only();
  return search.bound();
}

/// @brief Packs samples of several measures near-optimally by column generation, and proves a lower bound on the number of packs.
///
/// The plan of best fit or completion is returned if it is proven optimal. Otherwise linear programs over bands of classes say which mixes
/// of classes to pack; the classes of a band differ only in the measure with most distinct values. Random packs of these mixes are drawn,
/// and the packs that waste most are packed again. The linear program also proves the lower bound. A limit of samples per pack is treated
/// as a further measure.
///
/// @tparam Index  type of the sample indices
/// @param samples  measures of each sample; may be empty
/// @param options  capacities and limits
/// @param limits   limits of the search; by default it ends after about a second, or sooner if a plan is proven optimal
/// @return packs of sample indices, and the number of packs beside a proven lower bound
/// @post no pack exceeds a capacity, except under `oversize::alone`; every sample is in exactly one pack or in `set_aside`
/// @throws invalid_input for a bad option, a negative measure, a sample whose measures are all 0, or a sample above a capacity under
/// `oversize::reject`
/// @par Complexity
/// O(n) to classify and expand if the measures' ranges are moderate (see `classify`), plus the time of the plan.
/// @par Determinism
/// A pure function of its arguments, unless a stop request or the wall clock ends the search (`complete` is false then). The linear
/// programs compute in doubles, but round in the same way with every compiler and flag, and the bound is proven in integers.
/// @par Source
/// Gilmore, Gomory, "A linear programming approach to the cutting-stock problem", Operations Research 9 (1961): column generation. Bands of
/// classes with linear dual values, and drawing packs from them: this library.
template <index_type Index = std::uint32_t>
[[nodiscard]] vector_packing<Index> near_optimal(sample_measures const& samples, vector_packing_options const& options,
                                                 search_limits const& limits = {}) {
  return detail::drive<Index>(samples, options, vector_packer::near_optimal, [&](auto const& items, auto& out) {
    auto const plan = plan_near_optimal(items.classes, items.capacity, limits);
    detail::expand_all(plan.patterns, items, out.packs);
    out.count.lower_bound = plan.bound.packs;
    out.bound = plan.bound.bound;
    out.measure = plan.bound.measure;
    out.complete = plan.complete;
  });
}

BALLAST_INSTANTIATE(vector_near_optimal_plan plan_near_optimal(measure_classes const&, std::span<std::int64_t const>, search_limits const&,
                                                               pack_patterns const*))

}  // namespace ballast::inline v0_2
