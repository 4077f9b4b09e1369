// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/sharding/detail/block_bounds.hpp>
#include <ballast/sharding/detail/degree_times.hpp>
#include <ballast/sharding/options.hpp>

#include <algorithm>
#include <cstdint>

/// @file
/// @brief `shard_bounds`: lower bounds on the time of one batch.

namespace ballast::inline v0_2 {

/// @brief Lower bounds on the makespan of a batch whose samples are each shared equally by 1, 2, 4, ... ranks in one pass.
struct shard_lower_bounds {
  std::int64_t longest = 0;  ///< the longest sample on the number of ranks where it takes least
  std::int64_t area = 0;     ///< all products of ranks and time against all ranks, with the passes that the tokens need
  std::int64_t rate = 0;     ///< the tokens that the ranks can hold within the time, if every token took as little as the quickest
  /// @brief The best of them. @return a lower bound
  [[nodiscard]] constexpr std::int64_t lower() const noexcept { return (std::max)((std::max)(longest, area), rate); }
  friend constexpr bool operator==(shard_lower_bounds const&, shard_lower_bounds const&) = default;
};

/// @brief Computes lower bounds on the time of a batch.
///
/// Within a time T, each sample needs at least the smallest product of ranks and time over the numbers of ranks that have room for it and
/// are quick enough. All of them, and a `cost_per_pass` for each rank and for each `capacity` tokens, must fit into T on all ranks. Under
/// `execution::lockstep`, every micro-batch that the tokens need costs a pass on every rank.
///
/// @tparam R     range of integers
/// @tparam Cost  a `degree_cost_model`
/// @param lengths  tokens of each sample
/// @param options  ranks, capacity, fixed time of a pass, policy, and most ranks that share a sample
/// @param cost     time of a sample by its length and the number of ranks that share it
/// @return the bounds; all 0 without samples, or if a sample has room on no number of ranks
/// @throws invalid_input if an option or a length is not positive, or the sum of all times reaches 2^62
/// @par Complexity
/// O(n log n + n log ranks); for a cost that takes less rank-time on more ranks, O(n log ranks log time).
/// @par Determinism
/// A pure function of its arguments, in integers.
/// @par Source
/// `area` is the dual search on the makespan of monotone moldable tasks (Mounie, Rapine and Trystram, SIAM J. Computing 37, 2007).
template <length_range R, degree_cost_model Cost>
[[nodiscard]] shard_lower_bounds shard_bounds(R const& lengths, sharding_options const& options, Cost const& cost) {
  auto const times = detail::times_of_degrees(lengths, options, cost);
  if (times.length.empty() || !times.allows_all()) return {};
  detail::tree_bounds const bounds(times);
  shard_lower_bounds out{.longest = bounds.by_longest(), .area = bounds.by_area()};
  out.rate = bounds.by_rate(out.area);
  return out;
}

}  // namespace ballast::inline v0_2
