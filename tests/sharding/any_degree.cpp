// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/sharding/any_degree.hpp>
#include <ballast/sharding/bounds.hpp>
#include <ballast/sharding/check.hpp>
#include <ballast/sharding/makespan_bound.hpp>
#include <ballast/sharding/simple_shards.hpp>
#include <ballast/sharding/time_shards.hpp>

#include "support/catch.hpp"
#include "support/exhaustive_shards.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_sharding_any_degree {

using namespace ballast;
using namespace ballast_test;
using numbers = std::vector<std::int64_t>;

namespace {

/// Whether the shards are valid on any ranks, and take the time that they claim.
template <class Cost>
bool sound(shards<> const& plan, numbers const& lengths, sharding_options const& o, Cost const& cost) {
  auto const verdict = check_shards(plan, lengths, o);
  INFO(describe(verdict));
  CHECK(verdict.valid());
  return verdict.valid() && plan.status == status::feasible && plan.execution == execution::independent && plan.left_out.empty() &&
         time_shards(plan, cost, o.cost_per_pass).makespan == plan.time.value;
}

bool neighbours_only(shards<> const& plan) {
  for (auto const ranks : plan.rank_groups)
    if (ranks.back() - ranks.front() + 1 != ranks.size()) return false;
  return true;
}

}  // namespace

TEST_CASE("any_degree_shards: three ranks for a sample of three ranks", "[sharding]") {
  degree_cost const cost{.linear = 3000};
  sharding_options const o{.capacity = 100, .ranks = 6, .cost_per_pass = 10};
  numbers const lengths{300, 300};
  auto const plan = any_degree_shards(lengths, o, cost);
  CHECK(sound(plan, lengths, o, cost));
  CHECK(plan.time == certificate{310, 310});
  CHECK(plan.rank_groups.size() == 2);
  CHECK(plan.rank_groups[0].size() == 3);
  auto const fours = any_degree_shards(lengths, o, cost, {.powers_of_two = true});
  CHECK(fours.time.value == 2 * (10 + 225));  // one after the other
  CHECK(fours.rank_groups[0].size() == 4);
  CHECK(any_degree_shards(numbers{600}, o, cost).time.optimal());
  CHECK(any_degree_shards(numbers{500}, o, cost, {.powers_of_two = true}).status == status::infeasible);
  CHECK(any_degree_shards(numbers{601}, o, cost).status == status::infeasible);
  CHECK(any_degree_bound(numbers{601}, o, cost) == 0);
}

TEST_CASE("any_degree_shards: more ranks than room needs where the step time asks for it", "[sharding]") {
  degree_cost const cost{.linear = 1000};
  sharding_options o{.capacity = 1000, .ranks = 4};
  auto plan = any_degree_shards(numbers{900, 300, 100, 100}, o, cost);  // 1400 on 4 ranks
  CHECK(plan.time.lower_bound == 350);
  CHECK(plan.time.value <= 400);
  o.most_ranks_shared = 2;
  plan = any_degree_shards(numbers{900, 300, 100, 100}, o, cost);
  CHECK(plan.time == certificate{450, 450});
}

TEST_CASE("any_degree_shards: sound on any number of ranks, its bound between those it refines", "[sharding][property]") {
  splitmix64 draw(31);
  int odd = 0, tighter = 0;
  for (int round = 0; round < 400; round += ballast_test::round_step) {
    sharding_options o{.capacity = between(20, 800, draw), .ranks = static_cast<std::uint64_t>(between(1, 40, draw))};
    o.cost_per_pass = draw() % 2 == 0 ? flexsp_cost_per_pass : between(0, 1000000, draw);
    if (draw() % 4 == 0) o.most_ranks_shared = static_cast<std::uint64_t>(between(1, static_cast<std::int64_t>(o.ranks), draw));
    auto const widest = static_cast<std::int64_t>(o.most_ranks_shared == 0 ? o.ranks : o.most_ranks_shared);
    auto const count = static_cast<std::size_t>(between(0, 80, draw));
    auto const longest = draw() % 2 == 0 ? o.capacity * widest : (o.capacity * widest + 9) / 10;
    auto const lengths = random_lengths(count, longest, draw);
    auto cost = flexsp_cost();
    if (draw() % 2 == 0) cost.exchange = {0, between(0, 60000000, draw), between(0, 60000000, draw)};
    CAPTURE(round, lengths, o.capacity, o.ranks, o.most_ranks_shared);
    auto const plan = any_degree_shards(lengths, o, cost);
    REQUIRE(plan.status == status::feasible);
    CHECK(sound(plan, lengths, o, cost));
    CHECK(neighbours_only(plan));
    CHECK(plan.time.lower_bound == any_degree_bound(lengths, o, cost));
    CHECK(hash(plan) == hash(any_degree_shards(lengths, o, cost)));
    for (auto const ranks : plan.rank_groups) odd += !std::has_single_bit(ranks.size());
    auto all = o;
    all.most_ranks_shared = 0;
    CHECK(plan.time.lower_bound >= least_time(lengths, all, cost));
    tighter += plan.time.lower_bound > least_time(lengths, all, cost);
    auto const fours = any_degree_shards(lengths, o, cost, {.powers_of_two = true});
    if (fours.status != status::feasible) continue;
    CHECK(sound(fours, lengths, o, cost));
    CHECK(fours.time.lower_bound == plan.time.lower_bound);
    for (auto const ranks : fours.rank_groups) CHECK(std::has_single_bit(ranks.size()));
    all = o;
    all.sizes = group_sizes::powers_of_two;
    CHECK(plan.time.lower_bound <= shard_bounds(lengths, all, cost).lower());
  }
  CAPTURE(odd, tighter);
  if (ballast_test::round_step == 1) CHECK((odd > 500 && tighter > 50));
}

TEST_CASE("any_degree_shards: close to the optimum of blocks on tiny batches, its bound never above", "[sharding][property]") {
  auto const ratios = compare_with_optimum(300, 5, [](auto const&... arguments) { return any_degree_shards(arguments...); });
  CHECK(ratios.unplanned == 0);
  CHECK(ratios.bound_above_optimum == 0);
  CAPTURE(ratios.mean, ratios.worst, ratios.optimal, ratios.below_optimum);
  CHECK(ratios.mean < 1.08);
}

TEST_CASE("any_degree_shards: more attempts are never worse, and what it refuses", "[sharding]") {
  splitmix64 draw(32);
  sharding_options const o{.capacity = 7645, .ranks = 16, .cost_per_pass = flexsp_cost_per_pass};
  for (int round = 0; round < 10; ++round) {
    auto const lengths = random_lengths(100, 60000, draw);
    auto before = any_degree_shards(lengths, o, flexsp_cost(), {.attempts = 1}).time.value;
    for (auto const attempts : {2, 4, 16, 40}) {
      auto const now = any_degree_shards(lengths, o, flexsp_cost(), {.attempts = attempts}).time.value;
      CHECK(now <= before);
      before = now;
    }
  }
  CHECK(any_degree_shards(numbers{}, o, flexsp_cost()).time == certificate{});
  CHECK(refusal([&] { return any_degree_shards(numbers{3}, o, flexsp_cost(), {.attempts = 0}); }) == "attempts = 0 must be positive");
  CHECK(refusal([&] { return any_degree_shards(numbers{3, 0}, o, flexsp_cost()); }) == "lengths[1] = 0 must be positive");
  CHECK_THROWS_AS(any_degree_shards(numbers{3}, {.capacity = 0, .ranks = 1}, flexsp_cost()), invalid_input);
  degree_cost const huge{.square = std::int64_t{1} << 60};
  CHECK_THROWS_AS(any_degree_shards(numbers{3}, o, huge), invalid_input);
}

}  // namespace test_sharding_any_degree
