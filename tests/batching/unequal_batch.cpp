// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/check_unequal_batch.hpp>
#include <ballast/batching/unequal_batch.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/polynomial.hpp>

#include "support/catch.hpp"

#include <algorithm>

namespace test_batching_unequal_batch {
namespace {

using numbers = std::vector<std::int64_t>;
constexpr ballast::quadratic_cost work{4096, 1};

TEST_CASE("plan_unequal_batch: every sample once, in a micro-batch of a rank that has room, at the time that is said", "[batching]") {
  ballast::splitmix64 random(9);
  for (int round = 0; round < 200; ++round) {
    auto const below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
    ballast::unequal_ranks ranks;
    auto const count = 1 + below(8), samples = below(300);
    for (std::int64_t r = 0; r < count; ++r) {
      ranks.unit_time.push_back(1 + below(6));
      ranks.capacity.push_back(1000 * (1 + below(8)));
    }
    numbers lengths;
    for (std::int64_t i = 0; i < samples; ++i) lengths.push_back(1 + below(random() % 8 == 0 ? 10'000 : 1'000));
    auto const plan = ballast::plan_unequal_batch(lengths, ranks, work);
    auto const verdict = ballast::check_unequal_batch(plan, lengths, ranks, work);
    INFO(ballast::describe(verdict));
    REQUIRE(verdict.valid());
  }
}

TEST_CASE("plan_unequal_batch: a mixed cluster waits for nobody", "[batching]") {
  ballast::splitmix64 random(1);
  numbers lengths(1024);
  for (auto& x : lengths) x = 1 + static_cast<std::int64_t>(random() % (random() % 32 == 0 ? 16'384 : 2'048));
  ballast::unequal_ranks mixed, same;
  for (int r = 0; r < 16; ++r) {
    mixed.unit_time.push_back(r < 8 ? 2 : 5);
    mixed.capacity.push_back(r < 8 ? 16'384 : 4'096);
  }
  same.unit_time = numbers(16, 5);  // all as slow as the slowest, but with the memory of the largest
  same.capacity = numbers(16, 16'384);
  auto const plan = ballast::plan_unequal_batch(lengths, mixed, work);
  CHECK(plan.time.value * 200 <= plan.time.lower_bound * 201);
  CHECK(plan.time.value * 17 < ballast::plan_unequal_batch(lengths, same, work).time.value * 10);  // 2 / (1 + 2 / 5) = 1.75 times as fast
}

TEST_CASE("plan_unequal_batch: misuse is named", "[batching]") {
  numbers const lengths{5};
  CHECK_THROWS_WITH(ballast::plan_unequal_batch(lengths, {.unit_time = {1, 2}, .capacity = {4}}, work), "capacity has 1 entry for 2 ranks");
  CHECK_THROWS_WITH(ballast::plan_unequal_batch(lengths, {.unit_time = {1}, .capacity = {0}}, work), "capacity[0] = 0 must be positive");
  CHECK_THROWS_WITH(ballast::plan_unequal_batch(numbers{0}, {.unit_time = {1}, .capacity = {4}}, work), "lengths[0] = 0 must be positive");
  CHECK_THROWS_AS(ballast::plan_unequal_batch(lengths, {}, work), ballast::invalid_input);
  CHECK(ballast::plan_unequal_batch(lengths, {.unit_time = {1}, .capacity = {4}}, work).too_long == std::vector<std::uint32_t>{0});
}

}  // namespace
}  // namespace test_batching_unequal_batch
