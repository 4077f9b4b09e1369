// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/items.hpp>
#include <ballast/batching/detail/windows.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/core/keyed_item.hpp>
#include <ballast/core/random.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Puts the steps of an epoch, given most expensive first, into a mixed order; an incomplete last step stays last.
template <index_type Index>
void spread_steps(batching<Index>& plan, std::vector<pack_sum> const& sums, batching_options const& o) {
  auto const places = static_cast<std::size_t>(plan.ranks * plan.micro_batches);
  auto const last = plan.step(plan.steps() - 1);
  auto const stays = std::find(last.begin(), last.end(), plan.none) != last.end() ? std::size_t{1} : std::size_t{0};
  std::vector<keyed_item<Index>> cost(plan.steps() - stays);
  for (std::size_t s = 0; s < cost.size(); ++s) {
    cost[s] = {0, static_cast<Index>(s)};
    for (auto p : plan.step(s))
      if (p != plan.none) cost[s].key += sums[p].cost;
  }
  std::sort(cost.begin(), cost.end());
  splitmix64 generator(~epoch_seed(o));
  std::vector<Index> table;
  table.reserve(plan.table.size());
  std::vector<std::uint64_t> now(plan.steps());
  now.back() = now.size() - 1;
  for (auto k : emit<Index>(cost.size(), emission::cyclic, generator)) {
    auto const from = std::size_t{cost[k].item};
    now[from] = table.size() / places;
    auto const step = plan.step(from);
    table.insert(table.end(), step.begin(), step.end());
  }
  if (stays != 0) table.insert(table.end(), last.begin(), last.end());
  plan.table = std::move(table);
  for (auto& s : plan.shared) s.step = now[s.step];
  std::vector<Index> by_step(plan.shared.size());
  std::iota(by_step.begin(), by_step.end(), Index{0});
  auto const shared = plan.shared;
  sort_by(by_step, [&](Index a, Index b) {
    return shared[a].step != shared[b].step ? shared[a].step < shared[b].step : shared[a].sample < shared[b].sample;
  });
  std::ranges::transform(by_step, plan.shared.begin(), [&](Index k) { return shared[k]; });
}

}  // namespace ballast::inline v0_2::detail
