// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/batching/weigh.hpp>
#include <ballast/core/classes.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
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
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  tokens of each sample, at most the capacity
/// @param options  shape of a step
/// @param cost     what a sample costs
/// @return the bound, in units of the cost; 0 without samples
/// @throws invalid_input as `plan_steps`
/// @par Complexity
/// O(samples + d log d + steps), d the number of distinct lengths.
/// @par Source
/// This library.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] std::int64_t steps_lower_bound(R const& lengths, batching_options const& options, Cost const& cost) {
  auto const items = weigh(lengths, options, cost);
  detail::require_fit<Index>(items, options);
  auto const classes = fold(items.tokens);
  auto const& length = classes.lengths;
  std::vector<std::int64_t> each, count(classes.counts.begin(), classes.counts.end());
  for (auto l : length) each.push_back(static_cast<std::int64_t>(cost(l)));
  std::vector<std::size_t> dearest(length.size()), densest(length.size());
  std::iota(dearest.begin(), dearest.end(), std::size_t{0});
  std::iota(densest.begin(), densest.end(), std::size_t{0});
  std::sort(dearest.begin(), dearest.end(), [&](auto a, auto b) { return each[a] != each[b] ? each[a] > each[b] : a < b; });
  std::sort(densest.begin(), densest.end(), [&](auto a, auto b) {
    auto const sign = compare_products(each[a], length[b], each[b], length[a]);
    return sign != 0 ? sign > 0 : a < b;
  });

  auto const ranks = static_cast<std::int64_t>(options.ranks);
  auto const room = options.capacity * static_cast<std::int64_t>(options.micro_batches) * ranks;
  auto const share = [&](std::int64_t sum) { return divide_up(sum, ranks); };
  auto best = share(items.all_cost);
  std::int64_t slowest = 0, tokens = 0, all_room = 0;  // of the first k steps
  std::size_t at = 0;                                  // the first class that these steps, filled densest first, do not hold whole
  std::int64_t held = 0, held_tokens = 0;              // by the classes before it
  for (auto const c : dearest) {
    tokens += count[c] * length[c];
    while (tokens > all_room) {  // a sample of this class stands in one step more
      slowest += each[c];
      all_room += room;
      for (; at < densest.size() && count[densest[at]] * length[densest[at]] <= all_room - held_tokens; ++at) {
        held += count[densest[at]] * each[densest[at]];
        held_tokens += count[densest[at]] * length[densest[at]];
      }
      auto most = held;
      if (at < densest.size())
        most += static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(each[densest[at]]),
                                                             static_cast<std::uint64_t>(all_room - held_tokens),
                                                             static_cast<std::uint64_t>(length[densest[at]])));
      best = (std::max)(best, slowest + share(items.all_cost - (std::min)(most, items.all_cost)));
    }
  }
  // Each step costs what it does beside its micro-batches, and has one at least.
  auto const steps = divide_up(items.all_tokens, room);
  return best + steps * (options.cost_per_step + options.cost_per_micro_batch);
}

}  // namespace ballast::inline v0_2
