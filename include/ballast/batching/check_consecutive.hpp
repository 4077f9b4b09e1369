// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/consecutive_options.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/verdict.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

/// @file
/// @brief The validator of consecutive micro-batches, of this library or any other planner. It shares no code with the planner.

namespace ballast::inline v0_2 {

/// @brief The rule that consecutive micro-batches break.
enum class consecutive_fault : std::uint8_t {
  none,              ///< the plan is valid
  plan_refused,      ///< the status says that there is no plan, but each sample fits alone, or there are boundaries
  wrong_boundaries,  ///< the boundary does not rise, or the first is not 0, or the last not the number of samples
  overfull,          ///< the size of the micro-batch exceeds the capacity
  wrong_slowest,     ///< `slowest` is not the largest time of a micro-batch
  wrong_sum,         ///< `sum` is not the sum of the times
  wrong_value,       ///< `objective.value` is not that of the boundaries
  wrong_bound,       ///< `objective.lower_bound` exceeds `objective.value` though there is a plan, or does not though there is none
};

/// @brief Describes a verdict in a few words. @param v any verdict @return for instance "overfull at 17: 9000 instead of 8192"
template <class = when_called>
[[nodiscard]] inline std::string describe(verdict<consecutive_fault, std::int64_t> const& v) {
  if (v.valid()) return "valid";
  constexpr char const* names[] = {"none",          "plan refused", "wrong boundaries", "overfull",
                                   "wrong slowest", "wrong sum",    "wrong value",      "wrong bound"};
  return std::string(names[static_cast<std::size_t>(v.fault)]) + " at " + std::to_string(v.index) + ": " + std::to_string(v.found) +
         " instead of " + std::to_string(v.expected);
}

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
[[nodiscard]] verdict<consecutive_fault, std::int64_t> check_consecutive(consecutive_cut<Index> const& plan, std::uint64_t samples,
                                                                         consecutive_options const& options, Cost const& cost,
                                                                         Size const& size) {
  using enum consecutive_fault;
  auto const& at = plan.boundaries;
  auto const n = static_cast<std::int64_t>(samples);
  if (plan.status != status::feasible) {
    if (!at.empty()) return {plan_refused, 0, static_cast<std::int64_t>(at.size()), 0};
    if (plan.status == status::unknown) return {};
    std::uint64_t i = 0;
    while (i < samples && std::cmp_less_equal(size(i, i + 1), options.capacity)) ++i;
    if (i == samples) return {plan_refused, 0};
    if (plan.objective.lower_bound <= plan.objective.value)
      return {wrong_bound, i, plan.objective.lower_bound, static_cast<std::int64_t>(size(i, i + 1))};
    return {};
  }
  if (at.empty() || at.front() != 0) return {wrong_boundaries, 0, at.empty() ? -1 : static_cast<std::int64_t>(at.front()), 0};
  for (std::size_t m = 1; m < at.size(); ++m)
    if (at[m] <= at[m - 1] || at[m] > samples) return {wrong_boundaries, m, static_cast<std::int64_t>(at[m]), n};
  if (at.back() != samples) return {wrong_boundaries, at.size() - 1, static_cast<std::int64_t>(at.back()), n};
  std::int64_t slowest = 0, sum = 0;
  for (std::size_t m = 0; m + 1 < at.size(); ++m) {
    auto const held = static_cast<std::int64_t>(size(std::uint64_t{at[m]}, std::uint64_t{at[m + 1]}));
    if (held > options.capacity) return {overfull, m, held, options.capacity};
    auto const time = static_cast<std::int64_t>(cost(std::uint64_t{at[m]}, std::uint64_t{at[m + 1]}));
    slowest = time > slowest ? time : slowest;
    sum += time;
  }
  if (plan.slowest != slowest) return {wrong_slowest, 0, plan.slowest, slowest};
  if (plan.sum != sum) return {wrong_sum, 0, plan.sum, sum};
  auto const value = static_cast<std::int64_t>(options.slowest_weight) * slowest + static_cast<std::int64_t>(options.sum_weight) * sum;
  if (plan.objective.value != value) return {wrong_value, 0, plan.objective.value, value};
  if (plan.objective.lower_bound > value) return {wrong_bound, 0, plan.objective.lower_bound, value};
  return {};
}

}  // namespace ballast::inline v0_2
