// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/status.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/recompute/memory_option.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

/// @file
/// @brief The validator of selections from this library or any other planner. It shares no code with the planners.

namespace ballast::inline v0_2 {

/// @brief The rule that a selection breaks, in the order in which they are checked.
struct selection_fault : common_fault {
  static constexpr rule wrong_size{"copies does not have one entry for each option, or has entries without a plan"};
  static constexpr rule wrong_count{"the copies of class {index} do not add up to its items"};
  static constexpr rule wrong_memory{"memory is not that of the items, or, if infeasible, not the least possible"};
  static constexpr rule over_budget{"memory exceeds the budget, or the result is infeasible although the least memory does not"};
  static constexpr rule wrong_transfer{"transfer is not the link time of the items"};
  static constexpr rule wrong_time{"time is not that of the items and of the transfers that are not hidden"};
};

/// @brief Checks a selection against the definition.
/// @param chosen   the result of a planner
/// @param items    the items that it was given
/// @param options  the options that it was given
/// @return the first broken rule; for `wrong_count`, the index is the class
/// @throws invalid_input as `require_valid`
/// @par Complexity
/// O(options).
template <class = when_called>
[[nodiscard]] inline verdict check_selection(selection const& chosen, option_classes const& items, selection_options const& options) {
  require_valid(items);
  auto const feasible = chosen.status == status::feasible;
  if (chosen.copies.size() != (feasible ? items.options.size() : 0)) return {selection_fault::wrong_size, 0};
  std::int64_t memory = 0, time = 0, transfer = 0;
  for (std::size_t k = 0; k < items.size(); ++k) {
    auto const begin = static_cast<std::size_t>(items.offsets[k]), end = static_cast<std::size_t>(items.offsets[k + 1]);
    if (!feasible) {
      auto least = items.options[begin].memory;
      for (auto j = begin; j < end; ++j) least = (std::min)(least, items.options[j].memory);
      memory += least * static_cast<std::int64_t>(items.counts[k]);
      continue;
    }
    auto left = items.counts[k];
    for (auto j = begin; j < end; ++j) {
      if (chosen.copies[j] > left) return {selection_fault::wrong_count, k};
      left -= chosen.copies[j];
      auto const n = static_cast<std::int64_t>(chosen.copies[j]);
      memory += n * items.options[j].memory;
      time += n * items.options[j].time;
      transfer += n * items.options[j].transfer;
    }
    if (left != 0) return {selection_fault::wrong_count, k};
  }
  if (chosen.memory != memory) return {selection_fault::wrong_memory, 0};
  if ((memory <= options.budget) != feasible) return {selection_fault::over_budget, 0};
  if (!feasible) return {};
  if (chosen.transfer != transfer) return {selection_fault::wrong_transfer, 0};
  if (chosen.time.value != time + (std::max)(transfer - options.hidden_transfer, std::int64_t{0})) return {selection_fault::wrong_time, 0};
  if (chosen.time.lower_bound < 0 || chosen.time.lower_bound > chosen.time.value) return {selection_fault::wrong_bound, 0};
  return {};
}

}  // namespace ballast::inline v0_2
