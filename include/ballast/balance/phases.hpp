// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/bounds.hpp>
#include <ballast/balance/detail/phase_sets.hpp>
#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/balance/options.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/polynomial.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `balance_phases`: items with a cost in each of several phases (vision, audio, language), balanced in all phases together.

namespace ballast::inline v0_2 {

/// @brief Maps an item to its costs: a sized range of integers, one for each phase, such as `std::array<std::int64_t, 3>`.
template <class C>
concept phase_cost_model = std::copy_constructible<C> && std::regular_invocable<C const&, std::int64_t> &&
                           length_range<std::remove_cvref_t<std::invoke_result_t<C const&, std::int64_t>>>;

/// @brief Options of `balance_phases`. Only `sets` has no default.
struct phase_options {
  std::uint64_t sets = 0;  ///< number of sets, from 1 to 2^31
  refinement refine{};     ///< rounds (0 = three times the sets, times the phases) and partners of the exchanges
};

/// @brief Sets with a load in each phase.
/// @tparam Index  type of the item indices
template <index_type Index = std::uint32_t>
struct phase_sets {
  groups<Index> sets;               ///< item indices of each set, ascending
  std::uint64_t phases = 0;         ///< number of phases; 0 without items
  std::vector<std::int64_t> loads;  ///< `loads[set * phases + phase]`
  certificate time;                 ///< sum over phases of the largest load of a set, and a lower bound on it
  friend bool operator==(phase_sets const&, phase_sets const&) = default;
};

namespace detail {

/// The costs of all items, phase after phase of each, checked. Returns the number of phases.
template <length_range R, phase_cost_model Costs>
[[nodiscard]] std::size_t weigh_phases(R const& items, Costs const& costs, std::vector<std::int64_t>& out) {
  auto const at = read_by_position(items);
  std::size_t phases = 0;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::ranges::size(items)); ++i) {
    auto const of_item = costs(static_cast<std::int64_t>(at[i]));
    auto const count = static_cast<std::size_t>(std::ranges::size(of_item));
    if (i == 0) phases = count;
    require(count == phases && count > 0,
            [&] { return entry("items", i, at[i]) + " has " + std::to_string(count) + " costs, not " + std::to_string(phases); });
    auto const cost = read_by_position(of_item);
    for (std::size_t p = 0; p < phases; ++p) {
      require(std::in_range<std::int64_t>(cost[p]), [&] { return entry("items", i, at[i]) + " has a cost outside [0, 2^63)"; });
      add_checked(sum, static_cast<std::int64_t>(cost[p]), "costs of items", i);
      out.push_back(static_cast<std::int64_t>(cost[p]));
    }
  }
  return phases;
}

/// The sum over phases of the lower bounds of each, or the bound on the sums of all phases if it is larger.
template <class = when_called>
[[nodiscard]] inline std::int64_t phase_bound(std::vector<std::int64_t> const& costs, std::size_t phases, std::uint64_t sets) {
  auto const n = costs.size() / phases;
  std::vector<std::int64_t> one(n), all(n, 0);
  std::int64_t sum = 0;
  for (std::size_t p = 0; p < phases; ++p) {
    for (std::size_t i = 0; i < n; ++i) all[i] += one[i] = costs[i * phases + p];
    std::sort(one.begin(), one.end(), std::greater<>{});
    sum += balance_lower_bound(one, sets).load;
  }
  std::sort(all.begin(), all.end(), std::greater<>{});
  return (std::max)(sum, balance_lower_bound(all, sets).load);
}

}  // namespace detail

/// @brief Deals items to sets so that the sum over phases of the largest load is small.
///
/// Use it where all ranks wait for each other between the phases of a step, as the encoders and the language model of a multimodal model
/// do: then each phase lasts as long as its slowest rank. Balancing the sum of the costs leaves single phases uneven.
///
/// The better of two starts is refined by moves and swaps: items by falling total cost, each where the objective grows least; and longest
/// processing time first on the total costs.
///
/// @tparam Index  type of the item indices
/// @tparam R      range of integers
/// @tparam Costs  a `phase_cost_model`
/// @param items    the items, one integer each; may be empty
/// @param options  number of sets, limits of the refinement
/// @param costs    costs of an item in each phase, in one unit of time; equally many for every item, not negative
/// @return the sets, their loads, and the objective with a lower bound: the sum over phases of the bounds of `balance_lower_bound`
/// @post the objective is at most that of `longest_processing_time` on the sum of the costs
/// @throws invalid_input for a bad option, different numbers of costs, or a cost or the sum of all outside [0, 2^63)
/// @par Complexity
/// O(n log n + n k P) for n items, k sets and P phases; O((k + p) P) for each round with p partners.
/// @par Determinism
/// A pure function of the costs and the options.
template <index_type Index = std::uint32_t, length_range R, phase_cost_model Costs>
[[nodiscard]] phase_sets<Index> balance_phases(R const& items, phase_options const& options, Costs const& costs) {
  auto const n = static_cast<std::size_t>(std::ranges::size(items));
  require_index<Index>(n, "items");
  require(options.sets >= 1 && options.sets <= std::uint64_t{1} << 31,
          [&] { return "sets = " + std::to_string(options.sets) + " must be in 1 ... 2^31"; });
  std::vector<std::int64_t> flat;
  auto const phases = detail::weigh_phases(items, costs, flat);
  auto const k = static_cast<std::size_t>(options.sets);
  phase_sets<Index> out;
  out.phases = phases;
  out.loads.assign(k * phases, 0);
  if (n == 0) {
    out.sets.offsets.assign(k + 1, 0);
    return out;
  }
  out.time.lower_bound = detail::phase_bound(flat, phases, options.sets);

  std::vector<std::int64_t> total(n, 0);
  for (std::size_t i = 0; i < flat.size(); ++i) total[i / phases] += flat[i];
  std::vector<Index> order(n);
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [&](Index a, Index b) { return total[a] != total[b] ? total[a] > total[b] : a < b; });
  detail::phase_dealer<Index> greedy(flat, phases, k), scalar(flat, phases, k);
  greedy.deal(order);
  auto const by_sum = longest_processing_time<Index>(total, balance_options{.sets = options.sets}, token_cost{}, token_cost{});
  for (std::size_t s = 0; s < k; ++s)
    for (auto const i : by_sum.sets[s]) scalar.put(i, s);
  auto& best = scalar.value() < greedy.value() ? scalar : greedy;
  best.refine(options.refine, out.time.lower_bound);
  out.time.value = best.value();
  out.loads = best.loads();
  for (auto& set : best.members()) {
    std::sort(set.begin(), set.end());
    out.sets.push_back(set);
  }
  return out;
}

}  // namespace ballast::inline v0_2
