// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_limits.hpp>
#include <ballast/core/status.hpp>
#include <ballast/recompute/detail/choice_problem.hpp>
#include <ballast/recompute/detail/choice_search.hpp>
#include <ballast/recompute/detail/greedy_assignment.hpp>
#include <ballast/recompute/memory_option.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief Selections of one option per item that fit in memory and lose as little time as possible: exact, or greedy with a lower bound.

namespace ballast::inline v0_2 {

/// @brief Finds the selection of least time within the budget: a multiple-choice knapsack, with link time that is hidden up to a limit.
///
/// Memory is counted in units of the options' common divisor, and equal items stay folded. Partial selections are extended class by class.
/// Those that another one dominates or that a Lagrangian bound rules out are dropped. A list that outgrows the work is cut to its most
/// promising entries; the certificate then shows the gap.
///
/// @param items    classes of items; folding them with `fold` makes the search faster, not better
/// @param options  budget and hidden link time
/// @param limits   when the search stops; a partial selection that is held over all steps counts as 100 of its work
/// @return the selection, or `status::infeasible` if even the least memory of every class exceeds the budget
/// @post never above the budget; every item takes one option of its class; optimal unless `limits` cut the search short
/// @throws invalid_input as `require_valid`, or if the budget or the hidden link time is negative
/// @par Complexity
/// O(options * log of the price range) for the bound, then at most `limits.work` / 100 states; few if the greedy selection is nearly
/// optimal.
/// @par Determinism
/// A pure function of its arguments, unless a stop or the clock ends the search.
/// @par Source
/// Pisinger, "A minimal algorithm for the bounded knapsack problem", INFORMS Journal on Computing 12 (2000), for bounds that limit how far
/// a class deviates; the treatment of hidden link time is this library's.
template <class = when_called>
[[nodiscard]] selection choose_options(option_classes const& items, selection_options const& options,
                                       search_limits const& limits = {.work = selection_work}) {
  require_valid(items);
  detail::require_valid(options);
  detail::choice_problem const problem(items, options);
  if (!problem.feasible) return {.status = status::infeasible, .time = {}, .memory = problem.least, .copies = {}};
  detail::choice_search<> const search(problem, detail::best_prices(problem), limits);
  auto out = detail::to_selection(problem, search.best(), search.lower_bound(), items.options.size(), search.operations());
  out.complete = search.complete();
  return out;
}

/// @brief Finds a good selection in microseconds: the cheapest at one price of memory, then improved in order of time gained per byte.
///
/// @param items    classes of items
/// @param options  budget and hidden link time
/// @return the selection, with the lower bound that the price proves; `status::infeasible` as `choose_options`
/// @post never above the budget; every item takes one option of its class
/// @throws invalid_input as `choose_options`
/// @par Complexity
/// O(options * log of the price range + options * log options).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Dantzig, "Discrete-variable extremum problems", Operations Research 5 (1957); Everett, Operations Research 11 (1963) for the bound.
template <class = when_called>
[[nodiscard]] inline selection choose_options_greedily(option_classes const& items, selection_options const& options) {
  require_valid(items);
  detail::require_valid(options);
  detail::choice_problem const problem(items, options);
  if (!problem.feasible) return {.status = status::infeasible, .time = {}, .memory = problem.least, .copies = {}};
  auto const at = detail::best_prices(problem);
  auto const chosen = detail::greedy_assignment(problem, at);
  auto const value = problem.total(chosen.time, chosen.transfer);
  auto const bound = (std::min)(value, at.rounded_up(detail::scaled_bound(problem, at)));
  return detail::to_selection(problem, chosen, bound, items.options.size(), at.operations);
}

/// @brief Converts a selection on classes to one option per item. Within a class, the first items take the first options.
///
/// @param folded  the result of `fold` for items with a count of 1
/// @param chosen  a feasible selection on `folded.classes`
/// @return for each item, the index of the option that it takes
/// @par Complexity
/// O(items + options).
template <class = when_called>
[[nodiscard]] inline std::vector<std::uint32_t> option_of_each(folded_options const& folded, selection const& chosen) {
  auto left = chosen.copies;
  std::vector<std::uint64_t> at(folded.classes.offsets.begin(), folded.classes.offsets.end());
  std::vector<std::uint32_t> out(folded.class_of.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto const k = folded.class_of[i];
    while (left[static_cast<std::size_t>(at[k])] == 0) ++at[k];
    --left[static_cast<std::size_t>(at[k])];
    out[i] = static_cast<std::uint32_t>(at[k] - folded.classes.offsets[k]);
  }
  return out;
}

BALLAST_INSTANTIATE(selection choose_options(option_classes const&, selection_options const&, search_limits const&))

}  // namespace ballast::inline v0_2
