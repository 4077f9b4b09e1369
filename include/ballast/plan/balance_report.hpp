// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/bounds.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/plan/figures.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief What limits the balance of a plan of steps: lower bounds, and the samples that cause them.

namespace ballast::inline v0_2 {

/// @brief A sample that alone costs more than the mean rank in its step, so that the other ranks must wait.
template <index_type Index = std::uint32_t>
struct dominant_sample {
  Index sample = 0;         ///< index of the sample
  std::uint64_t step = 0;   ///< step that has the sample
  std::int64_t tokens = 0;  ///< length of the sample
  double times_mean = 0;    ///< cost of the sample over that of the mean rank in the step, micro-batches included; above 1
};

/// @brief What limits a plan.
template <index_type Index = std::uint32_t>
struct balance_report {
  std::int64_t bound = 0;                       ///< lower bound on the cost of any plan of the same samples: see `steps_lower_bound`
  double slowest_over_mean = 1;                 ///< lower bound on `slowest_over_mean` of any plan of the same samples; if micro-batches or
                                                ///< steps have a fixed cost, of any plan with as much work as this one
  std::uint64_t dominated = 0;                  ///< number of steps that have a dominant sample
  std::vector<dominant_sample<Index>> samples;  ///< the worst dominant samples, by `times_mean` and then step; at most as many as asked for
  std::uint64_t micro_batches = 1;              ///< micro-batches per rank from which random steps can be balanced (cost ratio 0.9)
};

/// @brief Finds what no plan of the same samples can improve, and what cannot be improved within the steps of this plan.
///
/// @tparam Index  index type of the plan
/// @param plan     steps, as a planner returned them
/// @param samples  tokens and cost of each sample, as it was planned with
/// @param options  the options of the planner
/// @param most     largest number of samples to list
/// @return the limits; `dominated` is 0 if only the mean bounds every step
/// @throws invalid_input if an option is out of range
/// @par Complexity
/// O(samples log samples + steps log steps).
/// @par Determinism
/// Integers decide which samples are listed, and in which order.
template <index_type Index>
[[nodiscard]] balance_report<Index> report_balance(batching<Index> const& plan, costed_samples auto const& samples,
                                                   batching_options const& options, std::size_t most = 10) {
  struct in_step {
    Index sample;
    std::uint64_t step;
    std::int64_t cost, sum;
  };
  std::vector<in_step> dominant;
  std::vector<detail::sample_class> trained;  // a sample that is in two steps occurs twice
  trained.reserve(plan.packs.members.size());
  for (std::size_t s = 0; s < plan.steps(); ++s) {
    in_step largest{0, s, 0, 0};
    for (auto const pack : plan.packs_of(s)) {
      largest.sum += options.cost_per_micro_batch;
      for (auto const member : pack) {
        auto const i = static_cast<std::size_t>(member);
        trained.push_back({samples.cost[i], samples.tokens[i], 1});
        largest.sum += samples.cost[i];
        if (auto const alone = samples.cost[i] + options.cost_per_micro_batch; alone > largest.cost) {
          largest.sample = member;
          largest.cost = alone;
        }
      }
    }
    if (compare_products(largest.cost, static_cast<std::int64_t>(plan.ranks), largest.sum, 1) > 0) dominant.push_back(largest);
  }
  balance_report<Index> found;
  found.bound = detail::steps_lower_bound(trained, options);
  auto const over_mean = [&](std::int64_t value, std::int64_t all) {
    return static_cast<double>(value) * static_cast<double>(plan.ranks) / static_cast<double>(all);
  };
  if (plan.cost != 0) found.slowest_over_mean = (std::max)(1.0, over_mean(found.bound, plan.cost));
  found.dominated = dominant.size();
  std::sort(dominant.begin(), dominant.end(), [](in_step const& a, in_step const& b) {
    auto const order = compare_products(a.cost, b.sum, b.cost, a.sum);
    return order != 0 ? order > 0 : a.step < b.step;
  });
  dominant.resize((std::min)(most, dominant.size()), {});
  for (auto const& d : dominant)
    found.samples.push_back({d.sample, d.step, samples.tokens[static_cast<std::size_t>(d.sample)], over_mean(d.cost, d.sum)});
  auto const needed = plan.critical.cost / 0.9 * static_cast<double>(plan.micro_batches);
  auto const whole = static_cast<std::uint64_t>(needed);
  found.micro_batches = (std::max)(std::uint64_t{1}, whole + (static_cast<double>(whole) < needed ? 1 : 0));
  return found;
}

}  // namespace ballast::inline v0_2
