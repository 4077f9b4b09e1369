// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/detail/driver.hpp>

/// @file
/// @brief Next fit: one open pack at a time, filled in the given order.

namespace ballast::inline v0_2 {

namespace detail {
struct next_fit_solver {
  template <class Weights, index_type Index>
  void operator()(packing_items<Weights> const& items, groups<Index>& packs) const {
    std::int64_t room = 0;
    std::uint64_t slots = 0;
    packs.members.reserve(items.count);
    for (std::size_t i = 0; i < items.count; ++i) {
      auto const w = static_cast<std::int64_t>(items.weight[i]);
      if (w == 0) continue;
      if (w > room || slots == 0) {
        if (!packs.members.empty()) packs.offsets.push_back(packs.members.size());
        room = items.capacity;
        slots = items.max_samples;
      }
      room -= w;
      --slots;
      packs.members.push_back(static_cast<Index>(i));
    }
    if (!packs.members.empty()) packs.offsets.push_back(packs.members.size());
  }
};
}  // namespace detail

/// @brief Packs by next fit: fills one pack after the other in the given order; a sample that does not fit closes the pack and opens the
/// next.
///
/// Trainers that pack while they read data do this: the order is kept, and only one pack is in memory at a time. It is the baseline of
/// every comparison in this library.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  capacity and limits
/// @param cost     weighs one length; tokens by default
/// @return packs in the order they were filled, the members of a pack in input order
/// @post fewest packs among all plans that keep the order of the samples, if the number of packs is not demanded; fewer than 2 OPT packs,
/// if the samples per pack are not limited either
/// @throws invalid_input for a bad option, a length that is not positive, or one above the capacity under `oversize::reject`
/// @par Complexity
/// O(n) time; O(longest length) scratch memory for the certificate.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Johnson, "Near-optimal bin packing algorithms", MIT 1973.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] packing<Index> next_fit(R const& lengths, packing_options const& options, Cost const& cost = {}) {
  return detail::drive<Index>(lengths, options, cost, detail::next_fit_solver{});
}

}  // namespace ballast::inline v0_2
