// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/weigh.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/weigh.hpp>

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string>

/// @file
/// @brief `weigh`: validates samples and computes the cost of each, once for all planners.

namespace ballast::inline v0_2 {

/// @brief Validates samples and computes the cost of each.
///
/// @tparam R     range of integers
/// @tparam Cost  cost of a sample by its length
/// @param lengths  tokens of each sample, at most the capacity, or that of the ranks that can share a sample
/// @param options  options of the planners that will take the samples: capacity, fixed costs and shape decide which sums are too large
/// @param cost     returns the cost of a sample from its tokens, an integer; called once for each sample
/// @param most_ranks_shared  most ranks that may share a sample, for planners that are given the same number; 0 = all ranks
/// @return the samples with their costs and sums
/// @throws invalid_input for a bad option; a length that is not positive, too large for the capacity or above 2^31; a cost that is not
/// positive; costs whose sums in the planners could exceed 2^63
/// @par Complexity
/// O(samples).
/// @par Determinism
/// A pure function of its arguments.
template <length_range R, cost_model Cost>
[[nodiscard]] weighed_samples weigh(R const& lengths, batching_options const& options, Cost const& cost,
                                    std::uint64_t most_ranks_shared = 1) {
  return detail::weigh_by(lengths, options, most_ranks_shared,
                          [&](std::size_t, std::int64_t l, auto const& name) { return checked_cost(l, cost, "cost", name); });
}

/// @brief As above, for samples whose costs are known already.
/// @param lengths  tokens of each sample, at most the capacity, or that of the ranks that can share a sample
/// @param costs    cost of each sample, positive; one for each length
/// @param options  options of the planners that will take the samples
/// @param most_ranks_shared  most ranks that may share a sample, for planners that are given the same number
/// @return the samples with their costs and sums
/// @throws invalid_input as the overload above, or unless both lists have the same size
/// @par Complexity
/// O(samples).
/// @par Determinism
/// A pure function of its arguments.
template <length_range R, length_range Costs>
[[nodiscard]] weighed_samples weigh(R const& lengths, Costs const& costs, batching_options const& options,
                                    std::uint64_t most_ranks_shared = 1) {
  require(std::ranges::size(lengths) == std::ranges::size(costs), [&] {
    return "costs has " + std::to_string(std::ranges::size(costs)) + " entries for " + std::to_string(std::ranges::size(lengths)) +
           " lengths";
  });
  auto const known = read_by_position(costs);
  return detail::weigh_by(lengths, options, most_ranks_shared, [&](std::size_t i, std::int64_t, auto const&) { return known[i]; });
}

}  // namespace ballast::inline v0_2
