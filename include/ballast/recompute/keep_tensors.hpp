// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/core/status.hpp>
#include <ballast/recompute/choose.hpp>
#include <ballast/recompute/memory_option.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief Which saved tensors to keep and which to compute again: the 0/1 and the bounded knapsack problem.

namespace ballast::inline v0_2 {

/// @brief Tensors of one kind: the memory to keep one, and the time to compute one again.
struct saved_tensor {
  std::int64_t bytes = 0;       ///< memory if it is kept, not negative
  std::int64_t time = 0;        ///< time to compute it again, not negative, any unit
  std::int64_t checkpoint = 0;  ///< memory if it is not kept (what it is computed from), not negative
  std::uint64_t count = 1;      ///< number of tensors of this kind, at least 1
};

/// @brief Which saved tensors are kept.
struct kept_tensors {
  ballast::status status = ballast::status::infeasible;  ///< whether `kept` is a plan
  certificate time;                                      ///< time to compute the others again, and its lower bound; 0 if infeasible
  std::int64_t memory = 0;          ///< memory of all tensors; if infeasible, the least possible, which exceeds the budget
  std::vector<std::uint64_t> kept;  ///< for each entry of the argument, how many of its tensors are kept; empty if infeasible
};

/// @brief Finds the tensors to keep within a budget such that computing the others again takes least time. The result is exact.
///
/// Equal tensors are folded first, so the time grows with the number of distinct ones. Bytes are never rounded.
///
/// @param tensors  tensors of the forward pass, one by one or with counts
/// @param budget   largest memory of all tensors, in bytes, not negative
/// @param limits   as those of `choose_options`
/// @return how many tensors of each entry are kept; among equal tensors, those that come first
/// @post never above the budget; optimal unless `limits` cut the search short
/// @throws invalid_input if a number is negative, a count is 0, or a sum is above 2^58
/// @par Complexity
/// As `choose_options` on the distinct tensors, plus O(tensors).
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] kept_tensors keep_tensors(std::span<saved_tensor const> tensors, std::int64_t budget,
                                        search_limits const& limits = {.work = selection_work}) {
  option_classes items;
  items.options.reserve(2 * tensors.size());
  items.offsets.reserve(tensors.size() + 1);
  items.counts.reserve(tensors.size());
  for (auto const& t : tensors)
    items.add(std::array{memory_option{.memory = t.bytes}, memory_option{.memory = t.checkpoint, .time = t.time}}, t.count);
  auto const folded = fold(items);
  auto const chosen = choose_options(folded.classes, {.budget = budget}, limits);
  kept_tensors out{.status = chosen.status, .time = chosen.time, .memory = chosen.memory, .kept = {}};
  if (chosen.status != status::feasible) return out;
  auto left = chosen.copies;
  out.kept.resize(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    auto& of_class = left[2 * std::size_t{folded.class_of[i]}];
    out.kept[i] = (std::min)(tensors[i].count, of_class);
    of_class -= out.kept[i];
  }
  return out;
}

}  // namespace ballast::inline v0_2
