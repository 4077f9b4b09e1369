// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/attention/attention_tasks.hpp>
#include <ballast/attention/detail/water_filler.hpp>
#include <ballast/core/concepts.hpp>

#include <span>
#include <vector>

/// @file
/// @brief `water_filling`: balances the causal attention of a batch over servers by moving parts of samples, with few bytes.

namespace ballast::inline v0_2 {

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

/// @brief As above, for a vector.
/// @tparam Index type of the sample indices
/// @param tasks the attention as it is placed
/// @param options servers, bytes and tolerance
/// @return the tasks of each server, in the order of the given tasks they are part of
/// @throws invalid_input as the overload above
template <index_type Index>
[[nodiscard]] attention_plan<Index> water_filling(std::vector<attention_task<Index>> const& tasks, water_filling_options const& options) {
  return water_filling(std::span<attention_task<Index> const>(tasks), options);
}

BALLAST_INSTANTIATE(attention_plan<std::uint32_t> water_filling(std::span<attention_task<std::uint32_t> const>,
                                                                water_filling_options const&))

}  // namespace ballast::inline v0_2
