// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/bounds.hpp>
#include <ballast/balance/detail/phase_sets.hpp>
#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/balance/options.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/status.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

// Items with a cost in each phase, the bound on what sets of them reach, and the sets from which refinement starts.

namespace ballast::inline v0_2::detail {

/// Items by their costs and sizes, checked.
struct phase_items {
  std::vector<std::int64_t> costs{};  ///< phase after phase of each item
  std::size_t phases = 0;
  phase_bins bins{};
};

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

/// The dealer of the best start that has room for all items, or of none.
template <index_type Index>
[[nodiscard]] std::optional<phase_dealer<Index>> deal_phases(phase_items const& items, std::size_t k) {
  auto const n = items.costs.size() / items.phases;
  std::vector<std::int64_t> total(n, 0);
  for (std::size_t i = 0; i < items.costs.size(); ++i) total[i / items.phases] += items.costs[i];
  std::vector<Index> order(n), all(n);
  std::iota(order.begin(), order.end(), Index{0});
  all = order;
  phase_dealer<Index> const none(items.costs, items.phases, k, items.bins);
  std::optional<phase_dealer<Index>> best;
  auto const keep = [&](phase_dealer<Index> const& other) {
    if (!best || other.value() < best->value()) best.emplace(other);
  };
  auto const greedy = [&](auto const& key) {
    std::sort(order.begin(), order.end(), [&](Index a, Index b) { return key(a) != key(b) ? key(a) > key(b) : a < b; });
    auto dealer = none;
    if (dealer.deal(order)) keep(dealer);
  };
  greedy([&](Index i) { return total[i]; });
  if (items.bins.each == 1) {
    auto const by_sum = longest_processing_time<Index>(
        all, balance_options{.sets = k, .capacity = items.bins.capacity},
        [&](std::int64_t i) { return total[static_cast<std::size_t>(i)]; },
        [&](std::int64_t i) { return items.bins.size(static_cast<std::size_t>(i)); });
    auto dealer = none;
    for (std::size_t s = 0; s < by_sum.sets.size(); ++s)
      for (auto const i : by_sum.sets[s]) dealer.put(i, s, s);
    if (by_sum.status == status::feasible) keep(dealer);
  }
  if (!best) greedy([&](Index i) { return items.bins.size(i); });
  return best;
}

}  // namespace ballast::inline v0_2::detail
