// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/batching/vector_options.hpp>
#include <ballast/batching/vector_steps.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/metrics/step_balance.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/packing/vector/measures.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// @file
/// @brief `balanced_steps`: plans steps whose ranks have nearly the same of each measure, and of the cost.

namespace ballast::inline v0_2 {

namespace detail {

/// How many times the mean the slowest ranks have, in 2^-20: summed over all measures and the cost.
template <index_type Index>
[[nodiscard]] std::uint64_t spread_of(vector_batching<Index> const& plan) {
  auto const excess = [](step_balance const& of) {
    return of.total == 0 ? 0
                         : multiply_divide_up(static_cast<std::uint64_t>(of.slowest), of.ranks << 20, static_cast<std::uint64_t>(of.total));
  };
  auto sum = excess(plan.cost_balance);
  for (auto const& of : plan.balance) sum += excess(of);
  return sum;
}

/// Whether ranks wait at most one part in a hundred.
[[nodiscard]] inline bool nearly_even(step_balance const& of) {
  return compare_products(of.slowest, 100 * static_cast<std::int64_t>(of.ranks), of.total, 101) <= 0;
}

}  // namespace detail

/// @brief Plans the steps of an epoch as `plan_steps` does, then balances each measure, under the condition that the cost stays balanced.
///
/// The first plan is balanced by its cost alone. Its packs are dealt again in rows that are alike in every measure, and their samples are
/// exchanged (`vector_batching_options::exchange`), in wider and wider windows until ranks wait at most 1 % by the cost and by each
/// measure. The plan whose measures and cost are most even together is returned. Pipelines are balanced by each measure from the first, and
/// keep their rows.
///
/// @tparam Index  type of the sample indices
/// @tparam Cost   a `row_cost`, not `weighted_sum`
/// @param samples  measures of each sample
/// @param by       capacities, shape of a step and first window; `weights` and `exchange` are not read
/// @param cost     maps the measures of a sample to an integer that is not negative
/// @return the plan
/// @post the slowest ranks' cost is at most 3 % above that of the plan that balances the cost alone
/// @throws invalid_input as `plan_steps`
/// @par Complexity
/// That of `plan_steps`, and of `deal_steps` for each window that is tried.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, row_cost Cost>
[[nodiscard]] vector_batching<Index> balanced_steps(sample_measures const& samples, vector_batching_options by, Cost const& cost) {
  auto const pipelines = by.steps.synchronisation == synchronisation::pipeline && by.steps.stages > 1;
  by.weights.assign(pipelines ? 0 : samples.measures(), 0);
  by.exchange = false;
  auto best = plan_steps<Index>(samples, by, cost);
  if (by.steps.synchronisation == synchronisation::pipeline || !best.repeated.empty()) return best;
  auto const first = by.window;
  auto const late = [&] {
    return compare_products(best.slowest.value, 100 * static_cast<std::int64_t>(by.steps.ranks), best.cost, 101) > 0;
  };
  for (std::uint64_t const window : {64U, 0U}) {
    if (by.window >= best.steps() || !late()) break;
    by.window = window;
    auto wider = deal_steps<Index>(best.packs, samples, by, cost);
    wider.pack_count = best.pack_count;
    if (wider.slowest.value < best.slowest.value) best = std::move(wider);
  }
  auto const by_cost = best.slowest.value;
  auto const packs = best.packs;
  by.weights.clear();
  by.exchange = true;
  for (std::uint64_t const window : {first, std::uint64_t{64}, std::uint64_t{0}}) {
    if (std::all_of(best.balance.begin(), best.balance.end(), detail::nearly_even)) break;
    if (window != first && by.window >= best.steps()) break;
    by.window = window;
    auto even = deal_steps<Index>(packs, samples, by, cost);
    even.pack_count = best.pack_count;
    if (compare_products(even.slowest.value, 100, by_cost, 103) <= 0 && detail::spread_of(even) < detail::spread_of(best))
      best = std::move(even);
  }
  return best;
}

}  // namespace ballast::inline v0_2
