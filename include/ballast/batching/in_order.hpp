// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/deal_packs.hpp>
#include <ballast/batching/detail/fill_places.hpp>
#include <ballast/cost/polynomial.hpp>

#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief The two baselines: packs dealt to ranks in their order, and dealt at random.

namespace ballast::inline v0_2 {

namespace detail {
template <index_type Index, length_range R, cost_model Cost>
[[nodiscard]] batching<Index> deal_as_they_come(groups<Index> packs, R const& lengths, batching_options const& o, Cost const& cost,
                                                bool shuffle) {
  auto const items = weigh<Index>(lengths, o, cost);
  batching<Index> b;
  take_packs(b, std::move(packs), items, o);
  split_left_over(b, items, o);
  std::vector<Index> order(b.packs.size());
  std::iota(order.begin(), order.end(), Index{0});
  if (shuffle) order = random_permutation<Index>(b.packs.size(), epoch_seed(o));
  settle_left_over(b, order, items, o);
  cut_into_steps(b, std::span<Index const>(order));
  fill_places(b, items, o, mixing::never);
  certify(b, items, o);
  return b;
}
}  // namespace detail

/// @brief Deals packs to ranks in the order given: pack k of a step to rank k % ranks, micro-batch k / ranks.
///
/// What a trainer does that knows nothing of costs and does not shuffle; the naive plan of every comparison here.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param packs    which samples share a micro-batch; samples in none of them are listed as dropped
/// @param lengths  tokens of each sample (`member_lengths` where a packer cut some)
/// @param options  shape of a step and what to do with an incomplete one
/// @param cost     what a sample costs
/// @return the plan, its cost and the bound
/// @throws invalid_input for a bad option, length or cost, or packs that overlap, are empty or exceed the capacity
/// @par Complexity
/// O(samples).
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index, length_range R, cost_model Cost>
[[nodiscard]] batching<Index> steps_in_order(groups<Index> packs, R const& lengths, batching_options const& options, Cost const& cost) {
  return detail::deal_as_they_come(std::move(packs), lengths, options, cost, false);
}

/// @brief Deals packs to ranks in a random order.
///
/// The usual plan of trainers that pack: full packs, random steps, and ranks that wait for whichever of them drew the longest samples.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param packs    which samples share a micro-batch; samples in none of them are listed as dropped
/// @param lengths  tokens of each sample
/// @param options  shape of a step, what to do with an incomplete one, and seed
/// @param cost     what a sample costs
/// @return the plan, its cost and the bound
/// @throws invalid_input as `steps_in_order`
/// @par Complexity
/// O(samples).
/// @par Determinism
/// A pure function of its arguments, `seed` and `epoch` among them.
template <index_type Index, length_range R, cost_model Cost>
[[nodiscard]] batching<Index> random_steps(groups<Index> packs, R const& lengths, batching_options const& options, Cost const& cost) {
  return detail::deal_as_they_come(std::move(packs), lengths, options, cost, true);
}

}  // namespace ballast::inline v0_2
