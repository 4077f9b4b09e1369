// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/bounds.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/polynomial.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace test_batching_bounds {

namespace {

using namespace ballast;
using namespace ballast_test;

/// The cheapest steps of a handful of samples with one micro-batch on each rank, by trying every subset for every rank of every step.
std::int64_t cheapest_steps(weighed_samples const& samples, batching_options const& o) {
  constexpr auto never = (std::numeric_limits<std::int64_t>::max)() / 2;
  auto const sets = std::size_t{1} << samples.size();
  std::vector<std::int64_t> load(sets, 0), best(sets, never);
  for (std::size_t set = 1; set < sets; ++set) {
    std::int64_t tokens = 0;
    load[set] = o.cost_per_micro_batch;
    for (std::size_t i = 0; i < samples.size(); ++i)
      if ((set >> i & 1U) != 0) {
        tokens += samples.tokens[i];
        load[set] += samples.cost[i];
      }
    if (tokens > o.capacity) load[set] = never;
  }
  auto step = load;  // the slowest of the ranks that share a set, one rank more each round
  for (std::uint64_t r = 1; r < o.ranks; ++r) {
    auto const fewer = step;
    for (std::size_t set = 1; set < sets; ++set)
      for (auto part = set; part != 0; part = (part - 1) & set)
        step[set] = (std::min)(step[set], (std::max)(load[part], fewer[set ^ part]));
  }
  best[0] = 0;
  for (std::size_t set = 1; set < sets; ++set)
    for (auto part = set; part != 0; part = (part - 1) & set)
      best[set] = (std::min)(best[set], step[part] + o.cost_per_step + best[set ^ part]);
  return best.back();
}

}  // namespace

TEST_CASE("steps_lower_bound: no plan is below it, and often one reaches it") {
  splitmix64 draw(3);
  int reached = 0, above_mean = 0;
  for (int trial = 0; trial < 300; ++trial) {
    auto const lengths = random_lengths(static_cast<std::size_t>(between(1, 9, draw)), 12, draw);
    batching_options const o{.capacity = 12 + between(0, 3, draw), .ranks = static_cast<std::uint64_t>(between(1, 3, draw))};
    quadratic_cost const cost{.linear = between(0, 8, draw), .quadratic = between(1, 3, draw)};
    CAPTURE(trial, lengths, o.capacity, o.ranks, cost.linear, cost.quadratic);
    auto samples = weigh(lengths, o, cost);
    if (trial % 3 == 0) {  // costs that do not follow from lengths
      for (auto& c : samples.cost) c = between(1, 60, draw);
      samples = weigh(lengths, samples.cost, o);
    }
    auto const bound = steps_lower_bound(samples, o), best = cheapest_steps(samples, o);
    REQUIRE(bound <= best);
    auto const least = (std::max)(divide_up(samples.all_cost, static_cast<std::int64_t>(o.ranks)), samples.most_expensive);
    REQUIRE(bound >= least);
    reached += bound == best ? 1 : 0;
    above_mean += bound > least ? 1 : 0;
  }
  CHECK(reached >= 150);
  CHECK(above_mean >= 10);
}

TEST_CASE("steps_lower_bound: fixed costs of steps and micro-batches are counted for as few as hold the samples") {
  splitmix64 draw(4);
  int reached = 0;
  for (int trial = 0; trial < 300; ++trial) {
    auto const lengths = random_lengths(static_cast<std::size_t>(between(1, 9, draw)), 12, draw);
    batching_options const o{.capacity = 12 + between(0, 3, draw),
                             .ranks = static_cast<std::uint64_t>(between(1, 3, draw)),
                             .cost_per_micro_batch = between(0, 200, draw),
                             .cost_per_step = between(0, 50, draw)};
    auto const samples = weigh(lengths, o, quadratic_cost{.linear = between(0, 8, draw), .quadratic = between(1, 3, draw)});
    CAPTURE(trial, lengths, o.capacity, o.ranks, o.cost_per_micro_batch, o.cost_per_step);
    auto const bound = steps_lower_bound(samples, o), best = cheapest_steps(samples, o);
    REQUIRE(bound <= best);
    reached += bound == best ? 1 : 0;
  }
  CHECK(reached > 30);
}

TEST_CASE("steps_lower_bound: samples that fill whole steps are counted step by step") {
  quadratic_cost const cost{.linear = 0, .quadratic = 1};
  batching_options const o{.capacity = 10, .ranks = 2, .micro_batches = 2};
  auto const bound_of = [&](std::vector<int> const& lengths, batching_options const& of) {
    return steps_lower_bound(weigh(lengths, of, cost), of);
  };
  // 40 tokens a step: the first step holds four tens, the second the fifth; what is left costs 36 and finds room beside it
  CHECK(bound_of(std::vector{10, 10, 10, 10, 10, 6}, o) == 268);  // the mean, 536 / 2
  CHECK(bound_of(std::vector{10, 10, 10, 10, 10}, {.capacity = 10, .ranks = 4}) == 200);
  CHECK(bound_of(std::vector{10}, {.capacity = 10, .ranks = 64}) == 100);
  // one sample of cost 100 and a thousand of cost 1 on 4 ranks: the step with the expensive one holds at most 30 of the others
  std::vector<int> one_expensive(1001, 1);
  one_expensive[500] = 10;
  CHECK(bound_of(one_expensive, {.capacity = 10, .ranks = 4}) == 100 + (1000 - 30 + 3) / 4);
  CHECK(bound_of(std::vector<int>{}, o) == 0);
  CHECK(refusal([&] { return steps_lower_bound({}, {.capacity = 0}); }) == "capacity = 0 must be positive");
}

}  // namespace test_batching_bounds
