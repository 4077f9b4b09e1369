// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/sample_degree_cost.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

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
  group_sizes sizes = group_sizes::automatic;       ///< how many ranks may share a sample
};

namespace detail {

inline void require_valid(sharding_options const& o) {
  require(o.capacity > 0, [&] { return sentence("capacity = ", o.capacity, " must be positive"); });
  require(o.ranks > 0 && o.ranks < std::uint64_t{1} << 20, [&] { return sentence("ranks = ", o.ranks, " must be in 1 ... 2^20 - 1"); });
  require(o.cost_per_pass >= 0, [&] { return sentence("cost_per_pass = ", o.cost_per_pass, " must not be negative"); });
  require(o.capacity <= (std::int64_t{1} << 62) / static_cast<std::int64_t>(o.ranks),
          [&] { return sentence("capacity = ", o.capacity, " times ranks exceeds 2^62"); });
}

/// The most ranks that may share a sample.
[[nodiscard]] constexpr std::uint64_t widest_group(sharding_options const& o) noexcept {
  return o.most_ranks_shared == 0 ? o.ranks : (std::min)(o.most_ranks_shared, o.ranks);
}
/// Whether any number of ranks may share one of that many samples.
[[nodiscard]] constexpr bool takes_any_size(sharding_options const& o, std::uint64_t samples) noexcept {
  constexpr auto most = std::uint64_t{1} << 20;  // pairs, each of whose times is asked for
  return o.sizes == group_sizes::any || (o.sizes == group_sizes::automatic && !std::has_single_bit(o.ranks) && samples <= most / o.ranks);
}

/// The time of sample `i` on `ranks` ranks, checked to be in [0, 2^62).
template <shard_cost_model Cost>
[[nodiscard]] std::int64_t sample_time(Cost const& cost, std::size_t i, std::int64_t length, std::uint64_t ranks) {
  auto const d = static_cast<std::int64_t>(ranks);
  auto const name = [&] { return sentence(entry("lengths", i, length), " on ", d, " ranks"); };
  require(shard_time_fits(cost, i, length, d), [&] { return name() + " has a time that is negative or too large for 63 bits"; });
  auto const time = shard_time(cost, i, length, d);
  require(std::cmp_greater_equal(time, 0) && std::cmp_less(time, std::int64_t{1} << 62),
          [&] { return sentence(name(), " takes ", time, ", outside [0, 2^62)"); });
  return static_cast<std::int64_t>(time);
}

[[nodiscard]] inline std::string sum_too_large(std::size_t i, std::int64_t length) {
  return entry("lengths", i, length) + " brings the sum of times to 2^62 or more";
}
/// Adds a time to a sum, which must stay below 2^62.
inline void add_time(std::int64_t& sum, std::int64_t time, std::size_t i, std::int64_t length) {
  require(time < (std::int64_t{1} << 62) - sum, [&] { return sum_too_large(i, length); });
  sum += time;
}

}  // namespace detail
}  // namespace ballast::inline v0_2
