// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/plan/figures.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

/// @file
/// @brief Keys by which a curriculum orders the steps of a plan, and the plan with its steps in that order.

namespace ballast::inline v0_2 {

/// @brief What a curriculum sorts steps by.
enum class step_key : std::uint8_t {
  mean_length,  ///< tokens over samples, rounded up
  longest,      ///< tokens of the longest sample
  cost,         ///< sum of the costs of the samples
};

/// @brief The key of each step of a plan, for `curriculum_source::keys`.
/// @tparam Index  index type of the plan
/// @param plan     a plan of steps
/// @param samples  its samples
/// @param what     what the key is
/// @return a key for each step; 0 for a step without samples
/// @throws invalid_input if the plan has a sample without tokens and cost
/// @par Complexity
/// O(samples).
template <index_type Index, costed_samples Samples>
[[nodiscard]] std::vector<std::int64_t> step_keys(batching<Index> const& plan, Samples const& samples, step_key what) {
  std::span<std::int64_t const> const tokens = samples.tokens, cost = samples.cost;
  std::vector<std::int64_t> keys;
  keys.reserve(plan.steps());
  for (std::size_t s = 0; s < plan.steps(); ++s) {
    std::int64_t count = 0, sum = 0, longest = 0, work = 0;
    for (auto const pack : plan.packs_of(s))
      for (auto const i : pack) {
        require(i < tokens.size() && i < cost.size(), [&] { return sentence("sample ", i, " has no tokens or no cost"); });
        ++count;
        sum += tokens[i];
        work += cost[i];
        longest = (std::max)(longest, tokens[i]);
      }
    keys.push_back(what == step_key::cost      ? work
                   : what == step_key::longest ? longest
                                               : divide_up(sum, (std::max)(count, std::int64_t{1})));
  }
  return keys;
}

/// @brief Puts the first steps of a plan into another order. Steps beyond `order` stay where they are.
/// @tparam Index  index type of the plan
/// @param plan   a plan of steps
/// @param order  which step comes first, second, …: the numbers below `order.size()`, each once, as in `curriculum_plan::index`
/// @throws invalid_input unless `order` is a permutation of steps; the plan is then unchanged
/// @par Complexity
/// O(places + shared samples * log(shared samples)).
template <index_type Index>
void order_steps(batching<Index>& plan, std::span<std::uint32_t const> order) {
  std::vector<std::uint64_t> place(order.size(), order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    auto const s = order[k];
    require(s < order.size() && s < plan.steps() && place[s] == order.size(), [&] {
      return sentence("order[", k, "] = ", s, " is no step, or comes twice; the order must name ", order.size(), " of the plan's ",
                      plan.steps(), " steps, each once");
    });
    place[s] = k;
  }
  std::vector<Index> table;
  table.reserve(plan.table.size());
  for (std::size_t k = 0; k < plan.steps(); ++k) {
    auto const step = plan.step(k < order.size() ? order[k] : k);
    table.insert(table.end(), step.begin(), step.end());
  }
  plan.table = std::move(table);
  for (auto& shared : plan.shared)
    if (shared.step < place.size()) shared.step = place[static_cast<std::size_t>(shared.step)];
  std::sort(plan.shared.begin(), plan.shared.end(), [](auto const& a, auto const& b) {
    return std::tie(a.step, a.first_rank, a.sample) < std::tie(b.step, b.first_rank, b.sample);
  });
}

}  // namespace ballast::inline v0_2
