// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/sharding/result.hpp>

#include <cstdint>

/// @file
/// @brief Options of `local_or_distributed`. Only `capacity` and `ranks` have no default.

namespace ballast::inline v0_2 {

/// @brief What happens when a sample fits on no rank and there is no room to share it among all ranks.
enum class rolling_back : std::uint8_t {
  /// The shortest whole sample of the fullest rank is shared by all ranks, and so on while any rank exceeds the capacity.
  corrected,
  /// As printed in the paper: only the fullest rank is charged with its share, so other ranks may exceed the capacity. For comparisons.
  published,
  none,  ///< no plan is returned
};

/// @brief The rank that is tried for a whole sample.
enum class local_rank : std::uint8_t {
  least_loaded,  ///< the rank with the least time; if the sample does not fit there, the rank with the most free tokens
  emptiest,      ///< the rank with the most free tokens: the paper's round-robin baseline
};

/// @brief The order in which samples are placed.
enum class placing_order : std::uint8_t {
  shortest_first,  ///< ascending lengths
  as_given,        ///< the order of the argument; a roll-back takes the first sample that was placed on the rank
};

/// @brief Shape of one micro-batch of a context-parallel group.
struct local_or_distributed_options {
  std::int64_t capacity = 0;                            ///< most tokens on one rank; at least 1
  std::uint64_t ranks = 0;                              ///< number of ranks in the group, at least 1
  std::int64_t cost_per_pass = 0;                       ///< fixed time of a pass, in units of the cost; not negative
  rolling_back roll_back = rolling_back::corrected;     ///< how room is made
  local_rank local = local_rank::least_loaded;          ///< which rank is tried first
  placing_order order = placing_order::shortest_first;  ///< which sample comes next
  /// Whether whole samples become shared afterwards, as far as the objective falls: each time the last one placed on the rank with the most
  /// work. This is not part of the paper's algorithm.
  bool share_more = false;
  share_layout layout = share_layout::zigzag;  ///< how the ranks cut a shared sample
  bool pieces = true;                          ///< whether the result has `shards`; planners that place many micro-batches need none
};

}  // namespace ballast::inline v0_2
