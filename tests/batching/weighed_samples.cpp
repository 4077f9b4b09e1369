// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/check.hpp>
#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/micro_batches.hpp>
#include <ballast/batching/plan_steps.hpp>
#include <ballast/batching/stream_steps.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>

#include "support/catch.hpp"
#include "support/cost_by_sample.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace test_batching_weighed_samples {

using namespace ballast_test;
using ballast::hash;
using ballast::weigh;
using options = ballast::batching_options;
using lengths = std::vector<std::int64_t>;

TEST_CASE("weigh: each sample once, and the sums are those of the lists", "[batching]") {
  lengths const l{3, 1, 7, 3};
  std::vector<std::int64_t> asked;
  auto const samples = weigh(l, options{.capacity = 8}, [&](std::int64_t t) {
    asked.push_back(t);
    return 10 + t;
  });
  CHECK(asked == l);
  CHECK(samples == ballast::weighed_samples{l, {13, 11, 17, 13}, 14, 54, 68, 7, 17});
  CHECK(samples == weigh(l, std::vector<int>{13, 11, 17, 13}, options{.capacity = 8}));
  CHECK(weigh(std::span<std::uint16_t const>(), options{.capacity = 1}, ballast::token_cost{}) == ballast::weighed_samples{});
}

TEST_CASE("weigh: planners return of weighed samples what they return of lengths and a cost", "[batching]") {
  ballast::splitmix64 draw(5);
  auto const l = random_lengths(700, 3000, draw);
  auto const cost = ballast::dense_4096_cost;
  options const o{.capacity = 8192, .ranks = 4, .micro_batches = 2, .seed = 3};
  auto const samples = weigh(l, o, cost);
  CHECK(hash(ballast::plan_steps(l, o, cost)) == hash(ballast::plan_steps(samples, o)));
  CHECK(hash(ballast::stream_steps(l, o, cost)) == hash(ballast::stream_steps(samples, o)));
  CHECK(ballast::micro_batches(l, o, cost).packs == ballast::micro_batches(samples, o).packs);
  auto const packs = ballast::best_fit_decreasing(l, {.capacity = o.capacity}).packs;
  for (auto const how : {ballast::dealing::in_order, ballast::dealing::random, ballast::dealing::sorted, ballast::dealing::rows})
    CHECK(hash(ballast::deal_steps(packs, l, o, cost, {.how = how})) == hash(ballast::deal_steps(packs, samples, o, {.how = how})));
  CHECK(hash(ballast::plan_steps<std::uint64_t>(samples, o)) == hash(ballast::plan_steps(samples, o)));
}

TEST_CASE("weigh: costs that are no function of lengths are balanced, and checked sample by sample", "[batching]") {
  ballast::splitmix64 draw(6);
  for (int round = 0; round < 24; ++round) {
    auto const l = random_lengths(static_cast<std::size_t>(between(1, 900, draw)), 3000, draw);
    lengths costs(l.size());
    for (std::size_t i = 0; i < l.size(); ++i) costs[i] = l[i] * between(1, 40, draw);
    constexpr std::array waits{ballast::synchronisation::per_step, ballast::synchronisation::per_micro_batch,
                               ballast::synchronisation::pipeline};
    options const o{.capacity = 4096,
                    .ranks = static_cast<std::uint64_t>(between(1, 8, draw)),
                    .micro_batches = static_cast<std::uint64_t>(between(1, 4, draw)),
                    .synchronisation = waits[draw() % 3],
                    .stages = 3};
    auto const samples = weigh(l, costs, o);
    auto plan = ballast::plan_steps(samples, o);
    cost_by_sample cost{costs};
    INFO(round << ": " << describe(check_batching(plan, l, o, cost)));
    CHECK(check_batching(plan, l, o, cost).valid());
    CHECK(plan.slowest.lower_bound <= plan.slowest.value);
    CHECK(plan.slowest.lower_bound >= ballast::divide_up(samples.all_cost, static_cast<std::int64_t>(o.ranks)) - samples.all_cost / 1000);
    if (o.synchronisation == ballast::synchronisation::per_step && plan.steps() > 1) {
      std::reverse(cost.of.begin(), cost.of.end());  // the figures are those of these costs alone
      CHECK_FALSE(check_batching(plan, l, o, cost).valid());
    }
  }
}

TEST_CASE("weigh: planners balance the costs that they are given, not the lengths", "[batching]") {
  ballast::splitmix64 draw(7);
  auto const l = random_lengths(4000, 2000, draw);
  lengths costs(l.size());
  for (std::size_t i = 0; i < l.size(); ++i) costs[i] = l[i] * between(1, 40, draw);
  options const o{.capacity = 8192, .ranks = 8, .micro_batches = 2};
  auto const samples = weigh(l, costs, o);
  auto by_length = ballast::plan_steps(l, o, ballast::token_cost{});
  std::int64_t blind = 0;
  for (std::size_t s = 0; s < by_length.steps(); ++s) {
    std::int64_t slowest = 0;
    for (std::size_t r = 0; r < o.ranks; ++r) {
      std::int64_t mine = 0;
      for (auto const pack : by_length.packs_of(s, r))
        for (auto const i : pack) mine += costs[i];
      slowest = (std::max)(slowest, mine);
    }
    blind += slowest;
  }
  auto const plan = ballast::plan_steps(samples, o);
  CHECK(plan.slowest.gap() < 0.01);
  CHECK(blind > plan.slowest.value + plan.slowest.value / 20);
}

TEST_CASE("weigh: refusals name the argument, the index and the value", "[batching]") {
  auto const said = [](lengths const& l, std::vector<std::int64_t> const& costs, options const& o) {
    return refusal([&] { return weigh(l, costs, o); });
  };
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  CHECK(said({3, 9}, {1, 1}, {.capacity = 8}) == "lengths[1] = 9 exceeds capacity 8");
  CHECK(said({3, 0}, {1, 1}, {.capacity = 8}) == "lengths[1] = 0 must be positive");
  CHECK(
      refusal([] { return weigh(lengths{9, 17}, std::vector<int>{1, 1}, options{.capacity = 8, .ranks = 3}, 0); }) ==
      "lengths[1] = 17 exceeds capacity 8 times the 2 ranks that can share it with most_ranks_shared = 0 and ranks = 3: raise one of them "
      "or cut the sample");
  CHECK(refusal([] { return weigh(lengths{9, 16}, std::vector<int>{1, 1}, options{.capacity = 8, .ranks = 3}, 0); }) == "accepted");
  CHECK(said({3, 4}, {1}, {.capacity = 8}) == "costs has 1 entry for 2 lengths");
  CHECK(said({3, 4}, {1, 0}, {.capacity = 8}).find("lengths[1] = 4 has cost 0, which is not positive") == 0);
  CHECK(said({3, 4}, {most / 4, 1}, {.capacity = 8}).find("lengths[1] = 4 has cost 1, which is not positive or brings the sum") == 0);
  CHECK(said({3}, {1}, {.capacity = 0}) == "capacity = 0 must be positive");
  CHECK(refusal([] {
          return weigh(lengths{std::int64_t{1} << 32}, options{.capacity = std::int64_t{1} << 40}, ballast::token_cost{});
        }).find("the longest length, 4294967296, exceeds 2^31") == 0);

  // Weighed for other options than the planner is given.
  auto const samples = weigh(lengths{3, 9}, std::vector<std::int64_t>{most / 8, most / 8}, {.capacity = 9});
  CHECK(refusal([&] { return ballast::plan_steps(samples, {.capacity = 8}); }) == "lengths[1] = 9 exceeds capacity 8");
  CHECK(refusal([&] { return ballast::plan_steps(samples, {.capacity = 9, .stages = 2}); }).find("the sum of costs, ") == 0);
}

TEST_CASE("weigh: costs in picoseconds fit to the last unit, or are refused with the way out", "[batching]") {
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  // a model of 8 billion parameters on an H100, 32 layers: picoseconds of a token and a squared token, and of a micro-batch
  ballast::quadratic_cost const model{.linear = 32 * 2'136'000, .quadratic = 32 * 56};
  constexpr auto constant = std::int64_t{32} * 391'000'000;
  options const o{.capacity = 131'072, .ranks = 64, .micro_batches = 8, .cost_per_micro_batch = constant};
  lengths const epoch(100'000, 100'000);
  CHECK(
      refusal([&] { return weigh(epoch, o, model); }) ==
      "lengths[93095] = 100000 has cost 24755200000000, which is not positive or brings the sum of costs too near to 2^63; count costs in "
      "a larger unit");
  auto coarse = o;
  coarse.cost_per_micro_batch = constant / 128;
  ballast::quadratic_cost const in_128{.linear = model.linear / 128, .quadratic = model.quadratic / 128};
  CHECK(refusal([&] { return weigh(epoch, coarse, in_128); }) == "accepted");
  // ten million such samples: the sum of their costs is within what every planner can add up
  CHECK(ballast::detail::most_cost(10'000'000, coarse) >= 10'000'000 * in_128(100'000));
  CHECK(ballast::detail::most_cost(10'000'000, o) < most);

  auto const at_edge = [&](std::int64_t last, std::int64_t each) {
    options const by{.capacity = 8, .cost_per_micro_batch = each};
    return refusal([&] { return weigh(lengths{4, 4}, std::vector<std::int64_t>{1, last}, by); });
  };
  for (std::int64_t const each : {std::int64_t{0}, std::int64_t{1} << 40, most / 16}) {  // two micro-batches at most
    CHECK(at_edge(most / 4 - 2 * each - 1, each) == "accepted");
    CHECK(at_edge(most / 4 - 2 * each, each) ==
          ballast::sentence("lengths[1] = 4 has cost ", most / 4 - 2 * each,
                            ", which is not positive or brings the sum of costs too near to 2^63; count costs in a larger unit"));
  }
  CHECK(at_edge(1, most) ==
        "cost_per_micro_batch = 9223372036854775807 and cost_per_step = 0 bring the cost of 2 samples too near to 2^63; "
        "count costs in a larger unit");
}

}  // namespace test_batching_weighed_samples
