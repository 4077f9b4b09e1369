// SPDX-License-Identifier: Apache-2.0
#include <ballast/partition/min_max.hpp>

#include "suite.hpp"

namespace test_partition_stage_cost {

using namespace ballast_test;
using ballast::min_max_partition;
using ballast::unaffordable;

namespace {
/// A stage that computes anew as little as its memory asks for: what a knapsack would answer, in one line. Early stages hold more.
std::int64_t with_memory(std::uint64_t begin, std::uint64_t end, std::uint64_t stage, std::int64_t room) {
  auto const layers = static_cast<std::int64_t>(end - begin), held = (4 - static_cast<std::int64_t>(stage)) * layers;
  if (layers > room) return unaffordable;
  return 3 * layers + (held > room ? held - room : 0);
}
}  // namespace

TEST_CASE("min_max_partition of a stage cost: memory in the cost, against every cut") {
  int infeasible = 0;
  for (std::uint64_t layers = 4; layers <= 14; ++layers)
    for (std::int64_t room = 1; room <= 12; ++room) {
      CAPTURE(layers, room);
      auto const cost = [&](std::uint64_t b, std::uint64_t e, std::uint64_t s) { return with_memory(b, e, s, room); };
      auto const plan = min_max_partition(layers, {.stages = 4}, cost);
      require_valid(check_partition(plan, layers, {.stages = 4}, cost));
      infeasible += plan.status == status::infeasible ? 1 : 0;
    }
  CHECK(infeasible > 10);
}

TEST_CASE("min_max_partition of a stage cost: few questions are asked") {
  std::uint64_t asked = 0;
  numbers prefix(1);
  ballast::splitmix64 draw(5);
  for (auto const x : draw_numbers(1000, 1, 1'000'000, draw)) prefix.push_back(prefix.back() + x);
  auto const cost = [&](std::uint64_t b, std::uint64_t e, std::uint64_t) {
    ++asked;
    return prefix[e] - prefix[b];
  };
  auto const plan = min_max_partition(1000, {.stages = 8}, cost);
  CHECK(plan.bottleneck.optimal());
  CHECK(asked < 8 * 20 * 20);  // a dynamic programme asks 8 * 1000 * 1000 / 2
}

TEST_CASE("min_max_partition of a lower bound on a cost: no plan is faster, and a refusal only where there is none") {
  int weak = 0, infeasible = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const n = static_cast<std::size_t>(between(0, 9, draw)), p = static_cast<std::size_t>(between(1, 4, draw));
    partition_options const options{.stages = p, .min_layers = static_cast<std::uint64_t>(between(0, 2, draw))};
    auto const at = [&](std::uint64_t b, std::uint64_t e, std::uint64_t s) {
      return static_cast<std::size_t>((s * (n + 1) + b) * (n + 1) + e);
    };
    numbers cost(p * (n + 1) * (n + 1)), bound;
    for (std::size_t s = 0; s < p; ++s)
      for (std::size_t length = 1; length <= n; ++length)
        for (std::size_t b = 0; b + length <= n; ++b) {
          auto const least = (std::max)(cost[at(b + 1, b + length, s)], cost[at(b, b + length - 1, s)]);
          cost[at(b, b + length, s)] = least == unaffordable || between(0, 40, draw) == 0 ? unaffordable : least + between(0, 6, draw);
        }
    for (auto const c : cost) bound.push_back(between(0, 2, draw) == 0 ? c : between(0, (std::min)(c, std::int64_t{50}), draw));
    auto const of = [&](numbers const& costs) {
      return [&costs, &at](std::uint64_t b, std::uint64_t e, std::uint64_t s) { return costs[at(b, e, s)]; };
    };
    auto const best = min_max_partition(n, options, of(cost)), plan = min_max_partition(n, options, of(bound));
    if (best.status == status::feasible) REQUIRE(plan.status == status::feasible);
    infeasible += plan.status == status::infeasible ? 1 : 0;
    if (plan.status == status::infeasible) continue;
    std::int64_t slowest = 0;
    for (std::size_t s = 0; s < p; ++s) {
      REQUIRE(plan.boundaries[s] + options.min_layers <= plan.boundaries[s + 1]);
      if (plan.boundaries[s] < plan.boundaries[s + 1])
        slowest = (std::max)(slowest, bound[at(plan.boundaries[s], plan.boundaries[s + 1], s)]);
    }
    REQUIRE(plan.bottleneck == ballast::certificate{slowest, slowest});
    if (best.status == status::feasible) REQUIRE(slowest <= best.bottleneck.value);
    weak += best.status == status::feasible && slowest < best.bottleneck.value ? 1 : 0;
  }
  CHECK((weak > 1000 && infeasible > 1000));
}

TEST_CASE("min_max_partition of a stage cost: too few layers, none, and stages that are not possible") {
  auto const count = [](std::uint64_t b, std::uint64_t e, std::uint64_t) { return e - b; };
  CHECK(min_max_partition(7, {.stages = 3}, [](std::uint64_t, std::uint64_t, std::uint64_t) { return unaffordable; }).status ==
        status::infeasible);
  CHECK(min_max_partition(2, {.stages = 3}, count).bottleneck == ballast::certificate{2, 3});
  CHECK(min_max_partition(0, {.stages = 3, .min_layers = 0}, count).boundaries == cut{0, 0, 0, 0});
}

TEST_CASE("min_max_partition of a stage cost: refusals") {
  auto const count = [](std::uint64_t b, std::uint64_t e, std::uint64_t) { return e - b; };
  auto const falls = [](std::uint64_t, std::uint64_t, std::uint64_t) { return -2; };
  numbers const two{1, 1};
  CHECK(refusal([&] { return min_max_partition(3, {}, count); }) == "stages = 0 must be in 1 ... 2^31");
  CHECK(refusal([&] { return min_max_partition(3, {.stages = 2, .unit_time = two}, count); }) ==
        "a partition by stage cost takes only the options stages and min_layers");
  CHECK(refusal([&] { return min_max_partition(3, {.stages = 1}, falls); }) == "cost(0, 1, 0) = -2 is outside [0, 2^63)");
  CHECK(refusal([&] { return min_max_partition(std::uint64_t{1} << 32, {.stages = 1}, count); }) ==
        "4294967296 layers need a 64-bit index: call with <std::uint64_t>");
}

}  // namespace test_partition_stage_cost
