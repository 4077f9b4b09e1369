// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/sharding/simple_shards.hpp>
#include <ballast/sharding/time_shards.hpp>

#include "support/catch.hpp"
#include "support/exhaustive_shards.hpp"
#include "support/lengths.hpp"
#include "support/rounds.hpp"
#include "support/sound_shards.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace test_sharding_simple_shards {

using namespace ballast_test;
using ballast::execution;
using ballast::status;

TEST_CASE("homogeneous_shards: the best size of groups for the batch", "[sharding]") {
  // One nanosecond for a token, and one for each token on every rank that shares it: two pairs of ranks take 100 + 100.
  ballast::degree_cost const cost{.linear = 1000, .exchange = {0, 1000}};
  ballast::sharding_options o{.capacity = 100, .ranks = 4, .cost_per_pass = 10, .execution = execution::independent};
  std::vector<std::int64_t> lengths{150, 150, 40, 40};
  auto plan = homogeneous_shards(lengths, o, cost);
  CHECK(sound_shards(plan, lengths, o, cost));
  CHECK(plan.rank_groups.size() == 2);
  CHECK(plan.time.value == 10 + 75 + 150 + 20 + 40);
  lengths = {90, 90, 40, 40};
  plan = homogeneous_shards(lengths, o, cost);
  CHECK(plan.rank_groups.empty());
  CHECK(plan.time == ballast::certificate{100, 100});
  o.execution = execution::lockstep;
  CHECK(homogeneous_shards(lengths, o, cost).time.value == 100);
}

TEST_CASE("homogeneous_shards: sound on random batches, and never better than the optimum", "[sharding][property]") {
  ballast::splitmix64 draw(11);
  int feasible = 0;
  for (int round = 0; round < 300; ++round) {
    auto const batch = random_tiny_batch(draw);
    auto const& cost = batch.cost;
    auto const exact = exhaustive_shards(batch.lengths, batch.options, cost);
    for (auto const policy : {execution::independent, execution::lockstep, execution::mixed}) {
      auto o = batch.options;
      o.execution = policy;
      CAPTURE(round, to_string(policy), batch.lengths, o.capacity);
      auto const plan = homogeneous_shards(batch.lengths, o, cost);
      REQUIRE(plan.status == status::feasible);
      ++feasible;
      CHECK(sound_shards(plan, batch.lengths, o, cost));
      auto const optimum = policy == execution::lockstep ? exact.lockstep : exact.independent;
      CHECK(plan.time.lower_bound <= optimum);
      CHECK(plan.time.value >= optimum);
      auto together = plan;  // the same passes with a barrier after each micro-batch
      together.execution = execution::lockstep;
      CHECK(time_shards(together, cost, o.cost_per_pass).makespan >= time_shards(plan, cost, o.cost_per_pass).makespan);
    }
  }
  CHECK(feasible == 900);
}

TEST_CASE("homogeneous_shards: how far from the optimum groups of one size are", "[sharding][property]") {
  auto const ratios = compare_with_optimum(500, 3, [](auto const&... arguments) { return homogeneous_shards(arguments...); });
  CHECK(ratios.unplanned == 0);
  CHECK(ratios.below_optimum == 0);
  CHECK(ratios.bound_above_optimum == 0);
  CAPTURE(ratios.mean, ratios.worst, ratios.optimal, ratios.within_two_percent);
  CHECK(ratios.mean > 1.01);
  CHECK(ratios.mean < 1.04);
}

TEST_CASE("homogeneous_shards: any number of ranks", "[sharding][property]") {
  ballast::splitmix64 draw(13);
  for (int round = 0; round < 200; ++round) {
    ballast::sharding_options o{.capacity = between(50, 400, draw), .ranks = static_cast<std::uint64_t>(between(1, 40, draw))};
    o.cost_per_pass = between(0, 1000, draw);
    o.execution = draw() % 2 == 0 ? execution::lockstep : execution::independent;
    auto const lengths = random_lengths(static_cast<std::size_t>(between(0, 60, draw)), o.capacity * 2, draw);
    ballast::degree_cost const cost{.linear = between(0, 5000, draw), .square = between(0, 100, draw), .exchange = {0, 700, 500, 900}};
    auto const plan = homogeneous_shards(lengths, o, cost);
    CAPTURE(round, lengths, o.capacity, o.ranks);
    if (plan.status == status::feasible) CHECK(sound_shards(plan, lengths, o, cost));
    auto const longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
    if (plan.status == status::infeasible) CHECK((o.ranks == 1 && longest > o.capacity));
    auto const fixed = static_shards(lengths, 2 * o.capacity, o, cost);
    o.execution = execution::lockstep;
    if (fixed.status == status::feasible) CHECK(sound_shards(fixed, lengths, o, cost));
    CHECK((fixed.status == status::infeasible) == (o.ranks == 1));
  }
}

TEST_CASE("static_shards: as many ranks as the context needs, bins dealt in order", "[sharding]") {
  ballast::degree_cost const cost{.linear = 1000};
  ballast::sharding_options const o{.capacity = 10, .ranks = 4, .cost_per_pass = 3};
  std::vector<std::int64_t> const lengths{5, 20, 8, 14, 6};
  auto plan = static_shards(lengths, 20, o, cost);
  CHECK(plan.execution == execution::lockstep);
  // Pairs of ranks: 20, 14 + 6, 8 + 5; two micro-batches of 3 + 10 and 3 + 4 + 3 (each sample rounds up).
  CHECK(plan.time.value == 13 + 10);
  CHECK(plan.passes() == 8);
  CHECK(plan.rank_groups.size() == 3);
  auto lockstep = o;
  lockstep.execution = execution::lockstep;
  CHECK(sound_shards(plan, lengths, lockstep, cost));
  CHECK(static_shards(lengths, 40, o, cost).time.value == 3 + 5 + 4 + 2 + 3 + 2 + 2);
  CHECK(static_shards(lengths, 41, o, cost).status == status::infeasible);
  CHECK_THROWS_AS(static_shards(lengths, 19, o, cost), ballast::invalid_input);
  CHECK_THROWS_AS(static_shards(std::vector<int>{}, 0, o, cost), ballast::invalid_input);
  CHECK(static_shards(std::vector<int>{}, 5, o, cost).time == ballast::certificate{});
  CHECK(static_shards(std::vector{20, 20, 1}, 20, o, cost).status == status::unknown);  // one token for two ranks
}

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

TEST_CASE("lockstep_shards: what rounds leave is one micro-batch where it has room", "[sharding]") {
  // The long sample takes 600 on four ranks; three short ones a rank then 75, and 25 + 10 in each of three micro-batches.
  ballast::degree_cost const cost{.square = 1000, .exchange = {0, 0, 5000}};
  ballast::sharding_options const o{.capacity = 20, .ranks = 4, .cost_per_pass = 10, .execution = execution::lockstep};
  std::vector<std::int64_t> lengths(13, 5);
  lengths[0] = 40;
  auto const plan = lockstep_shards(lengths, o, cost);
  CHECK(sound_shards(plan, lengths, o, cost));
  CHECK(plan.time == ballast::certificate{600 + 75 + 2 * 10, 600 + 75 + 2 * 10});
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

TEST_CASE("lockstep_shards: micro-batches that are formed anew take less and hold every sample once", "[sharding][property]") {
  ballast::splitmix64 draw(40);
  std::int64_t rounds_alone = 0, improved = 0;
  for (int round = 0; round < 30; ++round) {
    ballast::degree_cost const cost{.linear = 184000, .square = 5, .exchange = {0, 9000, 5000, 3000, 13000}};
    ballast::sharding_options const o{.capacity = 7645, .ranks = 16, .cost_per_pass = 629356, .execution = execution::lockstep};
    std::vector<std::int64_t> lengths(60 + ballast::uniform_below(60, draw));
    for (auto& l : lengths) l = (std::min)(std::int64_t{90'000}, 10'000'000 / (1 + static_cast<std::int64_t>(draw() % 9'000)));
    auto const times = ballast::detail::times_of_degrees(lengths, o, cost);
    auto const before = ballast::detail::search_lockstep(times, ballast::detail::degree_times::most, 3, false);
    auto const after = ballast::detail::search_lockstep(times, ballast::detail::degree_times::most, 3);
    CAPTURE(round, lengths);
    REQUIRE_FALSE(before.best.empty());
    CHECK(after.time <= before.time);
    rounds_alone += before.time;
    improved += after.time;
    std::int64_t sum = 0;
    std::vector<std::size_t> held;
    for (std::size_t m = 0; m < after.best.size(); ++m) {
      sum += after.fits[m].time;
      held.insert(held.end(), after.best[m].begin(), after.best[m].end());
    }
    CHECK(sum == after.time);
    std::sort(held.begin(), held.end());
    CHECK(held == ballast::detail::all_positions(times));
    auto const plan = lockstep_shards(lengths, o, cost);
    CHECK(sound_shards(plan, lengths, o, cost));
    CHECK(plan.time.value <= before.time);
  }
  CAPTURE(rounds_alone, improved);
  CHECK(improved < rounds_alone / 200 * 199);
}

TEST_CASE("lockstep_shards: where micro-batches cost much, full ones save some", "[sharding][property]") {
  ballast::splitmix64 draw(9);
  int fewer = 0;
  for (int round = 0; round < 40; ++round) {
    auto const cost = ballast_test::flexsp_cost();
    ballast::sharding_options const o{.capacity = 7645, .ranks = 32, .cost_per_pass = 629356300, .execution = execution::lockstep};
    std::vector<std::int64_t> lengths;
    for (std::int64_t left = 7645 * 32 * 47 / 10; left > 0; left -= lengths.back())  // 4.7 micro-batches
      lengths.push_back((std::min)(std::int64_t{60'000}, 9'000'000 / (1 + static_cast<std::int64_t>(draw() % 9'000))));
    auto const times = ballast::detail::times_of_degrees(lengths, o, cost);
    ballast::detail::micro_batch_search search(times);
    search.rest_at_once = 1;
    search.run_all_rounds(search.time);
    search.run(3);
    search.run_stretched_rounds();
    search.improve();
    auto const time = search.time;
    auto const count = search.best.size();
    search.run_full_rounds();
    CAPTURE(round, lengths);
    CHECK(search.time <= time);
    CHECK((search.time == time ? search.best.size() == count : search.time < time));
    fewer += search.best.size() < count;
    std::vector<std::size_t> held;
    for (std::size_t m = 0; m < search.best.size(); ++m) held.insert(held.end(), search.best[m].begin(), search.best[m].end());
    std::sort(held.begin(), held.end());
    CHECK(held == ballast::detail::all_positions(times));
    auto const plan = lockstep_shards(lengths, o, cost);
    CHECK(sound_shards(plan, lengths, o, cost));
    CHECK(plan.time.value <= search.time);
  }
  CAPTURE(fewer);
  CHECK(fewer >= 6);
}

TEST_CASE("lockstep_shards: where tokens leave little room, plan and bound are near the optimum of 4 ranks", "[sharding][property]") {
  ballast::splitmix64 draw(26);
  double bound = 0, plan = 0;
  constexpr int rounds = 60;
  for (int round = 0; round < rounds; ++round) {
    auto const cost = ballast_test::flexsp_cost();
    ballast::sharding_options const o{.capacity = 7645, .ranks = 4, .cost_per_pass = 629356300, .execution = execution::lockstep};
    std::vector<std::int64_t> lengths(8);
    for (auto& l : lengths) l = 9'000'000 / (100 + static_cast<std::int64_t>(draw() % 9'000));
    auto const sum = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    auto const tokens = 4 * 7645 * (2 + round % 2) / 100 * 97;  // of two or three micro-batches
    for (auto& l : lengths) l = std::clamp(l * tokens / sum, std::int64_t{16}, std::int64_t{4 * 7645});
    auto const best = static_cast<double>(exhaustive_shards(lengths, o, cost).lockstep);
    auto const found = lockstep_shards(lengths, o, cost).time;
    CAPTURE(round, lengths);
    CHECK(static_cast<double>(found.lower_bound) <= best);
    CHECK(static_cast<double>(found.value) >= best);
    bound += best / static_cast<double>(found.lower_bound) / rounds;
    plan += static_cast<double>(found.value) / best / rounds;
  }
  CAPTURE(bound, plan);
  CHECK(bound < 1.012);
  CHECK(plan < 1.015);
}

TEST_CASE("lockstep_shards: any number of ranks", "[sharding][property]") {
  ballast::splitmix64 draw(17);
  for (int round = 0; round < 150; round += ballast_test::round_step) {
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
  CHECK(lockstep_shards(std::vector{30}, o, cost).time == ballast::certificate{10, 10});  // all three ranks
  CHECK(lockstep_shards(std::vector{31}, o, cost).status == status::infeasible);
  o.sizes = ballast::group_sizes::powers_of_two;
  CHECK(lockstep_shards(std::vector{21}, o, cost).status == status::infeasible);
  CHECK_THROWS_AS(lockstep_shards(std::vector{1, -1}, o, cost), ballast::invalid_input);
  o.ranks = 0;
  CHECK_THROWS_AS(lockstep_shards(std::vector{1}, o, cost), ballast::invalid_input);
}

}  // namespace test_sharding_simple_shards
