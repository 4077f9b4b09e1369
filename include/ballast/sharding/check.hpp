// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/check.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/sharding/detail/check_shards.hpp>
#include <ballast/sharding/fault.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/result.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief The validator of shards, of this library or any other planner. It shares no code with the planners.

namespace ballast::inline v0_2 {

/// @brief What `check_shards` demands beside the options.
struct shard_demands {
  bool aligned = false;  ///< whether each group must be an aligned block of a power of two ranks, as communicators of a tree are
};

/// @brief Checks shards against the definition.
///
/// Each token of each sample is on one rank, or its sample is in `left_out`. No pass exceeds the capacity. A group is used in one pass of
/// each of its ranks, and no ranks wait for each other in a circle. A sample in several passes (chunks that depend on each other) is on
/// the same ranks each time, earlier tokens first. Modelled times are not checked: `time_shards` computes them.
///
/// @tparam Index  index type of the shards
/// @tparam R      range of integers
/// @param plan     the shards; all members may have any values
/// @param lengths  tokens of each sample
/// @param options  ranks, capacity and most ranks that share a sample; the policy is the plan's own
/// @param demands  what else must hold
/// @return the first broken rule. Its index is an offset, group, piece, entry, pass (counted over all ranks), rank or sample, as the
/// sentence of `describe` says
/// @par Complexity
/// O(pieces log pieces).
template <index_type Index, length_range R>
[[nodiscard]] verdict check_shards(shards<Index> const& plan, R const& lengths, sharding_options const& options,
                                   shard_demands const& demands = {}) {
  using broken = shard_fault;
  if (plan.status != status::feasible) {
    if (plan.passes() == 0 && plan.pieces.empty() && plan.left_out.empty()) return {};
    return {broken::passes_without_plan, 0, plan.passes() + plan.left_out.size(), 0};
  }
  if (auto const v = detail::check_shape(plan, options); !v.valid()) return v;
  if (auto const v = detail::check_rank_groups(plan, options, demands.aligned); !v.valid()) return v;
  if (auto const v = detail::check_pieces(plan, lengths, options); !v.valid()) return v;
  if (auto const v = detail::check_group_use(plan); !v.valid()) return v;
  if (auto const v = detail::check_tokens(plan, lengths); !v.valid()) return v;
  if (auto const v = detail::check_waits(plan); !v.valid()) return v;
  return check_certificate(plan.time, plan.time.value);
}

}  // namespace ballast::inline v0_2
