// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/degree_cost.hpp>
#include <ballast/sharding/bounds.hpp>
#include <ballast/sharding/check.hpp>
#include <ballast/sharding/plan_shards.hpp>
#include <ballast/sharding/simple_shards.hpp>
#include <ballast/sharding/time_shards.hpp>

#include "support/catch.hpp"
#include "support/exhaustive_shards.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace test_sharding_plan_shards {

using ballast::execution;
using ballast::group_sizes;
using ballast::plan_shards;
using ballast::sharding_options;
using ballast_test::between;
using ballast_test::flexsp_cost;
using ballast_test::refusal;

/// Lengths with a long tail: most below 2,000, one in sixteen up to 60,000.
std::vector<std::int64_t> long_tail(std::size_t n, ballast::splitmix64& draw) {
  std::vector<std::int64_t> lengths(n);
  for (auto& l : lengths) l = draw() % 16 == 0 ? between(2000, 60000, draw) : between(50, 2000, draw);
  return lengths;
}

template <class R>
void check_plan(ballast::shards<> const& plan, R const& lengths, sharding_options const& o, ballast::degree_cost const& cost) {
  auto const v = check_shards(plan, lengths, o, {.aligned = !ballast::detail::takes_any_size(o, lengths.size())});
  CAPTURE(describe(v), o.ranks, o.capacity, lengths.size(), to_string(o.execution));
  REQUIRE(v.valid());
  REQUIRE(plan.status == ballast::status::feasible);
  CHECK(plan.left_out.empty());
  CHECK(plan.time.value == time_shards(plan, cost, o.cost_per_pass).makespan);
  CHECK(plan.time.lower_bound <= plan.time.value);
  CHECK(plan.time.lower_bound >= shard_bounds(lengths, o, cost).lower());
}

TEST_CASE("plan_shards: every plan is valid, takes the time it says and is not slower than one degree for all") {
  ballast::splitmix64 draw(3);
  for (int round = 0; round < 240; round += ballast_test::round_step) {
    auto const lengths = long_tail(static_cast<std::size_t>(between(1, 200, draw)), draw);
    auto const longest = *std::max_element(lengths.begin(), lengths.end());
    sharding_options o{.ranks = static_cast<std::uint64_t>(between(1, 40, draw))};  // any number, not powers of two alone
    auto block = std::int64_t{1};
    while (2 * block <= static_cast<std::int64_t>(o.ranks)) block *= 2;
    o.capacity = std::max(between(500, 9000, draw), (longest + block - 1) / block);
    o.cost_per_pass = draw() % 3 == 0 ? 0 : between(0, 700000000, draw);
    o.execution = draw() % 2 == 0 ? execution::independent : execution::mixed;
    auto const cost = flexsp_cost();
    auto const plan = plan_shards(lengths, o, cost);
    check_plan(plan, lengths, o, cost);
    CHECK(plan.time.value <= homogeneous_shards(lengths, o, cost).time.value);
    if (o.execution == execution::mixed) {
      auto pure = o;
      pure.execution = execution::independent;
      CHECK(plan.time.value <= plan_shards(lengths, pure, cost).time.value);
    }
    if (round % 8 == 0) {
      auto const deep = plan_shards(lengths, o, cost, {.deep = true});
      check_plan(deep, lengths, o, cost);
      CHECK(deep.time.value <= plan.time.value);
      CHECK(deep.time.lower_bound >= plan.time.lower_bound);
      auto const waiting = lockstep_shards(lengths, o, cost, {.counts = 6});
      if (waiting.status == ballast::status::feasible) CHECK(deep.time.value <= waiting.time.value);
    }
  }
}

TEST_CASE("plan_shards: a deep search neither plans worse nor proves less than a quick one") {
  for (std::uint64_t const seed : {9U, 17U, 28U, 33U}) {
    ballast::splitmix64 draw(seed);
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(between(64, 256, draw)));
    for (auto& l : lengths) l = draw() % 16 == 0 ? between(2000, 40000, draw) : between(50, 1500, draw);
    sharding_options o{.capacity = between(5000, 9000, draw), .ranks = std::uint64_t{8} << (draw() % 3)};
    o.cost_per_pass = between(1, 700000000, draw);
    o.execution = draw() % 2 == 0 ? execution::independent : execution::mixed;
    auto const cost = flexsp_cost();
    auto const quick = plan_shards(lengths, o, cost), deep = plan_shards(lengths, o, cost, {.deep = true});
    check_plan(deep, lengths, o, cost);
    CHECK(deep.time.value <= quick.time.value);
    CHECK(deep.time.lower_bound >= quick.time.lower_bound);
  }
}

TEST_CASE("plan_shards: samples beside one that all ranks share get the degrees that suit the time left") {
  ballast::splitmix64 draw(4);
  ballast::degree_cost const cost{.linear = 7000000, .square = 600, .exchange = {0, 100000, 150000, 175000, 1000000, 1500000, 1750000}};
  sharding_options const o{.capacity = 26624, .ranks = 64, .cost_per_pass = 10000000, .execution = execution::independent};
  for (int round = 0; round < 20; ++round) {
    auto rest = long_tail(511, draw);
    auto all = rest;
    all.push_back(between(700000, 900000, draw));
    auto const alone = plan_shards(std::vector<std::int64_t>{all.back()}, o, cost), others = plan_shards(rest, o, cost);
    CAPTURE(all.back(), alone.time.value, others.time.value);
    CHECK(plan_shards(all, o, cost).time.value * 100 <= (alone.time.value + others.time.value) * 102);
  }
}

TEST_CASE("plan_shards: four ranks and up to seven samples are planned optimally") {
  ballast::splitmix64 draw(1);
  auto const cost = flexsp_cost();
  for (int round = 0; round < 240; round += ballast_test::round_step) {
    auto const batch = ballast_test::random_tiny_batch(draw);
    auto const best = ballast_test::exhaustive_shards(batch.lengths, batch.options, cost);
    auto const plan = plan_shards(batch.lengths, batch.options, cost);
    check_plan(plan, batch.lengths, batch.options, cost);
    CHECK(plan.time.value == best.independent);
    CHECK(plan.time.lower_bound <= best.independent);
  }
}

TEST_CASE("plan_shards: four ranks or fewer and up to seven samples are planned optimally in any unit of time") {
  ballast::splitmix64 draw(2);
  for (int round = 0; round < 200; round += ballast_test::round_step) {
    auto batch = ballast_test::random_tiny_batch(draw);
    auto& o = batch.options;
    o.ranks = std::uint64_t{1} << draw() % 3;
    std::int64_t all = o.cost_per_pass * static_cast<std::int64_t>(batch.lengths.size());  // of rank-times and passes, below 2^62
    for (auto& l : batch.lengths) {
      l = (std::min)(l, o.capacity);
      std::int64_t most = 0;
      for (std::int64_t d = 1; d <= static_cast<std::int64_t>(o.ranks); d *= 2) most = (std::max)(most, d * batch.cost(l, d));
      all += most;
    }
    auto const unit = ((std::int64_t{1} << 62) - 1) / all;
    auto const plan = plan_shards(batch.lengths, o, batch.cost);
    o.cost_per_pass *= unit;
    auto const scaled = plan_shards(batch.lengths, o, [&](std::int64_t l, std::int64_t ranks) { return unit * batch.cost(l, ranks); });
    CHECK(scaled.time.value == unit * plan.time.value);
  }
}

TEST_CASE("plan_shards: small batches in lockstep are planned alike in any unit of tokens") {
  ballast::splitmix64 draw(5);
  for (int round = 0; round < 60; round += ballast_test::round_step) {
    sharding_options o{.capacity = 6000, .ranks = std::uint64_t{1} << draw() % 3, .execution = execution::lockstep};
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(between(6, 12, draw)));
    for (auto& l : lengths) l = 600 * between(1, 10, draw);
    o.cost_per_pass = between(1, 50, draw);
    auto const all =
        (std::max)(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}) / 2 + 1, o.capacity * std::int64_t(o.ranks));
    auto const unit = (std::int64_t{1} << 62) / all;
    auto const cost = [](std::int64_t l, std::int64_t ranks) { return l / 200 / ranks + ranks; };
    auto const plan = plan_shards(lengths, o, cost);
    for (auto& l : lengths) l *= unit;
    o.capacity *= unit;
    auto const scaled = plan_shards(lengths, o, [&](std::int64_t l, std::int64_t ranks) { return cost(l / unit, ranks); });
    CHECK(scaled.time.value == plan.time.value);
  }
}

TEST_CASE("plan_shards: samples in lockstep that have room on three ranks, but not on two") {
  sharding_options const o{.capacity = 100, .ranks = 3, .cost_per_pass = 1000, .execution = execution::lockstep};
  for (std::size_t const n : {2U, 3U, 5U}) {
    std::vector<std::int64_t> const lengths(n, 240);
    auto const plan = plan_shards(lengths, o, ballast::degree_cost{.linear = 1000});
    CHECK(check_shards(plan, lengths, o).valid());
    CHECK(plan.time.optimal());
    CHECK(plan.time.value == static_cast<std::int64_t>(n) * 1080);
  }
}

TEST_CASE("plan_shards: nine to twelve samples are within 3 % of the optimum on average, and optimal if the search is deep") {
  ballast::splitmix64 draw(3);
  auto const cost = flexsp_cost();
  double sum = 0, worst = 1;
  int rounds = 0;
  for (int round = 0; round < 44; round += ballast_test::round_step) {
    auto batch = ballast_test::random_tiny_batch(draw);
    while (batch.lengths.size() < 9 + static_cast<std::size_t>(round % 3))
      batch.lengths.push_back(between(100, batch.options.capacity, draw));
    auto const best = ballast_test::exhaustive_shards(batch.lengths, batch.options, cost);
    auto const plan = plan_shards(batch.lengths, batch.options, cost);
    check_plan(plan, batch.lengths, batch.options, cost);
    CHECK(plan.time.lower_bound <= best.independent);
    CHECK(plan_shards(batch.lengths, batch.options, cost, {.deep = true}).time.value == best.independent);
    auto const ratio = static_cast<double>(plan.time.value) / static_cast<double>(best.independent);
    CHECK(ratio >= 1);
    sum += ratio;
    worst = std::max(worst, ratio);
    ++rounds;
  }
  CAPTURE(sum / rounds, worst);
  CHECK(sum / rounds < 1.03);
  CHECK(worst < 1.25);
}

TEST_CASE("plan_shards: a batch of 512 samples is near its bound") {
  ballast::splitmix64 draw(9);
  auto const lengths = long_tail(512, draw);
  // A model of 7B on accelerators of 400 TFLOP/s, with keys and values gathered at 6.4 us per MB.
  ballast::degree_cost const cost{.linear = 55490000, .square = 3010, .exchange = {0, 3303000, 3303000, 3303000, 13212000}};
  for (auto const policy : {execution::independent, execution::mixed}) {
    sharding_options const o{.capacity = 13312, .ranks = 64, .cost_per_pass = 30000000, .execution = policy};
    auto const plan = plan_shards(lengths, o, cost);
    check_plan(plan, lengths, o, cost);
    CHECK(plan.time.gap() < 0.02);
  }
  sharding_options const lock{.capacity = 13312, .ranks = 64, .cost_per_pass = 30000000, .execution = execution::lockstep};
  auto const plan = plan_shards(lengths, lock, cost);
  CHECK(check_shards(plan, lengths, lock).valid());
  CHECK(plan.time.value == time_shards(plan, cost, lock.cost_per_pass).makespan);
}

TEST_CASE("plan_shards: ranks that do not wait are not done later than those in lockstep") {
  ballast::splitmix64 draw(33);
  ballast::degree_cost const cost{.linear = 55490642, .square = 3011, .exchange = {0, 734003, 734003, 734003, 2936013}};
  for (int round = 0; round < 40; ++round) {
    std::vector<std::int64_t> lengths;
    for (std::int64_t left = 13312 * 16 * 14 / 10; left > 0; left -= lengths.back())  // 1.4 passes of each rank
      lengths.push_back((std::min)(std::int64_t{50'000}, 20'000'000 / (100 + static_cast<std::int64_t>(draw() % 20'000))));
    sharding_options o{.capacity = 13312, .ranks = 16, .cost_per_pass = 30000000, .execution = execution::lockstep};
    auto const waiting = plan_shards(lengths, o, cost).time.value;
    for (auto const policy : {execution::independent, execution::mixed}) {
      o.execution = policy;
      CAPTURE(round, to_string(policy), lengths);
      CHECK(plan_shards(lengths, o, cost).time.value <= waiting);
    }
  }
}

TEST_CASE("plan_shards: a function of the lengths, not of their order") {
  ballast::splitmix64 draw(4);
  auto const lengths = long_tail(100, draw);
  sharding_options const o{.capacity = 8192, .ranks = 16, .cost_per_pass = 100000000};
  auto const plan = plan_shards(lengths, o, flexsp_cost());
  CHECK(hash(plan) == hash(plan_shards(lengths, o, flexsp_cost())));
  CHECK(hash(plan) == hash(plan_shards<std::uint64_t>(std::vector<std::int32_t>(lengths.begin(), lengths.end()), o, flexsp_cost())));
  auto backwards = lengths;
  std::reverse(backwards.begin(), backwards.end());
  CHECK(plan_shards(backwards, o, flexsp_cost()).time == plan.time);
}

TEST_CASE("plan_shards: batches at the border") {
  auto const cost = flexsp_cost();
  sharding_options o{.capacity = 1000, .ranks = 8, .cost_per_pass = 50};
  auto const none = plan_shards(std::vector<int>{}, o, cost);
  CHECK(none.time == ballast::certificate{0, 0});
  CHECK(none.ranks() == 8);
  check_plan(plan_shards(std::vector{8000}, o, cost), std::vector{8000}, o, cost);        // fills all ranks
  check_plan(plan_shards(std::vector(8, 1000), o, cost), std::vector(8, 1000), o, cost);  // fills each rank
  check_plan(plan_shards(std::vector(64, 500), o, cost), std::vector(64, 500), o, cost);
  auto const too_long = plan_shards(std::vector{8001, 5}, o, cost);
  CHECK(too_long.status == ballast::status::infeasible);
  CHECK(check_shards(too_long, std::vector{8001, 5}, o).valid());
  o.most_ranks_shared = 2;
  CHECK(plan_shards(std::vector{2001}, o, cost).status == ballast::status::infeasible);
  check_plan(plan_shards(std::vector{2000, 2000, 30}, o, cost), std::vector{2000, 2000, 30}, o, cost);
  o.ranks = 1;
  check_plan(plan_shards(std::vector{1000, 600, 400}, o, cost), std::vector{1000, 600, 400}, o, cost);
}

TEST_CASE("plan_shards: a capacity of a few tokens gives a valid plan, or says that none was found; costs of zero take no time") {
  for (std::uint64_t seed = 0; seed < 1500; seed += ballast_test::round_step) {
    ballast::splitmix64 draw(seed);
    sharding_options o{.capacity = between(1, 3, draw), .ranks = static_cast<std::uint64_t>(between(1, 20, draw))};
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(between(1, 12, draw)));
    auto const most = between(1, o.capacity * static_cast<std::int64_t>(o.ranks), draw);
    for (auto& l : lengths) l = between(1, most, draw);
    if (seed % 3 == 0) o.sizes = group_sizes::powers_of_two;
    auto const free = seed % 2 == 0;
    auto const cost = free ? ballast::degree_cost{} : ballast::degree_cost{.linear = between(0, 5000, draw), .square = 7};
    for (auto const policy : {execution::independent, execution::lockstep, execution::mixed}) {
      o.execution = policy;
      CAPTURE(seed, o.capacity, o.ranks, lengths, to_string(policy));
      auto const plan = plan_shards(lengths, o, cost, {.deep = seed % 8 == 0});
      if (plan.status == ballast::status::feasible) {
        check_plan(plan, lengths, o, cost);
        if (free) REQUIRE(plan.time == ballast::certificate{0, 0});
        continue;
      }
      auto const has_room = *std::max_element(lengths.begin(), lengths.end()) <=
                            o.capacity * static_cast<std::int64_t>(o.sizes == group_sizes::automatic ? o.ranks : std::bit_floor(o.ranks));
      REQUIRE(plan.status == (has_room ? ballast::status::unknown : ballast::status::infeasible));
      if (has_room && policy != execution::lockstep) REQUIRE(o.capacity == 1);
      REQUIRE(check_shards(plan, lengths, o).valid());
    }
  }
  std::vector<std::int64_t> const pair{3, 3};  // on 4 ranks with room for a token each, one has none
  CHECK(plan_shards(pair, {.capacity = 1, .ranks = 5, .sizes = group_sizes::powers_of_two}, ballast::degree_cost{.linear = 1}).status ==
        ballast::status::unknown);
  CHECK(plan_shards(pair, {.capacity = 1, .ranks = 5}, ballast::degree_cost{.linear = 1}).time == ballast::certificate{2, 2});
}

TEST_CASE("plan_shards: passes of several ranks leave others time for whole numbers of passes") {
  ballast::splitmix64 draw(11);
  auto const cost = flexsp_cost();
  sharding_options const o{.capacity = 8000, .ranks = 32, .cost_per_pass = 629356300, .execution = execution::independent};
  int faster = 0;  // by a percent than without that rule
  for (int round = 0; round < 4; ++round) {
    std::vector<std::int64_t> lengths(256);
    for (auto& l : lengths) l = draw() % 16 == 0 ? between(2000, 60000, draw) : between(1000, 4000, draw);
    auto const plan = plan_shards(lengths, o, cost), even = plan_shards(lengths, o, cost, {.attempts = 24});
    check_plan(plan, lengths, o, cost);
    CHECK(plan.time.value <= even.time.value);
    faster += even.time.value - plan.time.value > plan.time.value / 100;
  }
  CHECK(faster >= 2);
}

TEST_CASE("plan_shards: a quick search proves more by prices where the plan is far above the bound by area") {
  ballast::splitmix64 draw(11);
  auto const cost = flexsp_cost();
  std::vector<std::int64_t> lengths(512);
  for (auto& l : lengths) l = draw() % 16 == 0 ? between(2000, 40000, draw) : between(50, 1500, draw);
  sharding_options const o{.capacity = 9000, .ranks = 64, .cost_per_pass = 700000000};
  auto const plan = plan_shards(lengths, o, cost);
  check_plan(plan, lengths, o, cost);
  CHECK(plan.time.lower_bound > shard_bounds(lengths, o, cost).lower());
}

TEST_CASE("plan_shards: any cost by length and degree, also one that falls with more ranks") {
  auto const cost = [](std::int64_t length, std::int64_t ranks) { return length * (ranks == 1 ? 50 : 10) / ranks + 3 * ranks; };
  std::vector const lengths{900, 800, 700, 650, 600, 30, 20, 10, 9, 8, 7, 6};
  sharding_options const o{.capacity = 1000, .ranks = 8, .cost_per_pass = 20};
  auto const plan = plan_shards(lengths, o, cost);
  CHECK(check_shards(plan, lengths, o, {.aligned = true}).valid());
  CHECK(plan.time.value == time_shards(plan, cost, o.cost_per_pass).makespan);
  CHECK(plan.time.lower_bound <= plan.time.value);
}

TEST_CASE("plan_shards: refuses what it cannot plan, in a sentence") {
  auto const cost = flexsp_cost();
  std::vector const lengths{5, 7};
  CHECK(refusal([&] { return plan_shards(lengths, {.capacity = 0, .ranks = 2}, cost); }) == "capacity = 0 must be positive");
  CHECK(refusal([&] { return plan_shards(lengths, {.capacity = 9}, cost); }) == "ranks = 0 must be in 1 ... 2^20 - 1");
  CHECK(refusal([&] { return plan_shards(std::vector{5, 0}, {.capacity = 9, .ranks = 2}, cost); }) == "lengths[1] = 0 must be positive");
  CHECK(refusal([&] { return plan_shards(lengths, {.capacity = 9, .ranks = 2}, cost, {.attempts = -1}); }) ==
        "attempts = -1 must not be negative");
  auto const huge = [](std::int64_t, std::int64_t) { return std::numeric_limits<std::int64_t>::max(); };
  auto const half = [](std::int64_t, std::int64_t) { return std::int64_t{1} << 61; };
  CHECK(refusal([&] { return plan_shards(lengths, {.capacity = 9, .ranks = 2}, half); }) ==
        "lengths[1] = 7 brings the sum of times to 2^62 or more");
  CHECK(refusal([&] { return plan_shards(lengths, {.capacity = 9, .ranks = 2}, huge); }) ==
        "lengths[1] = 7 on 1 rank takes 9223372036854775807, outside [0, 2^62)");
}

}  // namespace test_sharding_plan_shards
