// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

/// @file
/// @brief `steps_lower_bound`: a lower bound on the time of any plan of steps for the same samples.

namespace ballast::inline v0_2 {

namespace detail {

/// Samples that are alike.
struct sample_class {
  std::int64_t cost, tokens, count;
};

/// The bound for samples in any order. Their costs and their tokens each sum to less than 2^62.
template <class = when_called>
[[nodiscard]] inline std::int64_t steps_lower_bound(std::vector<sample_class> const& samples, batching_options const& options) {
  require_valid(options);
  std::vector<sample_class> classes;  // most expensive first
  std::vector<keyed_item<std::uint64_t>> sorted, scratch;
  sorted.reserve(samples.size());
  for (auto const& c : samples)
    if (c.count != 0) sorted.push_back({c.cost, static_cast<std::uint64_t>(&c - samples.data())});
  sort_largest_first(sorted, scratch);
  std::int64_t all_cost = 0, all_tokens = 0;
  for (auto const& [cost, at] : sorted) {
    auto const& [price, tokens, count] = samples[at];
    if (classes.empty() || classes.back().cost != cost || classes.back().tokens != tokens) classes.push_back({cost, tokens, 0});
    classes.back().count += count;
    all_cost += count * cost;
    all_tokens += count * tokens;
  }
  std::vector<std::size_t> densest(classes.size());
  std::iota(densest.begin(), densest.end(), std::size_t{0});
  std::sort(densest.begin(), densest.end(), [&](auto a, auto b) {
    auto const sign = compare_products(classes[a].cost, classes[b].tokens, classes[b].cost, classes[a].tokens);
    return sign != 0 ? sign > 0 : a < b;
  });

  auto const ranks = static_cast<std::int64_t>(options.ranks);
  auto const room = options.capacity * static_cast<std::int64_t>(options.micro_batches) * ranks;
  auto const share = [&](std::int64_t sum) { return divide_up(sum, ranks); };
  auto best = share(all_cost);
  std::int64_t slowest = 0, tokens = 0, all_room = 0;  // sums over the first k steps
  std::size_t at = 0;                                  // first class that these steps, filled densest first, do not hold completely
  std::int64_t held = 0, held_tokens = 0;              // sums over the classes before it
  for (auto const& c : classes) {
    tokens += c.count * c.tokens;
    while (tokens > all_room) {  // a sample of this class is in one more step
      slowest += c.cost;
      all_room += room;
      for (; at < densest.size(); ++at) {
        auto const& d = classes[densest[at]];
        if (d.count * d.tokens > all_room - held_tokens) break;
        held += d.count * d.cost;
        held_tokens += d.count * d.tokens;
      }
      auto most = held;
      if (at < densest.size())
        most += static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(classes[densest[at]].cost),
                                                             static_cast<std::uint64_t>(all_room - held_tokens),
                                                             static_cast<std::uint64_t>(classes[densest[at]].tokens)));
      best = (std::max)(best, slowest + share(all_cost - (std::min)(most, all_cost)));
    }
  }
  // Each step also has its fixed cost, and at least one micro-batch.
  return best + divide_up(all_tokens, room) * (options.cost_per_step + options.cost_per_micro_batch);
}

}  // namespace detail

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
  auto const counted = (std::min)(static_cast<std::size_t>(samples.longest), samples.size()) + 1;
  std::vector<detail::sample_class> classes(counted);  // by tokens, then others
  for (std::size_t i = 0; i < samples.size(); ++i) {
    auto const cost = samples.cost[i], tokens = samples.tokens[i];
    if (auto const t = static_cast<std::size_t>(tokens); t < counted && (classes[t].count == 0 || classes[t].cost == cost))
      classes[t] = {cost, tokens, classes[t].count + 1};
    else
      classes.push_back({cost, tokens, 1});
  }
  return detail::steps_lower_bound(classes, options);
}

}  // namespace ballast::inline v0_2
