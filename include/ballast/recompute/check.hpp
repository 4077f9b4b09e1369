// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/status.hpp>
#include <ballast/recompute/option.hpp>
#include <ballast/recompute/selection.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

/// @file
/// @brief The validator of selections, ours or anybody's. It shares no code with the planners.

namespace ballast::inline v0_2 {

/// @brief The rules of a selection, in the order in which they are checked.
enum class selection_rule : std::uint8_t {
  none,      ///< all hold
  size,      ///< as many copies as options; none without a plan
  count,     ///< every item of the class takes one option
  memory,    ///< the reported memory is that of the items, or of the least options where infeasible
  budget,    ///< memory is within the budget; where infeasible, the least is above it
  transfer,  ///< the reported time on the link is that of the items
  time,      ///< the reported time is that of the items and of what is not hidden
  bound,     ///< the lower bound is not negative and not above the time
};

/// @brief The first rule that a selection breaks, and where.
struct selection_verdict {
  selection_rule rule = selection_rule::none;  ///< none: the selection is right
  std::size_t index = 0;                       ///< the class, for `count`
  friend constexpr bool operator==(selection_verdict const&, selection_verdict const&) = default;
};

/// @brief Checks a selection against the definition.
/// @param chosen  what a planner returned
/// @param items   what it was given
/// @param asked   what it was asked
/// @return the first rule broken
/// @throws invalid_input as `require_valid`
/// @par Complexity
/// O(options).
[[nodiscard]] inline selection_verdict check_selection(selection const& chosen, option_classes const& items,
                                                       selection_options const& asked) {
  require_valid(items);
  auto const feasible = chosen.status == status::feasible;
  if (chosen.copies.size() != (feasible ? items.options.size() : 0)) return {selection_rule::size, 0};
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
      if (chosen.copies[j] > left) return {selection_rule::count, k};
      left -= chosen.copies[j];
      auto const n = static_cast<std::int64_t>(chosen.copies[j]);
      memory += n * items.options[j].memory;
      time += n * items.options[j].time;
      transfer += n * items.options[j].transfer;
    }
    if (left != 0) return {selection_rule::count, k};
  }
  if (chosen.memory != memory) return {selection_rule::memory, 0};
  if ((memory <= asked.budget) != feasible) return {selection_rule::budget, 0};
  if (!feasible) return {};
  if (chosen.transfer != transfer) return {selection_rule::transfer, 0};
  if (chosen.time.value != time + (std::max)(transfer - asked.hidden_transfer, std::int64_t{0})) return {selection_rule::time, 0};
  if (chosen.time.lower_bound < 0 || chosen.time.lower_bound > chosen.time.value) return {selection_rule::bound, 0};
  return {};
}

}  // namespace ballast::inline v0_2
