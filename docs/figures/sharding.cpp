// SPDX-License-Identifier: Apache-2.0
#include "figures.hpp"

#include <ballast/cost/degree_cost.hpp>
#include <ballast/sharding.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace figures {

void sharding(writer& show) {
  // The program of docs/sharding.md.
  numbers const lengths{160000, 90000, 52000, 39000, 31000, 23000, 21000, 15000, 14000, 12500, 12000, 11000, 10000, 9500, 9000, 8700,
                        8200,   8000,  7500,  7200,  7000,  6700,  6400,  6000,  5700,  5100,  4800,  4400,  4000,  3600, 3100, 2900};
  ballast::degree_cost const cost{
      .linear = 183957600, .square = 5128, .exchange = {0, 8771758, 5037840, 2716518, 12688480, 11032997, 6728542}};
  ballast::sharding_options const options{.capacity = 16573, .ranks = 16, .cost_per_pass = 629356300};
  auto const show_plan = [&](std::string const& name, ballast::shards<> const& plan) {
    auto const times = time_shards(plan, cost, options.cost_per_pass);
    std::vector<numbers> rows;  // first rank, ranks, start and end in milliseconds, tokens of the longest sample
    for (std::size_t r = 0; r < plan.ranks(); ++r)
      for (std::size_t p = 0; p < plan.passes(r); ++p) {
        auto const pieces = plan(r, p);
        if (pieces.empty()) continue;
        auto const group = pieces[0].group;
        if (group != ballast::not_shared && plan.rank_groups[group][0] != r) continue;
        std::int64_t longest = 0;
        for (auto const i : shard_samples(plan, r, p)) longest = (std::max)(longest, lengths[i]);
        auto const at = static_cast<std::size_t>(plan.rank_offsets[r]) + p;
        rows.push_back({static_cast<std::int64_t>(r),
                        static_cast<std::int64_t>(group == ballast::not_shared ? 1 : plan.rank_groups[group].size()),
                        times.start[at] / 1'000'000, times.end[at] / 1'000'000, longest});
      }
    show("sharding." + name, rows);
    show("sharding." + name + ".all", numbers{plan.time.value / 1'000'000, plan.time.lower_bound / 1'000'000});
  };
  show_plan("static", static_shards(lengths, 160000, options, cost));
  show_plan("plan", plan_shards(lengths, options, cost));
}

}  // namespace figures
