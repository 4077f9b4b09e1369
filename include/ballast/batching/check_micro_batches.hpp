// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/check.hpp>
#include <ballast/batching/detail/check_step.hpp>
#include <ballast/batching/fault.hpp>
#include <ballast/batching/micro_batch_options.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/verdict.hpp>

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string>

/// @file
/// @brief The validator of the micro-batches of one global batch, of this library or any other planner. It shares no code with the planner.

namespace ballast::inline v0_2 {

/// @brief Describes a verdict in a few words. @param v any verdict @return for instance "mixed keys at 17"
template <class = when_called>
[[nodiscard]] inline std::string describe(verdict<micro_batch_fault> const& v) {
  if (v.valid()) return "valid";
  if (v.fault == micro_batch_fault::not_a_step) return describe(verdict<batching_fault>{static_cast<batching_fault>(v.found), v.index});
  constexpr char const* names[] = {"none",       "not a step", "plan refused",  "wrong number", "wrong bound",
                                   "torn apart", "mixed keys", "uneven counts", "needless gap", "expensive end"};
  return std::string(names[static_cast<std::size_t>(v.fault)]) + " at " + std::to_string(v.index);
}

/// @brief Checks the plan of one global batch against the options and constraints.
///
/// @tparam Index  index type of the plan
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param plan         the plan; its members may have any values
/// @param lengths      tokens of each sample, each at least 1
/// @param options      the options that the plan must meet; the number of micro-batches of a rank must be a multiple of their
/// `micro_batches`
/// @param cost         cost of a sample by its length
/// @param constraints  the constraints that the plan must meet
/// @return the first broken rule, in the order of `micro_batch_fault`; its index is a sample, pack, rank or place
/// @throws invalid_input if `together` or `apart` has entries, but not one for each sample
/// @par Complexity
/// O(samples log samples + places).
template <index_type Index, length_range R, cost_model Cost>
[[nodiscard]] verdict<micro_batch_fault> check_micro_batches(micro_batching<Index> const& plan, R const& lengths,
                                                             batching_options const& options, Cost const& cost,
                                                             micro_batch_constraints const& constraints = {}) {
  using enum micro_batch_fault;
  auto const& c = constraints;
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  require(c.apart.empty() || c.apart.size() == n,
          [&] { return "apart has " + std::to_string(c.apart.size()) + " entries for " + std::to_string(n) + " samples"; });
  if (plan.status != status::feasible) {
    if (plan.steps() != 0 || !plan.packs.empty() || c.exactly == 0) return {plan_refused, 0};
    if (plan.status == status::infeasible && plan.count.lower_bound <= plan.count.value) return {wrong_bound, 0};
    return {};
  }
  auto one_step = options;
  one_step.left_over = left_over::shorten;  // empty places are checked below
  if (auto const step = check_batching(plan, lengths, one_step, cost, 0, c.together); !step.valid())
    return {not_a_step, step.index, static_cast<std::uint64_t>(step.fault)};
  if (!plan.dropped.empty() || !plan.repeated.empty() || !plan.shared.empty()) return {wrong_number, 0};
  auto const each = plan.micro_batches;
  if (plan.steps() != (n == 0 ? 0 : 1) || options.micro_batches == 0 || each % options.micro_batches != 0 || each < c.at_least ||
      (c.exactly != 0 && each != c.exactly))
    return {wrong_number, 0};
  if (n == 0) return {};
  if (plan.count.value != static_cast<std::int64_t>(each)) return {wrong_number, 0};
  if (plan.count.lower_bound > plan.count.value) return {wrong_bound, 0};

  if (auto const v = detail::check_keys(plan, c); !v.valid()) return v;
  if (auto const v = detail::check_counts(plan, n, c); !v.valid()) return v;
  auto const rows = options.synchronisation == synchronisation::per_micro_batch;
  return c.small_ends ? detail::check_ends(plan, detail::place_costs(plan, lengths, cost), rows) : verdict<micro_batch_fault>{};
}

}  // namespace ballast::inline v0_2
