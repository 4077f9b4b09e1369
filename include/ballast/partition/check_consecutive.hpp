// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/check.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/partition/consecutive_options.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

/// @file
/// @brief The validator of consecutive micro-batches, of this library or any other planner. It shares no code with the planner.

namespace ballast::inline v0_2 {

/// @brief The rule that consecutive micro-batches break.
struct consecutive_fault : common_fault {
  static constexpr rule plan_refused{"the result says that there is no plan, but every sample fits alone, or there are {found} boundaries"};
  static constexpr rule wrong_boundaries{
      "boundaries[{index}] = {found}: boundaries must rise from 0 to the number of samples, not to {expected}"};
  static constexpr rule overfull{"micro-batch {index} holds {found}, more than the capacity {expected}"};
  static constexpr rule wrong_slowest{"slowest = {found}, but the slowest micro-batch takes {expected}"};
  static constexpr rule wrong_sum{"sum = {found}, but the micro-batches take {expected}"};
};

/// @brief Checks consecutive micro-batches against the definition. That the lower bound holds for every cut is not proven again.
///
/// @tparam Index  type of the boundaries
/// @tparam Cost   a `span_cost`
/// @tparam Size   a `span_cost`
/// @param plan     the result; may hold any values
/// @param samples  number of samples
/// @param options  the options of the request, valid
/// @param cost     time of a micro-batch
/// @param size     size of a micro-batch
/// @return the first broken rule; the index is a boundary or micro-batch, or a sample where the plan is refused
/// @pre the objective of the plan is below 2^63
/// @par Complexity
/// O(micro-batches) calls of both callables, O(samples) if there is no plan.
template <index_type Index, span_cost Cost, span_cost Size>
[[nodiscard]] verdict check_consecutive(consecutive_cut<Index> const& plan, std::uint64_t samples, consecutive_options const& options,
                                        Cost const& cost, Size const& size) {
  using broken = consecutive_fault;
  auto const& at = plan.boundaries;
  auto const n = static_cast<std::int64_t>(samples);
  if (plan.status != status::feasible) {
    if (!at.empty()) return {broken::plan_refused, 0, at.size(), 0};
    if (plan.status == status::unknown) return {};
    std::uint64_t i = 0;
    while (i < samples && std::cmp_less_equal(size(i, i + 1), options.capacity)) ++i;
    if (i == samples) return {broken::plan_refused, 0};
    if (plan.objective.lower_bound <= plan.objective.value) return {broken::wrong_bound, i, plan.objective.lower_bound, size(i, i + 1)};
    return {};
  }
  if (at.empty() || at.front() != 0) return {broken::wrong_boundaries, 0, at.empty() ? -1 : static_cast<std::int64_t>(at.front()), 0};
  for (std::size_t m = 1; m < at.size(); ++m)
    if (at[m] <= at[m - 1] || at[m] > samples) return {broken::wrong_boundaries, m, at[m], n};
  if (at.back() != samples) return {broken::wrong_boundaries, at.size() - 1, at.back(), n};
  std::int64_t slowest = 0, sum = 0;
  for (std::size_t m = 0; m + 1 < at.size(); ++m) {
    auto const held = static_cast<std::int64_t>(size(std::uint64_t{at[m]}, std::uint64_t{at[m + 1]}));
    if (held > options.capacity) return {broken::overfull, m, held, options.capacity};
    auto const time = static_cast<std::int64_t>(cost(std::uint64_t{at[m]}, std::uint64_t{at[m + 1]}));
    slowest = time > slowest ? time : slowest;
    sum += time;
  }
  if (plan.slowest != slowest) return {broken::wrong_slowest, 0, plan.slowest, slowest};
  if (plan.sum != sum) return {broken::wrong_sum, 0, plan.sum, sum};
  auto const value = static_cast<std::int64_t>(options.slowest_weight) * slowest + static_cast<std::int64_t>(options.sum_weight) * sum;
  return check_certificate(plan.objective, value);
}

}  // namespace ballast::inline v0_2
