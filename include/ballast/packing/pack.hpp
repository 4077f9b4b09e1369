// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/best_fit_decreasing.hpp>

/// @file
/// @brief `pack`: the default packer, for callers who want a good plan and its certificate and no choice.

namespace ballast::inline v0_1 {

/// @brief Packs samples into as few packs as the default planner finds: best-fit decreasing, certified by the best of all bounds.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  capacity and limits: `pack(lengths, {.capacity = 8192})`
/// @param cost     weighs one length; tokens by default
/// @return packs of sample indices and how near their number is to the least possible one
/// @post no pack exceeds the capacity; every sample stands in exactly one pack or in `set_aside`
/// @throws invalid_input for a bad option, a length that is not positive, or one above the capacity under `oversize::reject`
/// @par Complexity
/// That of `best_fit_decreasing`: linear in the samples on real data.
/// @par Determinism
/// A pure function of its arguments. A release that changes a plan says so in the CHANGELOG.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] packing<Index> pack(R const& lengths, packing_options const& options, Cost const& cost = {}) {
  return best_fit_decreasing<Index>(lengths, options, cost);
}

}  // namespace ballast::inline v0_1
