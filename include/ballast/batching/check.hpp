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

/// @file
/// @brief The validator of plans of steps, of this library or any other planner. It shares no code with the planners.

namespace ballast::inline v0_2 {

/// @brief Checks a plan of steps: every sample is trained on exactly once or listed, no capacity is exceeded, and the plan's figures are
/// true.
///
/// @tparam Index  index type of the plan
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param plan     the plan; its members may have any values
/// @param lengths  tokens of each sample, each at least 1
/// @param options  the options that the plan must meet; instead of their `micro_batches`, the number in the plan counts
/// @param cost     cost of a sample by its length, or by its index and length (`indexed_cost_model`)
/// @param share_overhead  extra cost of shared samples, in thousandths of their cost
/// @param keys  `step_constraints::together`, if the planner was given keys: samples with the same key cannot be split up
/// @return the first broken rule, in the order of `batching_fault`; its index is a place of the table, a pack, a member, an entry of a list
/// or a sample
/// @throws invalid_input if `keys` has entries, but not one for each sample
/// @par Complexity
/// O(samples + places).
template <index_type Index, length_range R, cost_model Cost>
[[nodiscard]] verdict check_batching(batching<Index> const& plan, R const& lengths, batching_options const& options, Cost const& cost,
                                     std::uint32_t share_overhead = 0, std::span<std::uint64_t const> keys = {}) {
  return detail::batching_checker<Index, R, Cost>(plan, lengths, options, cost, share_overhead, keys).run();
}

}  // namespace ballast::inline v0_2
