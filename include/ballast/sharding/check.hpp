// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/sharding/detail/check_groups.hpp>
#include <ballast/sharding/detail/check_pieces.hpp>
#include <ballast/sharding/fault.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

/// @file
/// @brief The validator of shards, of this library or any other planner. It shares no code with the planners.

namespace ballast::inline v0_2 {

/// @brief Describes a verdict in a sentence, such as "pass 17 holds 9000 tokens, more than the capacity 8192".
/// @param v  a verdict of `check_shards`
/// @return the sentence
template <class = when_called>
[[nodiscard]] inline std::string describe(verdict<shard_fault> const& v) {
  auto const index = std::to_string(v.index), found = std::to_string(v.found), expected = std::to_string(v.expected);
  switch (v.fault) {
    case shard_fault::none: return "the shards are valid";
    case shard_fault::passes_without_plan: return "the result says that there is no plan, but has " + found + " passes or samples left out";
    case shard_fault::bad_offsets: return "offset " + index + " = " + found + ": offsets must rise from 0 to " + expected;
    case shard_fault::wrong_rank_count: return "there are " + found + " ranks, not " + expected;
    case shard_fault::bad_group: return "group " + index + " must have two or more ranks, ascending and below " + expected;
    case shard_fault::group_too_large: return "group " + index + " has " + found + " ranks, more than " + expected;
    case shard_fault::group_not_aligned:
      return "group " + index + " of " + found + " ranks is not an aligned block of a power of two ranks";
    case shard_fault::sample_out_of_range: return "entry " + index + " names sample " + found + " of " + expected + ", or is not ascending";
    case shard_fault::bad_piece:
      return "piece " + index + " ends at " + found + ": it must be inside its sample of " + expected + " tokens";
    case shard_fault::group_out_of_range: return "piece " + index + " names group " + found + " of " + expected;
    case shard_fault::wrong_rank: return "piece " + index + " is on rank " + found + ", which is not in its group " + expected;
    case shard_fault::group_twice: return "pass " + index + " uses group " + found + ", which another pass of its rank uses";
    case shard_fault::group_incomplete: return "group " + index + " has pieces on " + found + " of its " + expected + " ranks";
    case shard_fault::scattered_sample: return "piece " + index + " of sample " + found + " is not behind the earlier ones of its pass";
    case shard_fault::overfull_pass: return "pass " + index + " holds " + found + " tokens, more than the capacity " + expected;
    case shard_fault::mixed_pass: return "pass " + index + " holds whole samples beside shared ones";
    case shard_fault::uneven_passes: return "rank " + index + " has " + found + " passes, another " + expected;
    case shard_fault::token_twice: return "sample " + index + ": token " + found + " occurs twice";
    case shard_fault::token_missing: return "sample " + index + ": token " + found + " is on no rank";
    case shard_fault::other_ranks: return "sample " + index + " is on other ranks in its pass from token " + found + " on";
    case shard_fault::wrong_order: return "sample " + index + ": the pass with token " + found + " is not behind those with earlier tokens";
    case shard_fault::circular_wait: return "pass " + index + " never starts: ranks wait for each other in a circle";
    case shard_fault::wrong_bound: return "time.lower_bound = " + found + " exceeds time.value = " + expected;
  }
  return {};
}

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
[[nodiscard]] verdict<shard_fault> check_shards(shards<Index> const& plan, R const& lengths, sharding_options const& options,
                                                shard_demands const& demands = {}) {
  using enum shard_fault;
  if (plan.status != status::feasible) {
    if (plan.passes() == 0 && plan.pieces.empty() && plan.left_out.empty()) return {};
    return {passes_without_plan, 0, plan.passes() + plan.left_out.size(), 0};
  }
  if (auto const v = detail::check_shape(plan, options); !v.valid()) return v;
  if (auto const v = detail::check_rank_groups(plan, options, demands.aligned); !v.valid()) return v;
  if (auto const v = detail::check_pieces(plan, lengths, options); !v.valid()) return v;
  if (auto const v = detail::check_group_use(plan); !v.valid()) return v;
  if (auto const v = detail::check_tokens(plan, lengths); !v.valid()) return v;
  if (auto const v = detail::check_waits(plan); !v.valid()) return v;
  if (plan.time.lower_bound > plan.time.value)
    return {wrong_bound, 0, static_cast<std::uint64_t>(plan.time.lower_bound), static_cast<std::uint64_t>(plan.time.value)};
  return {};
}

}  // namespace ballast::inline v0_2
