// SPDX-License-Identifier: Apache-2.0
#include "planning/expert_plan.hpp"

#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/methods/eplb.hpp>

#include <algorithm>
#include <cstddef>

namespace ballast_cli {

namespace {

[[nodiscard]] std::int64_t adjacent_load(std::vector<std::int64_t> const& rows, std::uint64_t ranks) {
  std::vector<std::int64_t> loads(static_cast<std::size_t>(ranks));
  for (std::size_t e = 0; e < rows.size(); ++e) loads[e * loads.size() / rows.size()] += rows[e];
  return ballast::row_units * *std::max_element(loads.begin(), loads.end());
}

}  // namespace

std::vector<placed_layer> place_experts(std::vector<std::vector<std::int64_t>> const& layers, ballast::replication_options const& options,
                                        std::uint64_t work) {
  std::vector<placed_layer> out;
  for (auto const& rows : layers) {
    auto& layer = out.emplace_back();
    layer.rows = rows;
    layer.plan = ballast::balance_replicated(rows, options, {.work = work});
    layer.eplb = ballast::eplb::largest_load(ballast::eplb::place(rows, options), rows, options.ranks);
    layer.longest = ballast::row_units * ballast::longest_processing_time(rows, {.sets = options.ranks, .equal_counts = true}).load.value;
    layer.adjacent = adjacent_load(rows, options.ranks);
  }
  return out;
}

}  // namespace ballast_cli
