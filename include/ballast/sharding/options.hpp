// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/sharding/result.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief Options of the schedulers of long samples. Only `capacity` and `ranks` have no default.

namespace ballast::inline v0_2 {

/// @brief Shape of one global batch, and what a pass costs beside its samples.
struct sharding_options {
  std::int64_t capacity = 0;                        ///< most tokens of one pass on one rank, never exceeded; at least 1
  std::uint64_t ranks = 0;                          ///< number of ranks, at least 1
  std::int64_t cost_per_pass = 0;                   ///< fixed time of a pass (launches, weight gathers), in units of the cost; not negative
  ballast::execution execution = execution::mixed;  ///< where ranks wait for each other, and what a pass may hold
  std::uint64_t most_ranks_shared = 0;              ///< most ranks that share one sample; 0 = all ranks
  share_layout layout = share_layout::zigzag;       ///< how the ranks of a group cut a sample
};

namespace detail {

inline void require_valid(sharding_options const& o) {
  require(o.capacity > 0, [&] { return "capacity = " + std::to_string(o.capacity) + " must be positive"; });
  require(o.ranks > 0 && o.ranks < std::uint64_t{1} << 20,
          [&] { return "ranks = " + std::to_string(o.ranks) + " must be in 1 ... 2^20 - 1"; });
  require(o.cost_per_pass >= 0, [&] { return "cost_per_pass = " + std::to_string(o.cost_per_pass) + " must not be negative"; });
  require(o.capacity <= (std::int64_t{1} << 62) / static_cast<std::int64_t>(o.ranks),
          [&] { return "capacity = " + std::to_string(o.capacity) + " times ranks exceeds 2^62"; });
}

}  // namespace detail
}  // namespace ballast::inline v0_2
