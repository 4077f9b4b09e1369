// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/replicated.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast_test {

/// A plan from the experts of the slots, with its figures from the definition: shares of 1 / lcm rows, all exact for few copies.
inline ballast::replicated_experts plan_of(std::vector<std::uint32_t> const& slots, std::vector<std::int64_t> const& loads,
                                           ballast::replication_options const& o) {
  ballast::replicated_experts out{
      .copies = std::vector<std::uint32_t>(loads.size()), .expert_of = slots, .loads = std::vector<std::int64_t>(std::size_t(o.ranks))};
  for (auto const e : slots) ++out.copies[e];
  auto const per_rank = slots.size() / o.ranks, per_node = slots.size() / o.nodes;
  for (std::size_t i = 0; i < slots.size(); ++i) out.loads[i / per_rank] += loads[slots[i]] * ballast::row_units / out.copies[slots[i]];
  out.load.value = *std::max_element(out.loads.begin(), out.loads.end());
  for (std::size_t e = 0; e < loads.size(); ++e)
    for (std::size_t k = 0; k < o.nodes; ++k) {  // rows of node k beyond what its copies take
      std::int64_t here = 0;
      for (std::size_t i = k * per_node; i < (k + 1) * per_node; ++i) here += slots[i] == e ? 1 : 0;
      auto const mine = loads[e] * ballast::row_units / std::int64_t(o.nodes),
                 taken = loads[e] * ballast::row_units * here / (std::max)(1U, out.copies[e]);
      out.between.value += (std::max)(std::int64_t{0}, mine - taken);
    }
  return out;
}

}  // namespace ballast_test
