// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief The rules that shards can break.

namespace ballast::inline v0_2 {

/// @brief The rule that shards break.
enum class shard_fault : std::uint8_t {
  none,                 ///< the shards are valid
  passes_without_plan,  ///< the status says that there is no plan, but there are passes or samples left out
  bad_offsets,          ///< offsets of passes or pieces do not rise from 0 to their number
  wrong_rank_count,     ///< the number of ranks is not the demanded number
  bad_group,            ///< a group has fewer than two ranks, or they are not ascending and below the number of ranks
  group_too_large,      ///< a group has more ranks than may share a sample
  group_not_aligned,    ///< a group is not an aligned block of a power of two ranks, which was demanded
  sample_out_of_range,  ///< a piece or an entry of `left_out` is not the index of a sample, or `left_out` is not ascending
  bad_piece,            ///< a piece is empty or reaches beyond its sample
  group_out_of_range,   ///< a piece names a group that does not exist
  wrong_rank,           ///< a piece is on a rank that is not in its group
  group_twice,          ///< a group is used in two passes of one rank
  group_incomplete,     ///< a rank of a group has no piece of it
  scattered_sample,     ///< the pieces of a sample in a pass are not neighbours in ascending order
  overfull_pass,        ///< the tokens of a pass exceed the capacity
  mixed_pass,           ///< a pass holds whole samples beside shared ones, which `execution::independent` does not allow
  uneven_passes,        ///< under `execution::lockstep` two ranks have different numbers of passes
  token_twice,          ///< a token is on two ranks, or in a pass though its sample is left out
  token_missing,        ///< a token is on no rank, and its sample is not left out
  other_ranks,          ///< a sample in several passes is not on the same ranks each time
  wrong_order,          ///< earlier tokens of a sample are in a later pass
  circular_wait,        ///< ranks wait for each other in a circle
  wrong_bound,          ///< `time.lower_bound` exceeds `time.value`
};

}  // namespace ballast::inline v0_2
