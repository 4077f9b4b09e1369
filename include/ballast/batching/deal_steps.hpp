// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/deal_packs.hpp>
#include <ballast/batching/detail/packs_into_steps.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/batching/weighed_samples.hpp>

#include <cstdint>
#include <utility>

/// @file
/// @brief `deal_steps`: deals packs that exist already to steps and ranks.

namespace ballast::inline v0_2 {

/// @brief Deals packs to the ranks of steps: in order, at random, or such that packs of similar cost share a step or a micro-batch.
///
/// With `dealing::sorted`, ranks hardly wait and packs stay full, but a step is not a random draw: its samples have similar lengths. Cyclic
/// emission evens that out over eight steps.
///
/// `dealing::rows` also sorts the packs of a window by cost. Each `ranks` neighbours make a row: one micro-batch across all ranks. The rows
/// of a window are dealt to its steps such that all steps cost about the same, so each step is a good mixture.
///
/// For both, packs from best fit in a random order (`best_fit_shuffled`) mix far better than packs from best-fit decreasing.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param packs    sample indices of each pack; samples in no pack are listed in `dropped`
/// @param lengths  tokens of each sample (`apply_oversize(…).tokens` if a packer cut some)
/// @param options  shape of a step, where ranks wait, what happens to an incomplete last step, and seed
/// @param cost     cost of a sample by its length
/// @param deal     how packs are dealt: `{.how = dealing::sorted, .window = 16}`
/// @return the plan, its cost and a lower bound; with `dealing::sorted`, an incomplete last step holds the cheapest packs of the last
/// window
/// @throws invalid_input for a bad option, length or cost, or packs that overlap, are empty or exceed the capacity
/// @par Complexity
/// O(samples) time, plus O(packs log packs) to sort; `redeal` adds O(samples log ranks) and a bounded number of exchanges per step or row.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Sorting: Yao et al., "Hierarchical Balance Packing", arXiv 2503.07680. Cyclic emission and rows: this library.
template <index_type Index, length_range R, cost_model Cost>
[[nodiscard]] batching<Index> deal_steps(groups<Index> packs, R const& lengths, batching_options const& options, Cost const& cost,
                                         deal_options const& deal = {}) {
  return deal_steps(std::move(packs), weigh(lengths, options, cost), options, deal);
}

/// @brief As above, for samples that were weighed before.
///
/// @tparam Index  type of the sample indices
/// @param packs    sample indices of each pack
/// @param samples  result of `weigh`
/// @param options  shape of a step, where ranks wait, what happens to an incomplete last step, and seed
/// @param deal     how packs are dealt
/// @return the plan, its cost and a lower bound
/// @throws invalid_input as the overload above, or if the samples were weighed for other options and do not fit these
/// @par Complexity
/// As above.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index>
[[nodiscard]] batching<Index> deal_steps(groups<Index> packs, weighed_samples const& samples, batching_options const& options,
                                         deal_options const& deal = {}) {
  detail::require_fit<Index>(samples, options);
  switch (deal.how) {
    case dealing::sorted: return detail::sort_into_steps(std::move(packs), samples, options, deal);
    case dealing::rows: return detail::rows_into_steps(std::move(packs), samples, options, deal);
    case dealing::in_order:
    case dealing::random: break;
  }
  return detail::deal_as_they_come(std::move(packs), samples, options, deal.how == dealing::random);
}

BALLAST_INSTANTIATE(batching<std::uint32_t> deal_steps(groups<std::uint32_t>, weighed_samples const&, batching_options const&,
                                                       deal_options const&))
BALLAST_INSTANTIATE(batching<std::uint64_t> deal_steps(groups<std::uint64_t>, weighed_samples const&, batching_options const&,
                                                       deal_options const&))

}  // namespace ballast::inline v0_2
