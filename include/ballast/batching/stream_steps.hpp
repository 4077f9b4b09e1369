// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/streamer.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>

#include <cstdint>

/// @file
/// @brief `stream_steps`: draws steps from a random stream of samples, with outliers of similar cost in the same steps.

namespace ballast::inline v0_2 {

/// @brief Draws the samples of each step in a random order, and distributes each draw first over the ranks, then over their micro-batches.
///
/// Each step is a random draw, as training expects. If single samples cost so much that random steps cannot be balanced
/// (`critical_ratios::cost` above 0.9), these samples are gathered such that a step has one of similar cost for every rank, or they are
/// split over several ranks. `outlier_stream` lets samples wait whose lengths are not known in advance. Within a step, samples are
/// distributed by rate matching or longest processing time, whichever balances better, and then exchanged.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  tokens of each sample, at most the capacity, or that of the ranks that `stream` lets share a sample
/// @param options  shape of a step, seed, and `left_over`: `drop` leaves out the steps that the end of the stream cannot fill, `repeat`
/// fills them with samples of earlier steps, the other values keep them as they are
/// @param cost     cost of a sample by its length
/// @param stream   fill of a step, gathering of outliers, and splitting over ranks
/// @return the plan, its cost and a lower bound; only the last step may have empty places, if there are too few samples
/// @throws invalid_input for a bad option, length or cost
/// @par Complexity
/// O(samples log ranks) time for each distribution that is tried (one to three a step, up to twelve with `fill = 0`), plus a bounded number
/// of exchanges per step; O(samples) memory.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] batching<Index> stream_steps(R const& lengths, batching_options const& options, Cost const& cost,
                                           stream_options const& stream = {}) {
  return stream_steps<Index>(weigh(lengths, options, cost, detail::most_ranks_shared(stream)), options, stream);
}

/// @brief As above, for samples that were weighed before.
/// @tparam Index  type of the sample indices
/// @param samples  result of `weigh`
/// @param options  shape of a step, seed, and `left_over`
/// @param stream   fill of a step, gathering of outliers, and splitting over ranks
/// @return the plan, its cost and a lower bound
/// @throws invalid_input as the overload above, or if the samples were weighed for other options and do not fit these
template <index_type Index = std::uint32_t>
[[nodiscard]] batching<Index> stream_steps(weighed_samples const& samples, batching_options const& options,
                                           stream_options const& stream = {}) {
  require(stream.tuning.fill <= 1000, [&] { return sentence("fill = ", stream.tuning.fill, " must be at most 1000"); });
  auto const most = stream.most_ranks_shared;
  require((most & (most - 1)) == 0 && most != 1,
          [&] { return sentence("most_ranks_shared = ", most, " must be a power of two above 1, or 0"); });
  detail::require_fit<Index>(samples, options, detail::most_ranks_shared(stream));
  return detail::stream<Index>(samples, options, stream);
}

}  // namespace ballast::inline v0_2
