// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/packing/detail/search/vector_search.hpp>
#include <ballast/packing/near_optimal.hpp>
#include <ballast/packing/patterns.hpp>
#include <ballast/packing/vector/bounds.hpp>
#include <ballast/packing/vector/detail/driver.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/options.hpp>
#include <ballast/packing/vector/result.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief Packing of samples with several measures that is optimal or close to it, with a bound that proves it.

namespace ballast::inline v0_2 {

/// @brief The plan of samples of several measures: on classes of equal measures.
using vector_near_optimal_plan = basic_near_optimal_plan<vector_packs_needed>;

namespace detail {

/// Several measures' plan from that of one.
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

/// @brief Packs classes of several measures near-optimally: the plan of classes, for callers who expand it themselves.
///
/// See `near_optimal` for what it computes.
///
/// @param classes   what there is to pack: rows ascending, every count positive, a measure may be 0
/// @param capacity  of one pack: an entry per measure, none below a value of the classes
/// @param limits    how long to search
/// @param start     a legal plan of these classes to improve on, or none: then best fit and completion make one
/// @return the plan, never worse than the start
/// @post every class is placed exactly as often as it occurs
/// @throws invalid_input if the classes or the capacities cannot be such
/// @par Complexity
/// What `limits` allow, and O(classes * slices + states * capacity) memory: a slice is a combination of the leading measures, a state a way
/// to use up their capacities. With more than 256 slices, 2^14 states or larger tables than a search can afford, the leading measures are
/// rounded in the linear programs, and the bound is one of `vector_lower_bound`. With a capacity above 2^31, or more than 2^12 samples of a
/// class in a pack, the start is returned.
/// @par Determinism
/// A pure function of its arguments unless a stop or the wall clock strikes (`complete`).
[[nodiscard]] inline vector_near_optimal_plan plan_near_optimal(measure_classes const& classes, std::span<std::int64_t const> capacity,
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
  detail::vector_search search(classes, capacity, limits);
  search.run(start);
  vector_near_optimal_plan out{search.patterns(), {}, search.bound(), {}, 0, search.budget().spent(), !search.budget().interrupted()};
  out.count = {static_cast<std::int64_t>(out.patterns.packs()), out.bound.packs};
  if (out.bound.bound == vector_bound::linear_program) {
    out.duals = search.duals();
    out.dual_capacity = search.dual_capacity();
  }
  return out;
}

/// @brief The linear program's bound on the number of packs, where it is better than those of `vector_lower_bound`.
///
/// @param classes   what there is to pack: rows ascending, every count positive, a measure may be 0
/// @param capacity  of one pack: an entry per measure, none below a value of the classes
/// @param limits    how long to search; `gap` counts from a plan by best fit and completion
/// @return the best bound found, `linear_program` or one of `vector_lower_bound`
/// @throws invalid_input if the classes or the capacities cannot be such
/// @par Complexity
/// That of best fit, completion and a few linear programs of at most about 260 bands of classes.
/// @par Determinism
/// A pure function of its arguments unless a stop or the wall clock strikes.
/// @par Source
/// Farley, "A note on bounding a class of linear programming problems, including cutting stock problems", Operations Research 38 (1990).
[[nodiscard]] inline vector_packs_needed linear_program_bound(measure_classes const& classes, std::span<std::int64_t const> capacity,
                                                              search_limits const& limits = {}) {
  require_valid(classes, capacity);
  if (classes.size() == 0) return {};
  detail::vector_search search(classes, capacity, limits);
  search.bound_only();
  return search.bound();
}

/// @brief Packs samples of several measures into the fewest packs, or a few more, and proves how few there can be.
///
/// Best fit and completion first, and nothing more where they are proven optimal. Else linear programs over bands of classes, which never
/// mix the measures but the one with most distinct values, say which mixes to pack; packs are drawn for them, and those that waste most are
/// packed anew. The linear program also proves a bound. A limit of samples per pack is a measure like others.
///
/// @tparam Index  type of the sample indices
/// @param samples  their measures; may be empty
/// @param options  capacity per measure and limits
/// @param limits   how long to search; about a second where no plan is proven optimal sooner
/// @return packs of sample indices and how near their number is to the least possible one
/// @post no pack exceeds a capacity; every sample is in exactly one pack or in `set_aside`
/// @throws invalid_input for bad options, a negative measure, a sample of nothing, and one above a capacity under `oversize::reject`
/// @par Complexity
/// O(n) to classify and expand where the measures' ranges are moderate (see `classify`), and that of the plan.
/// @par Determinism
/// A pure function of its arguments unless a stop or the wall clock strikes (`complete`): the linear programs compute in doubles, but round
/// the same way on every compiler and flag, and the bound is proven in integers.
/// @par Source
/// Gilmore, Gomory, "A linear programming approach to the cutting-stock problem", Operations Research 9 (1961): column generation. Groups
/// with linear duals, and drawing from them: this library.
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

}  // namespace ballast::inline v0_2
