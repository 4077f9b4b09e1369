// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/power_of_two_groups.hpp>
#include <ballast/sharding/time_shards.hpp>

#include "support/catch.hpp"
#include "support/exhaustive_shards.hpp"
#include "support/lengths.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace test_sharding_power_of_two_groups {

using namespace ballast_test;
using ballast::status;

// Every sample once, no group above its capacity, ranks enough, and the time that every other plan is timed by.
void check_groups(std::vector<std::int64_t> const& lengths, ballast::sharding_options const& o, ballast::degree_cost const& cost,
                  ballast::grouped_samples<> const& plan) {
  std::vector<int> seen(lengths.size(), 0);
  std::uint64_t ranks = 0;
  auto sound = plan.widths.size() == plan.samples.size() && std::is_sorted(plan.widths.rbegin(), plan.widths.rend());
  for (std::size_t g = 0; g < plan.samples.size(); ++g) {
    std::int64_t tokens = 0;
    for (auto const i : plan.samples[g]) {
      ++seen[i];
      tokens += lengths[i];
    }
    ranks += plan.widths[g];
    sound = sound && tokens <= o.capacity * plan.widths[g] && tokens >= plan.widths[g];
  }
  CHECK(sound);
  CHECK(ranks <= o.ranks);
  CHECK(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
  ballast::pass_list<> list;
  append_micro_batch(list, plan, o.ranks);
  auto shards = make_shards(lengths, list, o.ranks);
  shards.execution = ballast::execution::lockstep;
  CHECK(shards.passes() == o.ranks);
  CHECK(time_shards(shards, cost, o.cost_per_pass).makespan == plan.time.value);
  CHECK(plan.time.lower_bound <= plan.time.value);
}

TEST_CASE("power_of_two_groups: the long sample gets the ranks that the short ones leave", "[sharding]") {
  ballast::degree_cost const cost{.linear = 1000, .square = 100, .exchange = {0, 2000}};
  std::vector<std::int64_t> const lengths{80, 30, 30, 30, 30};
  ballast::sharding_options const o{.capacity = 40, .ranks = 8, .cost_per_pass = 5};
  auto const plan = power_of_two_groups(lengths, o, cost);
  CHECK(plan.status == status::feasible);
  CHECK(plan.widths == std::vector<std::uint32_t>{4, 1, 1, 1, 1});
  CHECK(plan.time.value == 5 + 180 + 160);  // (80 + 640) / 4, and 2 for each token
  check_groups(lengths, o, cost, plan);
}

TEST_CASE("power_of_two_groups: close to the best of all groups of 4 ranks", "[sharding][property]") {
  ballast::splitmix64 draw(20260715);
  int feasible = 0, best = 0, near = 0;
  for (int round = 0; round < 1500; ++round) {
    auto batch = random_tiny_batch(draw);
    auto const& cost = batch.cost;
    batch.options.capacity *= 2;
    auto const exact = exhaustive_shards(batch.lengths, batch.options, cost);
    auto const plan = power_of_two_groups(batch.lengths, batch.options, cost);
    CAPTURE(round, batch.lengths, batch.options.capacity, batch.options.cost_per_pass);
    CHECK((plan.status == status::feasible) == (exact.one_pass < exact.never));
    if (plan.status != status::feasible) continue;
    ++feasible;
    check_groups(batch.lengths, batch.options, cost, plan);
    CHECK(plan.time.lower_bound <= exact.one_pass);
    CHECK(plan.time.value >= exact.one_pass);
    best += plan.time.value == exact.one_pass;
    near += plan.time.value <= exact.one_pass + exact.one_pass / 20;
  }
  CAPTURE(feasible, best, near);
  CHECK(feasible > 1000);
  CHECK(best * 100 > feasible * 85);
  CHECK(near * 100 > feasible * 98);
}

TEST_CASE("power_of_two_groups: any number of ranks, and a limit on the ranks that share a sample", "[sharding][property]") {
  ballast::splitmix64 draw(7);
  for (int round = 0; round < 200; ++round) {
    ballast::sharding_options o{.capacity = between(50, 400, draw), .ranks = static_cast<std::uint64_t>(between(1, 40, draw))};
    o.cost_per_pass = between(0, 1000, draw);
    o.most_ranks_shared = draw() % 2 == 0 ? 0 : static_cast<std::uint64_t>(between(1, 40, draw));
    auto const longest = o.capacity * static_cast<std::int64_t>(o.ranks) / 4 + 1;
    auto const lengths = random_lengths(static_cast<std::size_t>(between(0, 30, draw)), longest, draw);
    ballast::degree_cost const cost{.linear = between(0, 5000, draw), .square = between(0, 100, draw), .exchange = {0, 700, 500, 900}};
    auto const plan = power_of_two_groups(lengths, o, cost);
    CAPTURE(round, lengths, o.capacity, o.ranks, o.most_ranks_shared);
    if (plan.status != status::feasible) continue;
    check_groups(lengths, o, cost, plan);
    for (auto const w : plan.widths) CHECK((o.most_ranks_shared == 0 || w <= o.most_ranks_shared));
    // The order of the input does not matter beyond which of equal lengths comes first.
    auto turned = lengths;
    std::reverse(turned.begin(), turned.end());
    auto const other = power_of_two_groups(turned, o, cost);
    CHECK(other.time == plan.time);
    CHECK(other.widths == plan.widths);
  }
}

TEST_CASE("power_of_two_groups: no samples, no room, and misuse", "[sharding]") {
  ballast::degree_cost const cost{.linear = 1000};
  ballast::sharding_options o{.capacity = 10, .ranks = 4};
  auto const none = power_of_two_groups(std::vector<int>{}, o, cost);
  CHECK(none.status == status::feasible);
  CHECK(none.widths.empty());
  CHECK(none.time == ballast::certificate{0, 0});
  CHECK(power_of_two_groups(std::vector{40}, o, cost).widths == std::vector<std::uint32_t>{4});
  CHECK(power_of_two_groups(std::vector{41}, o, cost).status == status::infeasible);
  CHECK(power_of_two_groups(std::vector{20, 20, 1}, o, cost).status == status::infeasible);
  o.most_ranks_shared = 2;
  CHECK(power_of_two_groups(std::vector{20, 20}, o, cost).widths == std::vector<std::uint32_t>{2, 2});
  CHECK(power_of_two_groups(std::vector{21}, o, cost).status == status::infeasible);
  CHECK(power_of_two_groups(std::vector{14, 13, 13}, o, cost).status == status::unknown);
  CHECK_THROWS_AS(power_of_two_groups(std::vector{3, 0}, o, cost), ballast::invalid_input);
  o.capacity = 0;
  CHECK_THROWS_AS(power_of_two_groups(std::vector{3}, o, cost), ballast::invalid_input);
  o.capacity = 10;
  ballast::degree_cost const huge{.square = std::int64_t{1} << 60};
  CHECK_THROWS_AS(power_of_two_groups(std::vector{3}, o, huge), ballast::invalid_input);
}

}  // namespace test_sharding_power_of_two_groups
