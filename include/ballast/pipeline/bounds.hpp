// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/pipeline/detail/chain_places.hpp>
#include <ballast/pipeline/detail/makespan_bounds.hpp>
#include <ballast/pipeline/detail/work_table.hpp>
#include <ballast/pipeline/result.hpp>
#include <ballast/pipeline/tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief Lower bounds on the time of any order of a pipeline's tasks.

namespace ballast::inline v0_2 {

/// @brief Lower bound on the makespan of any order of the tasks of a pipeline: the greater of two arguments.
///
/// Longest path: one micro-batch takes the sum of its times and transfers through all virtual stages and back. Busiest stage: a stage does
/// all its tasks after the shortest way to its first virtual stage, and before the shortest way back from there; a split weight part need
/// not precede that way back.
///
/// @tparam Work  a `stage_work_model`
/// @param stage_of       for each virtual stage, its stage
/// @param micro_batches  number of micro-batches in a step, at least 1
/// @param split          whether backwards are split
/// @param work           times of a micro-batch on a virtual stage
/// @return the greater of the two lower bounds
/// @throws invalid_input if a count is 0, a member of a work is negative, or a sum reaches 2^63
/// @par Complexity
/// O(virtual stages x micro-batches) time and memory.
/// @par Determinism
/// A pure function of its arguments.
template <stage_work_model Work>
[[nodiscard]] makespan_bound pipeline_lower_bound(std::span<std::uint32_t const> stage_of, std::uint64_t micro_batches, bool split,
                                                  Work const& work) {
  require(!stage_of.empty() && micro_batches > 0, [] { return "there must be at least one virtual stage and micro-batch"; });
  detail::work_table table;
  table.load(stage_of.size(), static_cast<std::size_t>(micro_batches), work);
  std::vector<detail::stage_bound> scratch;
  return detail::bound_of(table, stage_of, std::size_t{*std::max_element(stage_of.begin(), stage_of.end())} + 1, split, scratch);
}

/// @brief Lower bound on the makespan of any order of micro-batches that depend on each other in chains, with whole backwards and one
/// virtual stage per stage.
///
/// Longest path: the tasks of one chain alone take the time of the longest way through them. Busiest stage: each task of a stage begins
/// after the longest way to it in its chain (its head), and the longest way to the end of its chain follows it (its tail). A stage that may
/// interrupt tasks, and always goes on with the longest tail of those that have arrived, ends as early as any.
///
/// @tparam Work  a `stage_work_model`
/// @param chains  micro-batches in chains: on every stage the forwards of a chain are in its order, and the backwards in reverse; each of
/// the numbers from 0 to `chains.members.size() - 1` is in one chain
/// @param stages  number of stages, at least 1
/// @param work    times of a micro-batch on a stage
/// @return the greater of the two lower bounds
/// @post a chain more, or a longer time, never gives less; chains of one micro-batch each give at least what the other overload gives
/// @throws invalid_input if there is no micro-batch or stage, a number is in no chain or in two places, a member of a work is negative, or
/// a sum reaches 2^63
/// @par Complexity
/// O(tasks log micro-batches) time, O(tasks) memory.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Heads, tails and the preemptive schedule: Carlier and Pinson, An algorithm for solving the job-shop problem, Management Science 35(2),
/// 1989; Jackson 1955.
template <stage_work_model Work>
[[nodiscard]] makespan_bound pipeline_lower_bound(groups<std::uint32_t> const& chains, std::uint64_t stages, Work const& work) {
  require(stages > 0 && !chains.members.empty(), [] { return "there must be at least one stage and micro-batch"; });
  std::vector<detail::chain_place> places;
  detail::place_chains(chains, chains.members.size(), "chains", places);
  detail::work_table table;
  table.load(static_cast<std::size_t>(stages), chains.members.size(), work);
  detail::chain_bound_memory memory;
  return detail::bound_of(table, chains, memory);
}

}  // namespace ballast::inline v0_2
