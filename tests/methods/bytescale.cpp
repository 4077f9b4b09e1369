// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/methods/bytescale.hpp>
#include <ballast/sharding/check.hpp>
#include <ballast/sharding/time_shards.hpp>

#include "support/catch.hpp"
#include "support/exhaustive_shards.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_methods_bytescale {

using namespace ballast;
using namespace ballast_test;
using bytescale::balance;
using numbers = std::vector<std::int64_t>;

TEST_CASE("bytescale: passes by hand") {
  degree_cost const cost{.linear = 1000};
  bytescale::options o{.capacity = 10, .ranks = 4, .cost_per_pass = 3, .buckets = 1};
  // 25 on three ranks (12), 9 on the fourth (12). No rank lags: 8 and 2 fit a pass of rank 0, then 7 on rank 1 and 6 on rank 2.
  auto plan = bytescale::schedule(numbers{6, 7, 8, 9, 25, 2}, o, cost);
  CHECK(plan.time.value == 12 + 13);
  CHECK(plan.rank_groups.size() == 1);
  CHECK(plan.rank_groups[0].size() == 3);
  CHECK(plan.passes(0) == 2);
  CHECK(plan(0, 1).size() == 2);
  CHECK(plan(0, 1)[1].sample == 5);
  CHECK(plan.passes(3) == 1);
  // One more sample of 5: the rank that has had no second pass gets it.
  plan = bytescale::schedule(numbers{6, 7, 8, 9, 25, 2, 5}, o, cost);
  CHECK(plan.passes(3) == 2);
  CHECK(plan.time.value == 25);
  // Two buckets of equal work, {9} and {4, 4, 1}, in turn.
  o.buckets = 2;
  numbers const lengths{9, 4, 4, 1};
  o.from = balance::pipeline;
  plan = bytescale::schedule(lengths, o, cost);
  CHECK(plan(0, 0)[0].sample == 0);
  CHECK(plan(1, 0).size() == 3);
}

TEST_CASE("bytescale: a rank that lags less than delta waits", "[property]") {
  degree_cost const cost{.linear = 1000};
  bytescale::options o{.capacity = 10, .ranks = 2, .buckets = 1};
  numbers const lengths{10, 9, 8, 7, 7};
  // Without a tolerance: 10 and 9; rank 1 lags and gets 8; rank 0 lags and gets 7; rank 0 and rank 1 are even, then 7.
  CHECK(bytescale::schedule(lengths, o, cost).passes(1) == 2);
  o.delta = 1;  // 10 and 9 count as even, so both get a pass: first rank 1, which has less
  auto const plan = bytescale::schedule(lengths, o, cost);
  CHECK(plan(1, 1)[0].sample == 2);
  CHECK(plan(0, 1)[0].sample == 3);
}

TEST_CASE("bytescale: valid shards with a bound, each sample on as many ranks as it needs", "[property]") {
  splitmix64 draw(41);
  int several = 0, uneven = 0;
  for (int round = 0; round < 400; ++round) {
    bytescale::options o{.capacity = between(20, 2000, draw), .ranks = static_cast<std::uint64_t>(between(1, 40, draw))};
    o.cost_per_pass = draw() % 2 == 0 ? flexsp_cost_per_pass : between(0, 1000000, draw);
    o.from = draw() % 2 == 0 ? balance::data_parallel : balance::pipeline;
    o.buckets = static_cast<std::uint64_t>(between(1, 12, draw));
    o.delta = draw() % 2 == 0 ? 0 : between(0, 1000000000, draw);
    auto const all = o.capacity * static_cast<std::int64_t>(o.ranks);
    auto const count = static_cast<std::size_t>(between(0, 120, draw));
    auto const longest = draw() % 2 == 0 ? all : (all + 9) / 10;
    auto const lengths = random_lengths(count, longest, draw);
    CAPTURE(round, lengths, o.capacity, o.ranks, o.buckets, o.delta);
    auto const plan = bytescale::schedule(lengths, o, flexsp_cost());
    REQUIRE(plan.status == status::feasible);
    auto const verdict = check_shards(plan, lengths, {.capacity = o.capacity, .ranks = o.ranks});
    INFO(describe(verdict));
    CHECK(verdict.valid());
    CHECK(plan.left_out.empty());
    CHECK(plan.execution == execution::independent);
    CHECK(time_shards(plan, flexsp_cost(), o.cost_per_pass).makespan == plan.time.value);
    CHECK(plan.time.lower_bound <= plan.time.value);
    for (std::size_t r = 1; r < plan.ranks(); ++r) uneven += plan.passes(r) != plan.passes(0);
    for (auto const& p : plan.pieces) {
      auto const degree = (lengths[p.sample] + o.capacity - 1) / o.capacity;
      auto const ranks = p.group == not_shared ? 1 : static_cast<std::int64_t>(plan.rank_groups[p.group].size());
      several += degree > 1;
      if (ranks != degree) FAIL("sample " << p.sample << " is on " << ranks << " ranks, not " << degree);
    }
    CHECK(hash(plan) == hash(bytescale::schedule(lengths, o, flexsp_cost())));
  }
  CHECK(several > 1000);
  CHECK(uneven > 1000);
}

TEST_CASE("bytescale: what it refuses, and what has no plan") {
  degree_cost const cost{.linear = 1000};
  CHECK(bytescale::schedule(numbers{31}, {.capacity = 10, .ranks = 3}, cost).status == status::infeasible);
  CHECK(bytescale::schedule(numbers{30}, {.capacity = 10, .ranks = 3}, cost).time == certificate{10, 10});
  CHECK(bytescale::schedule(numbers{}, {.capacity = 10, .ranks = 3}, cost).time == certificate{});
  CHECK(refusal([&] { return bytescale::schedule(numbers{3}, {.capacity = 10, .ranks = 3, .buckets = 0}, cost); }) ==
        "buckets = 0 must be in 1 ... 2^32 - 1");
  CHECK(refusal([&] { return bytescale::schedule(numbers{3}, {.capacity = 10, .ranks = 3, .delta = -1}, cost); }) ==
        "delta = -1 must not be negative");
  CHECK(refusal([&] { return bytescale::schedule(numbers{3, -3}, {.capacity = 10, .ranks = 3}, cost); }) ==
        "lengths[1] = -3 must be positive");
  CHECK_THROWS_AS(bytescale::schedule(numbers{3}, {.capacity = 10, .ranks = 0}, cost), invalid_input);
}

}  // namespace test_methods_bytescale
