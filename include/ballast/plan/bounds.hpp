// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/batching/weigh.hpp>
#include <ballast/plan/detail/steps_bound.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief What no plan of steps can go below, whichever samples it brings together.

namespace ballast::inline v0_2 {

/// @brief A lower bound on the cost of all steps: the sum of their slowest ranks.
///
/// It holds for every plan that gives each sample to one rank, in however many steps. A step takes no less than its most expensive sample,
/// and holds no more than K = ranks * micro_batches * capacity tokens. So the samples, the most expensive first, need a new step for every
/// K tokens: the k-th slowest step takes at least g_k, the cost of the sample that brings the sum of tokens above (k - 1) K. These k steps
/// hold at most P_k of all cost F, P_k that of the k K tokens most expensive by the token (Dantzig's bound of the knapsack problem);
/// whatever is in the others takes at least a rank's share. The bound is the largest g_1 + ... + g_k + (F - P_k) / ranks over all k, k = 0
/// being the mean.
///
/// @param samples  from `weigh`
/// @param options  shape of a step
/// @return the bound, in units of the cost; 0 without samples
/// @throws invalid_input for a bad option
/// @par Complexity
/// O(samples log samples + steps).
/// @par Determinism
/// A pure function of its arguments, in integers.
/// @par Source
/// This library.
[[nodiscard]] inline std::int64_t steps_lower_bound(weighed_samples const& samples, batching_options const& options) {
  std::vector<detail::priced_sample> all(samples.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = {samples.cost[i], samples.tokens[i]};
  return detail::steps_lower_bound(all, options);
}

}  // namespace ballast::inline v0_2
