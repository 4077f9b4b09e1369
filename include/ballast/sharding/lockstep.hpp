// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/status.hpp>
#include <ballast/sharding/detail/degree_times.hpp>
#include <ballast/sharding/detail/homogeneous_passes.hpp>
#include <ballast/sharding/detail/micro_batch_search.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/power_of_two_groups.hpp>
#include <ballast/sharding/result.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief `lockstep_shards`: a schedule for ranks that wait for each other after every micro-batch.

namespace ballast::inline v0_2 {

/// @brief How far `lockstep_shards` searches.
struct lockstep_options {
  std::uint64_t counts = 3;  ///< numbers of micro-batches that are tried for each way to deal samples; two more for neighbours in length
};

/// @brief Plans micro-batches after each of which all ranks wait for each other, as under ZeRO-3.
///
/// The time is the sum of the slowest groups of all micro-batches. Samples are dealt into micro-batches in several ways: neighbours in
/// length together, in turn, or the longest in one micro-batch and the rest by tokens. `power_of_two_groups` plans each micro-batch, and
/// the best of all is kept, which is never slower than the best groups of one size.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `degree_cost_model`
/// @param lengths  tokens of each sample; may be empty
/// @param options  shape of the batch; `execution` is not read
/// @param cost     time of a sample by its length and the number of ranks that share it
/// @param search   how far to search
/// @return the shards, in lockstep; `infeasible` if a sample fits no group of a power of two, `unknown` if no plan was found
/// @post all ranks have the same number of passes, those of idle ranks are empty; `time.lower_bound` holds for every plan in lockstep by
/// powers of two
/// @throws invalid_input if a length or an option is not positive, or the sum of all times exceeds 2^62
/// @par Complexity
/// O(n log n), and at most `7 counts + 2` plans of all samples, each O(n log n log ranks) times at most 17 + log2(ranks).
/// @par Determinism
/// A pure function of its arguments; equal lengths keep their order.
/// @par Source
/// The micro-batches of neighbours in length are those of FlexSP (arXiv 2412.01523).
template <index_type Index = std::uint32_t, length_range R, degree_cost_model Cost>
[[nodiscard]] shards<Index> lockstep_shards(R const& lengths, sharding_options options, Cost const& cost,
                                            lockstep_options const& search = {}) {
  options.execution = execution::lockstep;
  auto const times = detail::times_of_degrees(lengths, options, cost);
  auto const equal = detail::best_homogeneous(times);
  if (times.length.empty() || equal.status == status::infeasible) return detail::shards_of_bins<Index>(lengths, times, equal);
  detail::micro_batch_search micro_batches(times);
  micro_batches.time = equal.time;
  micro_batches.run(static_cast<std::size_t>(search.counts));
  if (micro_batches.best.empty()) return detail::shards_of_bins<Index>(lengths, times, equal);
  pass_list<Index> list;
  for (std::size_t m = 0; m < micro_batches.best.size(); ++m)
    append_micro_batch(list, detail::sorted_groups<Index>(times, micro_batches.best[m], micro_batches.fits[m]), options.ranks);
  auto out = make_shards(lengths, list, options.ranks, options.layout);
  out.execution = options.execution;
  out.time = {micro_batches.time, detail::area_bound(times)};
  return out;
}

}  // namespace ballast::inline v0_2
