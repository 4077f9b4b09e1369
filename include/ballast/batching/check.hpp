// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/batching_checker.hpp>
#include <ballast/batching/fault.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/verdict.hpp>

#include <cstdint>
#include <span>
#include <string>

/// @file
/// @brief The validator of plans of steps, from this library or any other planner. It shares no code with the planners.

namespace ballast::inline v0_2 {

/// @brief A sentence for a verdict. @param v any verdict @return for instance "overfull pack at 17"
[[nodiscard]] inline std::string describe(verdict<batching_fault> const& v) {
  return v.valid() ? "valid" : std::string(to_string(v.fault)) + " at " + std::to_string(v.index);
}

/// @brief Checks a plan of steps against its definition: every sample once or named, no capacity exceeded, and what it says of itself true.
///
/// @tparam Index  index type of the plan
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param plan     the plan; it may hold anything
/// @param lengths  tokens of each sample, each at least 1
/// @param options  what was asked; of `micro_batches`, the plan's own number counts
/// @param cost     what a sample costs
/// @param share_overhead  thousandths that splitting added to the cost of shared samples
/// @param keys  `step_constraints::together`, if the planner was given it: what cannot be split up
/// @return the first rule broken, in the order of `batching_fault`; its index is the place of the table, pack, member, entry of a list
/// or sample
/// @par Complexity
/// O(samples + places).
template <index_type Index, length_range R, cost_model Cost>
[[nodiscard]] verdict<batching_fault> check_batching(batching<Index> const& plan, R const& lengths, batching_options const& options,
                                                     Cost const& cost, std::uint32_t share_overhead = 0,
                                                     std::span<std::uint64_t const> keys = {}) {
  return detail::batching_checker<Index, R, Cost>(plan, lengths, options, cost, share_overhead, keys).run();
}

}  // namespace ballast::inline v0_2
