// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/deal_packs.hpp>
#include <ballast/batching/detail/rows_into_steps.hpp>
#include <ballast/batching/detail/sort_into_steps.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/batching/weigh.hpp>

#include <utility>

/// @file
/// @brief `deal_steps`: packs that were made before are dealt to steps and ranks; `plan_steps` makes its packs itself.

namespace ballast::inline v0_2 {

/// @brief Deals packs to the ranks of steps: in order, at random, or so that packs of like cost meet and ranks hardly wait.
///
/// `dealing::sorted` takes full packs as they are. The price is that a step is no random draw: its samples have like lengths (cyclic
/// emission makes up for most of that over eight steps). `dealing::rows` sorts the packs of a window likewise; as many neighbours as there
/// are ranks make a row, a micro-batch across ranks, and rows are dealt to the steps of the window so that all steps cost the same, which
/// makes each of them a good mixture. For both, packs from best fit in a random order mix far better than those of best-fit decreasing.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param packs    which samples share a micro-batch; samples in none of them are listed as dropped
/// @param lengths  tokens of each sample (`apply_oversize(…).tokens` where a packer cut some)
/// @param options  shape of a step, what to do with an incomplete one, where ranks wait, and seed
/// @param cost     what a sample costs
/// @param deal     `{.how = dealing::sorted, .window = 16}`
/// @return the plan, its cost and the bound; of `dealing::sorted`, an incomplete last step holds the cheapest packs of the last window
/// @throws invalid_input for a bad option, length or cost, or packs that overlap, are empty or exceed the capacity
/// @par Complexity
/// O(samples), and O(packs log packs) to sort; redealing adds O(samples log ranks) and a bounded number of exchanges per step (row).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Sorting: Yao et al., "Hierarchical Balance Packing", arXiv 2503.07680. Cyclic emission and rows are our own.
template <index_type Index, length_range R, cost_model Cost>
[[nodiscard]] batching<Index> deal_steps(groups<Index> packs, R const& lengths, batching_options const& options, Cost const& cost,
                                         deal_options const& deal = {}) {
  return deal_steps(std::move(packs), weigh(lengths, options, cost), options, deal);
}

/// @brief As above, of samples weighed before.
///
/// @tparam Index  type of the sample indices
/// @param packs    as above
/// @param samples  from `weigh`
/// @param options  as above
/// @param deal     as above
/// @return as above
/// @throws invalid_input as above, or if the samples were weighed for other options and these cannot hold them
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

}  // namespace ballast::inline v0_2
