// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/sample_degree_cost.hpp>
#include <ballast/sharding/any_degree.hpp>
#include <ballast/sharding/bounds.hpp>
#include <ballast/sharding/check.hpp>
#include <ballast/sharding/makespan_bound.hpp>
#include <ballast/sharding/phase_shards.hpp>
#include <ballast/sharding/plan_shards.hpp>
#include <ballast/sharding/price_bound.hpp>
#include <ballast/sharding/simple_shards.hpp>
#include <ballast/sharding/time_shards.hpp>

#include "support/catch.hpp"
#include "support/exhaustive_shards.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

// Costs that differ between samples of one length.

namespace test_sharding_sample_costs {

using ballast::execution;
using ballast::group_sizes;
using ballast::plan_shards;
using ballast::sample_degree_cost;
using ballast::sharding_options;
using ballast_test::between;
using ballast_test::flexsp_cost;
using numbers = std::vector<std::int64_t>;

/// Work of each sample: 1/8 to 4 times that of the model, the linear and the square part each by itself.
struct drawn_work {
  ballast::degree_cost common;
  numbers linear, square;
  drawn_work(std::size_t n, ballast::degree_cost of, ballast::splitmix64& draw) : common(std::move(of)), linear(n), square(n) {
    for (std::size_t i = 0; i < n; ++i) {
      linear[i] = common.linear / 8 * between(1, 32, draw);
      square[i] = common.square / 8 * between(1, 32, draw);
    }
  }
  [[nodiscard]] sample_degree_cost cost() const { return {common, linear, square}; }
};

numbers long_tail(std::size_t n, ballast::splitmix64& draw) {
  numbers lengths(n);
  for (auto& l : lengths) l = draw() % 16 == 0 ? between(2000, 60000, draw) : between(1, 20, draw) * 100;  // many of one length
  return lengths;
}

sharding_options drawn_options(numbers const& lengths, ballast::splitmix64& draw) {
  constexpr std::array policies{execution::independent, execution::mixed, execution::lockstep};
  sharding_options o{.ranks = static_cast<std::uint64_t>(between(1, 24, draw))};
  auto block = std::int64_t{1};
  while (2 * block <= static_cast<std::int64_t>(o.ranks)) block *= 2;
  auto const longest = *std::max_element(lengths.begin(), lengths.end());
  o.capacity = std::max(between(1000, 9000, draw), (longest + block - 1) / block);
  o.cost_per_pass = draw() % 3 == 0 ? 0 : between(0, 700000000, draw);
  o.execution = policies[draw() % 3];
  return o;
}

TEST_CASE("sample costs: costs that are a function of the length give the plan and the bound of that function") {
  ballast::splitmix64 draw(11);
  auto const cost = flexsp_cost();
  auto const by_sample = [&](std::size_t, std::int64_t length, std::int64_t ranks) { return cost(length, ranks); };
  for (int round = 0; round < 60; round += ballast_test::round_step) {
    auto const lengths = long_tail(static_cast<std::size_t>(between(1, 150, draw)), draw);
    auto const o = drawn_options(lengths, draw);
    auto const same = [&](auto const& a, auto const& b) {
      return a.pieces == b.pieces && a.pass_offsets == b.pass_offsets && a.rank_offsets == b.rank_offsets &&
             a.rank_groups == b.rank_groups && a.time == b.time && a.status == b.status;
    };
    numbers const linear(lengths.size(), cost.linear), square(lengths.size(), cost.square);
    auto const plain = plan_shards(lengths, o, cost);
    CHECK(same(plain, plan_shards(lengths, o, by_sample)));
    CHECK(same(plain, plan_shards(lengths, o, sample_degree_cost{cost, linear, square})));
    CHECK(same(plain, plan_shards(lengths, o, sample_degree_cost{cost})));
    CHECK(same(any_degree_shards(lengths, o, cost), any_degree_shards(lengths, o, by_sample)));
    CHECK(same(homogeneous_shards(lengths, o, cost), homogeneous_shards(lengths, o, by_sample)));
    CHECK(shard_bounds(lengths, o, cost) == shard_bounds(lengths, o, by_sample));
    CHECK(least_time(lengths, o, cost) == least_time(lengths, o, by_sample));
    CHECK(price_bound(lengths, o, cost) == price_bound(lengths, o, by_sample));
    if (round % 10 == 0) CHECK(same(plan_shards(lengths, o, cost, {.deep = true}), plan_shards(lengths, o, by_sample, {.deep = true})));
  }
}

TEST_CASE("sample costs: four ranks and up to seven samples are planned optimally, and no bound exceeds the optimum") {
  ballast::splitmix64 draw(12);
  for (int round = 0; round < 240; round += ballast_test::round_step) {
    auto batch = ballast_test::random_tiny_batch(draw);
    if (round % 3 == 0)  // few lengths, so that most samples have one of another cost beside them
      for (auto& l : batch.lengths) l = draw() % 2 == 0 ? batch.options.capacity / 2 : batch.options.capacity;
    drawn_work const work(batch.lengths.size(), batch.cost, draw);
    auto const cost = work.cost();
    auto const best = ballast_test::exhaustive_shards(batch.lengths, batch.options, cost);
    auto o = batch.options;
    auto const plan = plan_shards(batch.lengths, o, cost);
    CHECK(check_shards(plan, batch.lengths, o, {.aligned = true}).valid());
    CHECK(plan.time.value == best.independent);
    CHECK(plan.time.value == time_shards(plan, cost, o.cost_per_pass).makespan);
    CHECK(plan.time.lower_bound <= best.independent);
    CHECK(plan_shards(batch.lengths, o, cost, {.deep = true}).time.lower_bound <= best.independent);
    CHECK(ballast::price_bound(batch.lengths, o, cost).lower_bound() <= best.independent);
    o.execution = execution::lockstep;
    auto const lock = plan_shards(batch.lengths, o, cost);
    CHECK(lock.time.value >= best.lockstep);
    CHECK(lock.time.lower_bound <= best.lockstep);
    o.execution = execution::independent;
    o.sizes = group_sizes::any;
    auto const any = plan_shards(batch.lengths, o, cost);
    CHECK(any.time.value <= best.independent);
    CHECK(any.time.lower_bound <= any.time.value);
    CHECK(any_degree_bound(batch.lengths, o, cost) <= any.time.value);
    CHECK(least_time(batch.lengths, o, cost) <= any.time.value);
  }
}

TEST_CASE("sample costs: every plan is valid, takes the time it says and is not below its bound") {
  ballast::splitmix64 draw(13);
  int slower = 0, rounds = 0;
  for (int round = 0; round < 120; round += ballast_test::round_step, ++rounds) {
    auto const lengths = long_tail(static_cast<std::size_t>(between(1, 200, draw)), draw);
    auto const o = drawn_options(lengths, draw);
    drawn_work const work(lengths.size(), flexsp_cost(), draw);
    auto const cost = work.cost();
    auto const plan = plan_shards(lengths, o, cost);
    auto const v = check_shards(plan, lengths, o);
    CAPTURE(describe(v), o.ranks, o.capacity, lengths.size(), to_string(o.execution));
    REQUIRE(v.valid());
    CHECK(plan.left_out.empty());
    CHECK(plan.time.value == time_shards(plan, cost, o.cost_per_pass).makespan);
    CHECK(plan.time.lower_bound <= plan.time.value);
    if (o.execution != execution::lockstep) CHECK(plan.time.lower_bound >= shard_bounds(lengths, o, cost).lower());
    CHECK(plan.time.value <= homogeneous_shards(lengths, o, cost).time.value);
    auto const by_length = plan_shards(lengths, o, work.common);  // the same tokens, timed by the true costs
    slower += time_shards(by_length, cost, o.cost_per_pass).makespan < plan.time.value;
    if (auto const prices = price_bound(lengths, o, cost); prices.lower_bound() > 0) {
      CHECK(check_prices(prices, lengths, o, cost));
      CHECK(prices.lower_bound() <= plan.time.value);
    }
  }
  CAPTURE(slower, rounds);
  CHECK(slower == 0);
}

TEST_CASE("sample costs: a batch of 512 samples is near its bound where a plan by length is far from it") {
  ballast::splitmix64 draw(14);
  auto const lengths = long_tail(512, draw);
  drawn_work const work(lengths.size(), {.linear = 55490000, .square = 3010, .exchange = {0, 734000, 734000, 734000, 2936000}}, draw);
  sharding_options const o{.capacity = 13312, .ranks = 64, .cost_per_pass = 30000000};
  auto const plan = plan_shards(lengths, o, work.cost());
  CHECK(plan.time.gap() < 0.03);
  auto const by_length = time_shards(plan_shards(lengths, o, work.common), work.cost(), o.cost_per_pass).makespan;
  CHECK(by_length > plan.time.value + plan.time.value / 5);
}

TEST_CASE("sample costs: prices are paid sample by sample") {
  numbers const lengths{100, 100};
  auto const cost = [](std::size_t sample, std::int64_t, std::int64_t) { return sample == 0 ? 10 : 30; };
  sharding_options const o{.capacity = 100, .ranks = 1};
  auto const budget = ballast::price_certificate::budget;
  CHECK(check_prices({39, {0}, {budget / 39}}, lengths, o, cost));  // 40 of time at this price are more than one rank can pay
  CHECK_FALSE(check_prices({40, {0}, {budget / 40}}, lengths, o, cost));
}

TEST_CASE("sample costs: phases ask for the costs of their own samples") {
  ballast::splitmix64 draw(15);
  std::array<numbers, 2> lengths{long_tail(40, draw), long_tail(40, draw)};
  for (std::size_t i = 0; i < 40; ++i)
    if (draw() % 2 == 0) lengths[0][i] = 0;
  std::array const work{drawn_work(40, flexsp_cost(), draw), drawn_work(40, flexsp_cost(), draw)};
  std::array const costs{work[0].cost(), work[1].cost()};
  sharding_options const one{.capacity = 16000, .ranks = 8, .cost_per_pass = 1000000};
  auto const plan = ballast::phase_shards(lengths, std::array{one, one}, costs);
  REQUIRE(plan.phases.size() == 2);
  for (std::size_t p = 0; p < 2; ++p) {
    CHECK(check_shards(plan.phases[p], lengths[p], one).valid());
    CHECK(plan.phases[p].time.value == time_shards(plan.phases[p], costs[p], one.cost_per_pass).makespan);
  }
  numbers present, linear, square;
  for (std::size_t i = 0; i < 40; ++i)
    if (lengths[0][i] > 0) {
      present.push_back(lengths[0][i]);
      linear.push_back(work[0].linear[i]);
      square.push_back(work[0].square[i]);
    }
  CHECK(plan.phases[0].time.lower_bound == plan_shards(present, one, sample_degree_cost{work[0].common, linear, square}).time.lower_bound);
}

TEST_CASE("sample costs: a sample without an entry, or with a cost that is too large, is named") {
  numbers const lengths{300, 200, 100}, two{5, 5}, large{5, std::int64_t{1} << 62, 5};
  sharding_options const o{.capacity = 512, .ranks = 2};
  auto const said = [&](sample_degree_cost const& cost) { return ballast_test::refusal([&] { return plan_shards(lengths, o, cost); }); };
  CHECK(said({{}, two, {}}) == "sample 2 has no entry among 2 of its cost");
  CHECK(said({{}, {}, two}) == "sample 2 has no entry among 2 of its cost");
  CHECK(said({{}, large, {}}) == "lengths[1] = 200 on 1 rank has a time that is negative or too large for 63 bits");
  CHECK(said({{.linear = 1000}, {}, {}}) == "accepted");
}

}  // namespace test_sharding_sample_costs
