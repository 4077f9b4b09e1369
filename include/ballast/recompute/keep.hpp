// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/status.hpp>
#include <ballast/recompute/choose.hpp>
#include <ballast/recompute/option.hpp>
#include <ballast/recompute/selection.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief The two-way question: which saved tensors to keep and which to compute again (0/1 and bounded knapsack).

namespace ballast::inline v0_2 {

/// @brief Tensors of one kind: what keeping one holds, and what computing it again costs.
struct saved_tensor {
  std::int64_t bytes = 0;       ///< memory if it is kept, not negative
  std::int64_t time = 0;        ///< time to compute it again, not negative, any unit
  std::int64_t checkpoint = 0;  ///< memory if it is not kept (what it is computed from), not negative
  std::uint64_t count = 1;      ///< how many there are, at least 1
};

/// @brief Which saved tensors are kept.
struct kept_tensors {
  ballast::status status = ballast::status::infeasible;  ///< whether `kept` is a plan
  certificate time;                                      ///< time spent on computing again, and what no choice goes below; 0 if infeasible
  std::int64_t memory = 0;          ///< memory of all; where infeasible the least that is needed, which is above the budget
  std::vector<std::uint64_t> kept;  ///< for each entry that came in, how many of its tensors are kept; empty if infeasible
};

namespace detail {
[[nodiscard]] inline kept_tensors keep(std::span<saved_tensor const> tensors, selection_options const& asked, auto const& choose) {
  option_classes items;
  items.options.reserve(2 * tensors.size());
  items.offsets.reserve(tensors.size() + 1);
  items.counts.reserve(tensors.size());
  for (auto const& t : tensors)
    items.add(std::array{memory_option{.memory = t.bytes}, memory_option{.memory = t.checkpoint, .time = t.time}}, t.count);
  auto const folded = fold(items);
  auto const chosen = choose(folded.classes, asked);
  kept_tensors out{.status = chosen.status, .time = chosen.time, .memory = chosen.memory, .kept = {}};
  if (chosen.status != status::feasible) return out;
  auto left = chosen.copies;
  out.kept.resize(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    auto& of_class = left[2 * std::size_t{folded.class_of[i]}];
    out.kept[i] = tensors[i].count < of_class ? tensors[i].count : of_class;
    of_class -= out.kept[i];
  }
  return out;
}
}  // namespace detail

/// @brief Keeps tensors so that the least time is spent on computing the others again, within a budget: exact.
///
/// Equal tensors are folded first, so the time grows with distinct ones. Bytes are never rounded: a budget is met to the byte.
///
/// @param tensors  what the forward pass makes, one by one or with counts
/// @param budget   most memory of all, not negative
/// @param work     as `selection_options::work`
/// @return how many of each entry are kept; of equal tensors, those that come first
/// @post never above the budget; optimal unless `work` cut the search short
/// @throws invalid_input if a number is negative, a count 0, a sum above 2^58
/// @par Complexity
/// As `choose_options` on the distinct tensors, plus O(tensors).
/// @par Determinism
/// A pure function of its arguments.
[[nodiscard]] inline kept_tensors keep_tensors(std::span<saved_tensor const> tensors, std::int64_t budget, std::uint64_t work = 1U << 22) {
  return detail::keep(tensors, {.budget = budget, .work = work}, choose_options);
}

/// @brief The same by greedy choice, in microseconds and with a proven bound.
/// @param tensors  what the forward pass makes @param budget most memory of all, not negative
/// @return how many of each entry are kept
/// @post never above the budget
/// @throws invalid_input as `keep_tensors`
/// @par Complexity
/// O(tensors) expected for folding, then O(distinct * log).
/// @par Determinism
/// A pure function of its arguments.
[[nodiscard]] inline kept_tensors keep_tensors_greedily(std::span<saved_tensor const> tensors, std::int64_t budget) {
  return detail::keep(tensors, {.budget = budget}, choose_options_greedily);
}

}  // namespace ballast::inline v0_2
