// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/items.hpp>
#include <ballast/batching/detail/windows.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/core/random.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Puts the steps of an epoch, given most expensive first, into a mixed order; an incomplete last step stays last.
template <index_type Index>
void spread_steps(batching<Index>& plan, std::vector<pack_sum> const& sums, batching_options const& o) {
  auto const places = static_cast<std::size_t>(plan.ranks * plan.micro_batches);
  auto const last = plan.step(plan.steps() - 1);
  auto const stays = std::find(last.begin(), last.end(), plan.none) != last.end() ? std::size_t{1} : std::size_t{0};
  std::vector<std::pair<std::int64_t, std::size_t>> cost(plan.steps() - stays);
  for (std::size_t s = 0; s < cost.size(); ++s) {
    cost[s] = {0, s};
    for (auto p : plan.step(s))
      if (p != plan.none) cost[s].first -= sums[p].cost;
  }
  std::sort(cost.begin(), cost.end());
  splitmix64 generator(~epoch_seed(o));
  std::vector<Index> table;
  table.reserve(plan.table.size());
  std::vector<std::uint64_t> now(plan.steps());
  now.back() = now.size() - 1;
  for (auto k : emit<Index>(cost.size(), emission::cyclic, generator)) {
    auto const from = cost[k].second;
    now[from] = table.size() / places;
    auto const step = plan.step(from);
    table.insert(table.end(), step.begin(), step.end());
  }
  if (stays != 0) table.insert(table.end(), last.begin(), last.end());
  plan.table = std::move(table);
  for (auto& s : plan.shared) s.step = now[s.step];
  std::sort(plan.shared.begin(), plan.shared.end(),
            [](auto const& a, auto const& b) { return a.step != b.step ? a.step < b.step : a.sample < b.sample; });
}

}  // namespace ballast::inline v0_2::detail
