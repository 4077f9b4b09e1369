// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/status.hpp>
#include <ballast/sharding/detail/any_degree_search.hpp>
#include <ballast/sharding/detail/any_degree_times.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/result.hpp>

#include <cstdint>
#include <ranges>

/// @file
/// @brief `any_degree_shards`: groups of any number of neighbouring ranks, not only 1, 2, 4, ...

namespace ballast::inline v0_2 {

/// @brief How far `any_degree_shards` searches.
struct any_degree_options {
  std::int64_t attempts = 24;  ///< plans that are constructed, at least 1
  bool powers_of_two = false;  ///< whether groups have 1, 2, 4, ... ranks only, to compare
};

/// @brief A lower bound on the makespan of any shards that train each sample in one pass, on any number of ranks, under any policy.
///
/// Within a time T, each sample needs at least the smallest product of ranks and time over the numbers of ranks that have room for it and
/// are quick enough. All of them, and a `cost_per_pass` for each rank and for each `capacity` tokens, must fit into T on all ranks. The
/// bound is at least `least_time`. Samples of more tokens than half of all ranks hold run one after the other.
///
/// @tparam R     range of integers
/// @tparam Cost  a `shard_cost_model`
/// @param lengths  tokens of each sample
/// @param options  ranks, capacity, fixed time of a pass, and most ranks that share a sample
/// @param cost     time of a sample by its length and the number of ranks that share it
/// @return the lower bound, in units of the cost; 0 without samples, or if a sample has room on no number of ranks
/// @throws invalid_input if an option or a length is not positive, a time is negative, or the sum of the largest times reaches 2^62
/// @par Complexity
/// O(n log n + n ranks) calls of the cost, and O(ranks log time) more for each sample that few ranks are too slow for.
/// @par Determinism
/// A pure function of its arguments, in integers.
/// @par Source
/// The dual search on the makespan of moldable tasks (Mounie, Rapine and Trystram, SIAM J. Computing 37, 2007).
template <length_range R, shard_cost_model Cost>
[[nodiscard]] std::int64_t any_degree_bound(R const& lengths, sharding_options const& options, Cost const& cost) {
  return detail::any_degree_times(lengths, options, cost).bound();
}

/// @brief Plans one global batch on groups of any number of neighbouring ranks, in independent passes.
///
/// For a step time T, each sample takes the number of ranks of least rank-time that has room for it and takes at most T. Samples of several
/// ranks come first, the widest first, each on the neighbouring ranks that are free earliest; tokens that are left in its pass are filled
/// with the longest samples that fit, where a pass saved is worth more than their exchange. Single-rank samples go to the rank of least
/// load, longest first. The search halves the distance of T to the lower bound, and tries several rules for each T. Groups of one size for
/// all samples are tried too, micro-batches that follow each other without a wait and, for small batches, groups of several sizes that stay
/// the same and one pass on each rank.
///
/// Use it for a run-time whose groups may have any size, such as ring attention on any ranks, and to see what that is worth: over the sets
/// of `bench_hybrid_cp` little, see docs/hybrid-context-parallel.md. Degrees are also rounded up to powers of two where that is faster.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `shard_cost_model`
/// @param lengths  tokens of each sample; may be empty
/// @param options  shape of the batch; `execution` is not read
/// @param cost     time of a sample by its length and the number of ranks that share it
/// @param search   how far to search
/// @return the shards, independent passes; `infeasible` if a sample has room on no group
/// @post `check_shards` accepts the result, `time.value` is the makespan of `time_shards`, and `time.lower_bound` is `any_degree_bound`,
/// whatever `powers_of_two` is
/// @throws invalid_input as `any_degree_bound`, or if `attempts` is not positive
/// @par Complexity
/// As `any_degree_bound`, and O(n log n + passes of several ranks * ranks) for each attempt. A pass of a rank is found by first fit among
/// its open passes.
/// @par Determinism
/// A pure function of its arguments, in integers; equal lengths keep their order.
/// @par Source
/// Groups of any number of ranks are those of ByteScale (arXiv 2502.21231); the search is that of moldable tasks.
template <index_type Index = std::uint32_t, length_range R, shard_cost_model Cost>
[[nodiscard]] shards<Index> any_degree_shards(R const& lengths, sharding_options options, Cost const& cost,
                                              any_degree_options const& search = {}) {
  require(search.attempts > 0, [&] { return sentence("attempts = ", search.attempts, " must be positive"); });
  require_index<std::uint32_t>(std::ranges::size(lengths), "samples");
  require_index<Index>(std::ranges::size(lengths), "samples");
  options.execution = execution::independent;
  detail::any_degree_times const times(lengths, options, cost);
  shards<Index> out;
  if (!times.allows_all(search.powers_of_two)) {
    out.status = status::infeasible;
    return out;
  }
  auto const lower = times.bound();
  detail::run_plan plan{.passes = {}, .pass_of = {}, .value = 0};
  if (times.samples() > 0) {
    auto const sizes = search.powers_of_two ? detail::powers_of_two(options) : times.sizes();
    plan = detail::search_runs(times, detail::times_of_degrees(lengths, options, cost, sizes), lower, detail::block_plan::none,
                               search.powers_of_two, search.attempts, false);
  }
  out = make_shards(lengths, detail::passes_of_runs<Index>(times.alone, plan), options.ranks, options.layout);
  out.time = {plan.value, lower};
  return out;
}

}  // namespace ballast::inline v0_2
