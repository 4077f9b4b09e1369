// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/status.hpp>
#include <ballast/sharding/bounds.hpp>
#include <ballast/sharding/detail/any_degree_times.hpp>
#include <ballast/sharding/detail/degree_times.hpp>
#include <ballast/sharding/detail/homogeneous_passes.hpp>
#include <ballast/sharding/detail/micro_batch_search.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/power_of_two_groups.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <utility>
#include <vector>

/// @file
/// @brief Schedules of simpler planners: groups that all have the same number of ranks, the best for the batch or that of the longest
/// context; and `lockstep_shards`, for ranks that wait for each other after every micro-batch.

namespace ballast::inline v0_2 {

namespace detail {

/// The times of a batch on groups of the sizes that a planner tries, and a lower bound under the policy of the options.
struct bounded_times {
  degree_times times;
  std::int64_t lower;
};
template <length_range R, shard_cost_model Cost>
[[nodiscard]] bounded_times times_of_sizes(R const& lengths, sharding_options const& o, Cost const& cost) {
  require_valid(o);
  if (takes_any_size(o, std::ranges::size(lengths))) {
    any_degree_times const any(lengths, o, cost);
    return {times_of_degrees(lengths, o, cost, any.sizes()), any.bound()};
  }
  auto t = times_of_degrees(lengths, o, cost);
  auto const lower = bound_on_blocks(t);
  return {std::move(t), lower};
}

}  // namespace detail

/// @brief Divides the ranks into groups of one size, the best for the batch of those that `options.sizes` allows.
///
/// Under `execution::lockstep`, samples go longest first to the bin of least time that has room, for as few micro-batches as hold them and
/// the next three counts; bins of similar time are one micro-batch. Otherwise each sample goes to the group of least load, and into the
/// group's earliest pass with room.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `shard_cost_model`
/// @param lengths  tokens of each sample; may be empty
/// @param options  shape of the batch
/// @param cost     time of a sample by its length and the number of ranks that share it
/// @return the shards; `infeasible` if a sample fits no group, `unknown` if no size was found that holds all
/// @post `time.lower_bound` holds for every plan on groups that `options.sizes` allows
/// @throws invalid_input if a length or an option is not positive, or the sum of all times exceeds 2^62
/// @par Complexity
/// O(log ranks) times, or O(sqrt(ranks)) where groups have any size: O(n log n + n passes of a group), and O(n ranks) under lockstep.
/// The bound is that of `shard_bounds`.
/// @par Determinism
/// A pure function of its arguments; equal lengths keep their order.
/// @par Source
/// The choice of one degree per batch is the baseline of FlexSP (arXiv 2412.01523, section 6).
template <index_type Index = std::uint32_t, length_range R, shard_cost_model Cost>
[[nodiscard]] shards<Index> homogeneous_shards(R const& lengths, sharding_options const& options, Cost const& cost) {
  auto const [times, lower] = detail::times_of_sizes(lengths, options, cost);
  auto const best = detail::best_homogeneous(times);
  return detail::shards_of_bins<Index>(lengths, times, best, lower);
}

/// @brief Uses the same groups for every batch: as many ranks as the longest allowed sample needs.
///
/// Groups have 1, 2, 4, ... ranks or, where `options.sizes` allows it, a number that divides all, so that none is idle. Bins are filled by
/// tokens, first-fit decreasing, and dealt to the groups in order, one micro-batch after the other, in lockstep. This is
/// what a fixed context-parallel degree does.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `shard_cost_model`
/// @param lengths  tokens of each sample; may be empty
/// @param context  longest sample that any batch may have, in tokens; no length is above it
/// @param options  shape of the batch; `execution` is not read
/// @param cost     time of a sample by its length and the number of ranks that share it
/// @return the shards, in lockstep; `infeasible` if no group has room for `context` tokens, `unknown` if a bin has fewer tokens than ranks
/// @post `time.lower_bound` holds for every plan in lockstep on groups that `options.sizes` allows
/// @throws invalid_input if a length exceeds `context`, a length or an option is not positive, or the sum of all times exceeds 2^62
/// @par Complexity
/// O(n log n + n bins).
/// @par Determinism
/// A pure function of its arguments; equal lengths keep their order.
template <index_type Index = std::uint32_t, length_range R, shard_cost_model Cost>
[[nodiscard]] shards<Index> static_shards(R const& lengths, std::int64_t context, sharding_options options, Cost const& cost) {
  options.execution = execution::lockstep;
  detail::require_valid(options);
  auto const any = detail::takes_any_size(options, std::ranges::size(lengths));
  auto const times = detail::times_of_degrees(lengths, options, cost, any ? detail::divisors(options) : detail::powers_of_two(options));
  require(context > 0, [&] { return sentence("context = ", context, " must be positive"); });
  require(times.length.empty() || times.length[0] <= context,
          [&] { return sentence(entry("lengths", times.sample[0], times.length[0]), " exceeds context = ", context); });
  std::size_t level = 0;
  while (level < times.levels && times.room(level) < context) ++level;
  detail::bin_list bins;
  if (level < times.levels) bins = detail::dealt_token_bins(times, level);
  if (level == times.levels) bins.status = status::infeasible;
  return detail::shards_of_bins<Index>(lengths, times, bins,
                                       any ? detail::any_degree_times(lengths, options, cost).bound() : detail::bound_on_blocks(times));
}

/// @brief How far `lockstep_shards` searches.
struct lockstep_options {
  std::uint64_t counts = 3;  ///< numbers of micro-batches that are tried for each way to deal samples; two more for neighbours in length
};

/// @brief Plans micro-batches after each of which all ranks wait for each other, as under ZeRO-3.
///
/// The time is the sum of the slowest groups of all micro-batches. Samples are dealt into micro-batches in several ways: neighbours in
/// length together, in turn, or the longest in one micro-batch and the rest by tokens; or micro-batches are formed one after the other: the
/// longest sample that is left, on the number of ranks with which all of them do most work in its time, and what has room beside it; all
/// that is left may be the last one. At last some micro-batches are formed anew, a few times; and all of them, where they cost much and
/// there may be one too many.
/// `power_of_two_groups` plans each micro-batch, and the best of all is kept, which is never slower than the best groups of one size. Where
/// `options.sizes` allows it, groups of other sizes are tried too.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `shard_cost_model`
/// @param lengths  tokens of each sample; may be empty
/// @param options  shape of the batch; `execution` is not read
/// @param cost     time of a sample by its length and the number of ranks that share it
/// @param search   how far to search
/// @return the shards, in lockstep; `infeasible` if a sample fits no group, `unknown` if no plan was found
/// @post all ranks have the same number of passes, those of idle ranks are empty; `time.lower_bound` holds for every plan in lockstep on
/// groups that `options.sizes` allows
/// @throws invalid_input if a length or an option is not positive, or the sum of all times exceeds 2^62
/// @par Complexity
/// O(n log n), and at most `7 counts + 30` plans of all samples, each O(n log n log ranks) times at most 17 + log2(ranks). With any sizes,
/// half as many more plans on O(sqrt(ranks)) sizes in place of log2(ranks), and the bound of `shard_bounds`.
/// @par Determinism
/// A pure function of its arguments; equal lengths keep their order.
/// @par Source
/// The micro-batches of neighbours in length are those of FlexSP (arXiv 2412.01523).
template <index_type Index = std::uint32_t, length_range R, shard_cost_model Cost>
[[nodiscard]] shards<Index> lockstep_shards(R const& lengths, sharding_options options, Cost const& cost,
                                            lockstep_options const& search = {}) {
  options.execution = execution::lockstep;
  auto const [times, lower] = detail::times_of_sizes(lengths, options, cost);
  auto const any = detail::takes_any_size(options, times.length.size());
  auto const equal = detail::best_homogeneous(times);
  if (times.length.empty() || equal.status == status::infeasible) return detail::shards_of_bins<Index>(lengths, times, equal, lower);
  auto best = equal.time;
  pass_list<Index> list;
  auto const plan = [&](detail::degree_times const& by, std::uint64_t counts) {
    auto const micro_batches = detail::search_lockstep(by, best, counts);
    if (micro_batches.best.empty()) return;
    list = {};
    for (std::size_t m = 0; m < micro_batches.best.size(); ++m)
      append_micro_batch(list, detail::sorted_groups<Index>(by, micro_batches.best[m], micro_batches.fits[m]), options.ranks);
    best = micro_batches.time;
  };
  if (any) plan(detail::times_of_degrees(lengths, options, cost), search.counts);
  plan(times, any ? divide_up(search.counts, std::uint64_t{2}) : search.counts);
  if (list.placements.empty()) return detail::shards_of_bins<Index>(lengths, times, equal, lower);
  auto out = make_shards(lengths, list, options.ranks, options.layout);
  out.execution = options.execution;
  out.time = {best, lower};
  return out;
}

}  // namespace ballast::inline v0_2
