// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/sharding/homogeneous.hpp>
#include <ballast/sharding/lockstep.hpp>
#include <ballast/sharding/time_shards.hpp>

#include "support/catch.hpp"
#include "support/exhaustive_shards.hpp"
#include "support/lengths.hpp"
#include "support/sound_shards.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace test_sharding_lockstep {

using namespace ballast_test;
using ballast::execution;
using ballast::status;

TEST_CASE("lockstep_shards: long samples share a micro-batch, and short ones another", "[sharding]") {
  // Time by squares, and one for each token that is shared: the long sample takes 440 on four ranks, two short ones 50 on one.
  ballast::degree_cost const cost{.square = 1000, .exchange = {0, 1000}};
  ballast::sharding_options const o{.capacity = 20, .ranks = 4, .cost_per_pass = 10};
  std::vector<std::int64_t> const lengths{40, 5, 5, 5, 5, 5, 5, 5, 5};
  auto const plan = lockstep_shards(lengths, o, cost);
  auto in_lockstep = o;
  in_lockstep.execution = execution::lockstep;
  CHECK(sound_shards(plan, lengths, in_lockstep, cost));
  CHECK(plan.passes(0) == 2);
  CHECK(plan.time.value == 450 + 60);
}

TEST_CASE("lockstep_shards: close to the optimum of 4 ranks, and never slower than groups of one size", "[sharding][property]") {
  ballast::splitmix64 draw(2412);
  int best = 0, near = 0;
  constexpr int rounds = 500;
  for (int round = 0; round < rounds; ++round) {
    auto batch = random_tiny_batch(draw);
    auto const& cost = batch.cost;
    batch.options.execution = execution::lockstep;
    auto const exact = exhaustive_shards(batch.lengths, batch.options, cost);
    auto const plan = lockstep_shards(batch.lengths, batch.options, cost);
    CAPTURE(round, batch.lengths, batch.options.capacity, batch.options.cost_per_pass);
    REQUIRE(sound_shards(plan, batch.lengths, batch.options, cost));
    CHECK(plan.time.lower_bound <= exact.lockstep);
    CHECK(plan.time.value >= exact.lockstep);
    CHECK(plan.time.value <= homogeneous_shards(batch.lengths, batch.options, cost).time.value);
    best += plan.time.value == exact.lockstep;
    near += plan.time.value <= exact.lockstep + exact.lockstep / 20;
    auto apart = plan;  // the same passes without waiting
    apart.execution = execution::independent;
    CHECK(time_shards(apart, cost, batch.options.cost_per_pass).makespan <= plan.time.value);
  }
  CAPTURE(best, near);
  CHECK(best > rounds * 7 / 10);
  CHECK(near > rounds * 93 / 100);
}

TEST_CASE("lockstep_shards: any number of ranks", "[sharding][property]") {
  ballast::splitmix64 draw(17);
  for (int round = 0; round < 150; ++round) {
    ballast::sharding_options o{.capacity = between(50, 400, draw), .ranks = static_cast<std::uint64_t>(between(1, 40, draw))};
    o.cost_per_pass = between(0, 1000, draw);
    o.most_ranks_shared = draw() % 2 == 0 ? 0 : static_cast<std::uint64_t>(between(1, 40, draw));
    o.execution = execution::lockstep;
    auto const lengths = random_lengths(static_cast<std::size_t>(between(0, 60, draw)), o.capacity * 2, draw);
    ballast::degree_cost const cost{.linear = between(0, 5000, draw), .square = between(0, 100, draw), .exchange = {0, 700, 500, 900}};
    auto const plan = lockstep_shards(lengths, o, cost);
    CAPTURE(round, lengths, o.capacity, o.ranks, o.most_ranks_shared);
    if (plan.status == status::feasible) {
      CHECK(sound_shards(plan, lengths, o, cost));
      CHECK(plan.time == lockstep_shards(std::vector<std::int64_t>(lengths.rbegin(), lengths.rend()), o, cost).time);
      CHECK(hash(plan) == hash(lockstep_shards(std::vector<std::int32_t>(lengths.begin(), lengths.end()), o, cost)));
    }
    auto const longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
    auto const fits = longest <= o.capacity || (o.ranks > 1 && o.most_ranks_shared != 1);
    CHECK((plan.status == status::infeasible) == !fits);
  }
}

TEST_CASE("lockstep_shards: no samples, and misuse", "[sharding]") {
  ballast::degree_cost const cost{.linear = 1000};
  ballast::sharding_options o{.capacity = 10, .ranks = 3};
  auto const none = lockstep_shards(std::vector<int>{}, o, cost);
  CHECK(none.status == status::feasible);
  CHECK(none.execution == execution::lockstep);
  CHECK(none.ranks() == 3);
  CHECK(none.time == ballast::certificate{});
  CHECK(lockstep_shards(std::vector{21}, o, cost).status == status::infeasible);
  CHECK_THROWS_AS(lockstep_shards(std::vector{1, -1}, o, cost), ballast::invalid_input);
  o.ranks = 0;
  CHECK_THROWS_AS(lockstep_shards(std::vector{1}, o, cost), ballast::invalid_input);
}

}  // namespace test_sharding_lockstep
