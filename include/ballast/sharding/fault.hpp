// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/verdict.hpp>

/// @file
/// @brief The rules that shards can break.

namespace ballast::inline v0_2 {

/// @brief The rule that shards break.
struct shard_fault : common_fault {
  static constexpr rule passes_without_plan{"the result says that there is no plan, but has {found} passes or samples left out"};
  static constexpr rule wrong_rank_count{"there are {found} ranks, not {expected}"};
  static constexpr rule bad_group{"group {index} must have two or more ranks, ascending and below {expected}"};
  static constexpr rule group_too_large{"group {index} has {found} ranks, more than {expected}"};
  static constexpr rule group_not_aligned{"group {index} of {found} ranks is not an aligned block of a power of two ranks"};
  static constexpr rule sample_out_of_range{"entry {index} names sample {found} of {expected}, or is not ascending"};
  static constexpr rule empty_piece{"piece {index} has no tokens: it begins at {found} and ends at {expected}"};
  static constexpr rule bad_piece{"piece {index} ends at {found}: it must be inside its sample of {expected} tokens"};
  static constexpr rule group_out_of_range{"piece {index} names group {found} of {expected}"};
  static constexpr rule wrong_rank{"piece {index} is on rank {found}, which is not in its group {expected}"};
  static constexpr rule group_twice{"pass {index} uses group {found}, which another pass of its rank uses"};
  static constexpr rule group_incomplete{"group {index} has pieces on {found} of its {expected} ranks"};
  static constexpr rule scattered_sample{"piece {index} of sample {found} is not behind the earlier ones of its pass"};
  static constexpr rule overfull_pass{"pass {index} holds {found} tokens, more than the capacity {expected}"};
  static constexpr rule mixed_pass{"pass {index} holds whole samples beside shared ones"};
  static constexpr rule uneven_passes{"rank {index} has {found} passes, another {expected}"};
  static constexpr rule token_twice{"sample {index}: token {found} occurs twice"};
  static constexpr rule token_missing{"sample {index}: token {found} is on no rank"};
  static constexpr rule other_ranks{"sample {index} is on other ranks in its pass from token {found} on"};
  static constexpr rule wrong_order{"sample {index}: the pass with token {found} is not behind those with earlier tokens"};
  static constexpr rule circular_wait{"pass {index} never starts: ranks wait for each other in a circle"};
};

}  // namespace ballast::inline v0_2
