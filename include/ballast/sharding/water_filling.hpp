// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/sharding/attention_tasks.hpp>
#include <ballast/sharding/detail/water_filler.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `water_filling`: balances the causal attention of a batch over servers by moving parts of samples, with few bytes.

namespace ballast::inline v0_2 {

namespace detail {

/// Validates the tasks and that no sum of pairs or bytes overflows.
template <index_type Index>
void require_valid(std::span<attention_task<Index> const> tasks, water_filling_options const& o) {
  require(o.servers > 0 && o.servers < 1U << 20, [&] { return "servers = " + std::to_string(o.servers) + " must be in 1 ... 2^20 - 1"; });
  for (auto const& [name, bytes] : {std::pair{"query_bytes", o.query_bytes}, std::pair{"key_value_bytes", o.key_value_bytes}})
    require(bytes > 0 && bytes < 1 << 24, [&] { return name + (" = " + std::to_string(bytes)) + " must be in 1 ... 2^24 - 1"; });
  require(o.multiple > 0 && o.multiple < 1 << 24,
          [&] { return "multiple = " + std::to_string(o.multiple) + " must be in 1 ... 2^24 - 1"; });
  require(o.tolerance >= 0 && o.tolerance <= 1000, [&] { return "tolerance = " + std::to_string(o.tolerance) + " must be in 0 ... 1000"; });
  auto const count = static_cast<std::int64_t>(tasks.size());
  std::int64_t pairs = 0, queries = 0, most_keys = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    auto const& t = tasks[i];
    auto const what = [&] { return "tasks[" + std::to_string(i) + "]"; };
    require(t.home < o.servers, [&] { return what() + ".home = " + std::to_string(t.home) + " must be below servers"; });
    require(0 <= t.begin && t.begin < t.end, [&] {
      return what() + " has the queries " + std::to_string(t.begin) + " to " + std::to_string(t.end) + ", which is no range";
    });
    require(!t.has_tail() || t.tail_begin >= t.end, [&] { return what() + ".tail_begin must not be before its end"; });
    require(t.keys() < std::int64_t{1} << 31, [&] { return what() + " ends at key " + std::to_string(t.keys()) + ", 2^31 or more"; });
    add_checked(pairs, t.pairs(), "pairs of tasks", i);
    queries += t.queries();
    most_keys = (std::max)(most_keys, t.keys());
  }
  auto const bytes = checked(queries) * checked(o.query_bytes) +
                     checked(2 * (count + queries / o.multiple)) * checked(most_keys) * checked(o.key_value_bytes);
  require(bytes.fits(), [] { return std::string("the bytes of all possible moves reach 2^63"); });
}

}  // namespace detail

/// @brief Balances the attention of a batch over servers: each task stays at home, moves, or is split into parts that move.
///
/// Servers above the mean are donors, those below are receivers. The donor with the largest surplus gives to the receiver with the largest
/// deficit: the part that moves with the least bytes per pair, as much of it as neither side has too much. A part is a window of
/// neighbouring queries, or queries off both ends of a task; their numbers are multiples of `multiple`, or all that is left. If no part is
/// small enough, the donor gives more, as long as the larger of the two distances from the mean shrinks; or another donor gives; or the
/// two exchange parts. It ends when the largest surplus and the largest deficit are within the tolerance, or no part helps. Neither of
/// them ever grows.
///
/// @tparam Index  type of the sample indices
/// @param tasks    the attention as it is placed: of shards by `attention_tasks_of`, or a task for each whole sample. No query occurs twice
/// @param options  servers, bytes and tolerance
/// @return the tasks of each server, in the order of the given tasks they are part of; the parts of one task on one server are merged where
/// they are neighbours
/// @post each query is in one task. Of each given task, all parts but one (with a tail: but two) have a multiple of `multiple` queries in
/// their heads and tails
/// @throws invalid_input for a bad option, a task without queries or with 2^31 keys, or if sums of pairs or bytes reach 2^63
/// @par Complexity
/// O(servers log servers + tasks), and for each move O(tasks of a server), or O(tasks) where the donor has no part that is small enough.
/// There are about as many moves as servers, and several times as many with a tolerance near 0. `filling::one_sided` looks at the tasks
/// of all donors for each move.
/// @par Determinism
/// A pure function of its arguments; decided in integers.
/// @par Source
/// Zhuang et al., "Efficient Long-context Language Model Training by Core Attention Disaggregation" (DistCA), arXiv 2510.18121, fills the
/// receivers only; the donors are left with what all receivers may lack.
template <index_type Index>
[[nodiscard]] attention_plan<Index> water_filling(std::span<attention_task<Index> const> tasks, water_filling_options const& options) {
  detail::require_valid(tasks, options);
  return detail::water_filler<Index>(tasks, options).run();
}

/// @brief As above, for a vector. @tparam Index as above @param tasks as above @param options as above @return as above
/// @throws invalid_input as above
template <index_type Index>
[[nodiscard]] attention_plan<Index> water_filling(std::vector<attention_task<Index>> const& tasks, water_filling_options const& options) {
  return water_filling(std::span<attention_task<Index> const>(tasks), options);
}

}  // namespace ballast::inline v0_2
