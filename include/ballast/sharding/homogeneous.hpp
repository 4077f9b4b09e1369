// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/status.hpp>
#include <ballast/sharding/detail/degree_times.hpp>
#include <ballast/sharding/detail/homogeneous_passes.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief Schedules in which every group has the same number of ranks: the best one for the batch, or the one of the longest context.

namespace ballast::inline v0_2 {

/// @brief Divides the ranks into groups of one size, the best of 1, 2, 4, ... for the batch.
///
/// Under `execution::lockstep`, samples go longest first to the bin of least time that has room, for as few micro-batches as hold them and
/// the next three counts; bins of similar time are one micro-batch. Otherwise each sample goes to the group of least load, and into the
/// group's earliest pass with room.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `degree_cost_model`
/// @param lengths  tokens of each sample; may be empty
/// @param options  shape of the batch
/// @param cost     time of a sample by its length and the number of ranks that share it
/// @return the shards; `infeasible` if a sample fits no group of a power of two, `unknown` if no size was found that holds all
/// @post `time.lower_bound` holds for every plan by powers of two
/// @throws invalid_input if a length or an option is not positive, or the sum of all times exceeds 2^62
/// @par Complexity
/// O(log ranks) times: O(n log n + n passes of a group), and O(n ranks) under lockstep.
/// @par Determinism
/// A pure function of its arguments; equal lengths keep their order.
/// @par Source
/// The choice of one degree per batch is the baseline of FlexSP (arXiv 2412.01523, section 6).
template <index_type Index = std::uint32_t, length_range R, degree_cost_model Cost>
[[nodiscard]] shards<Index> homogeneous_shards(R const& lengths, sharding_options const& options, Cost const& cost) {
  auto const times = detail::times_of_degrees(lengths, options, cost);
  auto const best = detail::best_homogeneous(times);
  return detail::shards_of_bins<Index>(lengths, times, best);
}

/// @brief Uses the same groups for every batch: as many ranks as the longest allowed sample needs.
///
/// Bins are filled by tokens, first-fit decreasing, and dealt to the groups in order, one micro-batch after the other, in lockstep. This is
/// what a fixed context-parallel degree does.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `degree_cost_model`
/// @param lengths  tokens of each sample; may be empty
/// @param context  longest sample that any batch may have, in tokens; no length is above it
/// @param options  shape of the batch; `execution` is not read
/// @param cost     time of a sample by its length and the number of ranks that share it
/// @return the shards, in lockstep; `infeasible` if no group has room for `context` tokens, `unknown` if a bin has fewer tokens than ranks
/// @post `time.lower_bound` holds for every plan in lockstep by powers of two
/// @throws invalid_input if a length exceeds `context`, a length or an option is not positive, or the sum of all times exceeds 2^62
/// @par Complexity
/// O(n log n + n bins).
/// @par Determinism
/// A pure function of its arguments; equal lengths keep their order.
template <index_type Index = std::uint32_t, length_range R, degree_cost_model Cost>
[[nodiscard]] shards<Index> static_shards(R const& lengths, std::int64_t context, sharding_options options, Cost const& cost) {
  options.execution = execution::lockstep;
  auto const times = detail::times_of_degrees(lengths, options, cost);
  require(context > 0, [&] { return "context = " + std::to_string(context) + " must be positive"; });
  require(times.length.empty() || times.length[0] <= context,
          [&] { return entry("lengths", times.sample[0], times.length[0]) + " exceeds context = " + std::to_string(context); });
  std::size_t level = 0;
  while (level < times.levels && options.capacity << level < context) ++level;
  detail::bin_list bins;
  if (level < times.levels) bins = detail::dealt_token_bins(times, level);
  if (level == times.levels) bins.status = status::infeasible;
  return detail::shards_of_bins<Index>(lengths, times, bins);
}

}  // namespace ballast::inline v0_2
