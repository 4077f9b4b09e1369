// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/packing/detail/place.hpp>

/// @file
/// @brief First fit and best fit over the samples in a random order: more packs than in sorted order, but well mixed packs.

namespace ballast::inline v0_2 {

/// @brief Packs by first fit over the samples in a random order.
///
/// Which samples share a pack is random: the packs differ from seed to seed, and long samples are not kept together as in sorted order.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  capacity, limits and seed
/// @param cost     weighs one length; tokens by default
/// @return packs in the order they were opened, the members of a pack in the order they were placed
/// @post at most floor(1.7 OPT) packs, if neither the samples per pack nor the number of packs is limited
/// @throws invalid_input for a bad option, a length that is not positive, or one above the capacity under `oversize::reject`
/// @par Complexity
/// O(n log packs) time, O(n) memory.
/// @par Determinism
/// A pure function of its arguments, which include `options.seed`.
/// @par Source
/// See `first_fit`; the order is `random_permutation(n, options.seed)`.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] packing<Index> first_fit_shuffled(R const& lengths, packing_options const& options, Cost const& cost = {}) {
  return detail::drive<Index>(lengths, options, cost, [](auto const& items, auto& packs) {
    detail::place_by<detail::first_fit_rule>(items, random_permutation<Index>(items.count, items.seed), packs);
  });
}

/// @brief Packs by best fit over the samples in a random order.
///
/// The packs are as mixed as those of `first_fit_shuffled`; this function is faster.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  capacity, limits and seed
/// @param cost     weighs one length; tokens by default
/// @return packs in the order they were opened, the members of a pack in the order they were placed
/// @post at most floor(1.7 OPT) packs, if neither the samples per pack nor the number of packs is limited
/// @throws invalid_input for a bad option, a length that is not positive, or one above the capacity under `oversize::reject`
/// @par Complexity
/// As `best_fit`.
/// @par Determinism
/// A pure function of its arguments, which include `options.seed`.
/// @par Source
/// See `best_fit`; the order is `random_permutation(n, options.seed)`.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] packing<Index> best_fit_shuffled(R const& lengths, packing_options const& options, Cost const& cost = {}) {
  return detail::drive<Index>(lengths, options, cost, [](auto const& items, auto& packs) {
    detail::place_by_best_fit(items, random_permutation<Index>(items.count, items.seed), packs);
  });
}

}  // namespace ballast::inline v0_2
