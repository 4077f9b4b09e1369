// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/plan/detail/steps_bound.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief `steps_lower_bound`: a lower bound on the time of any plan of steps for the same samples.

namespace ballast::inline v0_2 {

/// @brief Lower bound on the cost of all steps, that is, on the sum over the steps of the slowest rank's cost.
///
/// It holds for every plan that gives each sample to one rank, in any number of steps. A step costs at least its most expensive sample,
/// and holds at most K = ranks * micro_batches * capacity tokens. Go through the samples from the most expensive: every K tokens need one
/// more step, so the k-th slowest step costs at least g_k, the cost of the sample that brings the sum of tokens above (k - 1) K. Together
/// these k steps hold at most P_k of the total cost F, where P_k is the cost of the k K tokens that are most expensive per token (Dantzig's
/// bound for the knapsack problem). The rest costs at least (F - P_k) / ranks. The bound is the maximum over all k of
/// g_1 + ... + g_k + (F - P_k) / ranks; k = 0 gives the mean.
///
/// @param samples  tokens and costs, from `weigh`
/// @param options  shape of a step
/// @return the bound, in units of the cost; 0 if there are no samples
/// @throws invalid_input if an option is out of range
/// @par Complexity
/// O(samples log samples + steps).
/// @par Determinism
/// A pure function of its arguments, in integers.
/// @par Source
/// This library.
template <class = when_called>
[[nodiscard]] inline std::int64_t steps_lower_bound(weighed_samples const& samples, batching_options const& options) {
  std::vector<detail::priced_sample> all(samples.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = {samples.cost[i], samples.tokens[i]};
  return detail::steps_lower_bound(all, options);
}

}  // namespace ballast::inline v0_2
