// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/packing/next_fit.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// @file
/// @brief LongAlign's two ways to make batches, packing and sorted batching (Bai et al., arXiv 2401.18058). They are baselines of HBP.

namespace ballast::inline v0_2::longalign {

/// @brief Packing: samples are concatenated in the given order until the next would not fit; packs are dealt to ranks in order.
///
/// The published code drops samples that reach the capacity, and the last pack. Here a sample above the capacity is an error, and an
/// incomplete last step follows `left_over`.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @param lengths  tokens of each sample, in the (shuffled) order of the data set
/// @param options  capacity, ranks, micro-batches, left-over policy
/// @param cost     cost of a sample
/// @return the plan, with its cost and a lower bound
/// @throws invalid_input as `next_fit` and `deal_steps`
/// @par Complexity
/// O(samples).
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] batching<Index> packing_steps(R const& lengths, batching_options const& options, Cost const& cost) {
  return deal_steps(next_fit<Index>(lengths, {.capacity = options.capacity}).packs, lengths, options, cost, {.how = dealing::in_order});
}

/// @brief Sorted batching: samples are sorted by length and cut into batches of equal sample count; the batches come in random order.
///
/// The micro-batch of each rank has `samples_per_rank` samples of similar length. As published, an incomplete last batch, which has the
/// longest samples, is dropped and listed; `left_over::shorten` keeps it.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @param lengths           tokens of each sample
/// @param samples_per_rank  batch size of a rank, at least 1
/// @param options           ranks, seed, epoch, and `drop` or `shorten`; the samples of a rank may have at most `capacity` tokens
/// @param cost              cost of a sample
/// @return the plan, with its cost and a lower bound
/// @throws invalid_input if `samples_per_rank` is 0, there is more than one micro-batch, a batch exceeds the capacity, or the left-over
///         policy is neither `drop` nor `shorten`
/// @par Complexity
/// O(samples log samples).
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] batching<Index> sorted_batches(R const& lengths, std::uint64_t samples_per_rank, batching_options const& options,
                                             Cost const& cost) {
  require(samples_per_rank > 0, [] { return "samples_per_rank = 0 must be positive"; });
  require(options.micro_batches == 1, [&] { return sentence("micro_batches = ", options.micro_batches, ": sorted batching has one"); });
  require(options.left_over == left_over::drop || options.left_over == left_over::shorten,
          [] { return "left_over must be drop or shorten: sorted batching neither splits nor repeats"; });
  auto const items = weigh(lengths, options, cost);
  require_index<Index>(items.size(), "samples");
  auto const order = order_by<Index>(items.size(), [&](Index i) { return items.tokens[i]; });
  auto const each = static_cast<std::size_t>(samples_per_rank), ranks = static_cast<std::size_t>(options.ranks);
  auto const step = each * ranks, whole = items.size() / step, steps = (items.size() + step - 1) / step;
  auto const kept = options.left_over == left_over::drop ? whole : steps;
  auto turn = random_permutation<std::uint64_t>(whole, epoch_seed(options));
  if (kept > whole) turn.push_back(whole);  // the incomplete batch comes last
  groups<Index> packs;
  for (auto const b : turn)
    for (auto at = static_cast<std::size_t>(b) * step, end = (std::min)(at + step, items.size()); at < end; at += each)
      packs.push_back(std::span(order).subspan(at, (std::min)(each, items.size() - at)));
  return deal_steps(std::move(packs), items, options, {.how = dealing::in_order});
}

}  // namespace ballast::inline v0_2::longalign
