// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/groups.hpp>
#include <ballast/packing/vector/measures.hpp>

#include <cstdint>
#include <span>
#include <vector>

// Packs in the order in which data-parallel ranks train them.

namespace ballast_cli {

/// Puts the packs in an order in which `ranks` of them in a row, a step, have similar loads in every measure. Instantiated for 32-bit and
/// 64-bit indices.
template <class Index>
void order_for_ranks(ballast::groups<Index>& packs, ballast::sample_measures const& samples, std::span<std::int64_t const> capacity,
                     std::uint64_t ranks, std::uint64_t seed);

/// Orders the packs by the cost of their samples, whose sums must be below 2^63. Returns the share of the time that ranks wait in full
/// steps.
template <class Index>
[[nodiscard]] double order_by_cost(ballast::groups<Index>& packs, std::vector<std::int64_t> const& costs, std::uint64_t ranks,
                                   std::uint64_t seed);

}  // namespace ballast_cli
