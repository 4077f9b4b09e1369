// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/cost/divided_cost.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/methods/global_schedule.hpp>
#include <ballast/sharding/check.hpp>
#include <ballast/sharding/time_shards.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace test_methods_global_schedule {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;
using numbers = std::vector<std::int64_t>;

TEST_CASE("global_schedule: every token once, no rank above its capacity, and a bound below the value", "[property]") {
  splitmix64 draw(3);
  for (int round = 0; round < 2000; round += ballast_test::round_step) {
    auto const ranks = between(1, 4, draw), groups = between(1, 3, draw), capacity = between(16, 80, draw);
    auto lengths = ballast_test::random_lengths(static_cast<std::size_t>(between(0, 40, draw)), ranks * capacity, draw);
    for (auto& l : lengths) l = (std::max)(l, ranks);
    degree_cost const cost{.linear = between(1, 3000, draw), .square = between(0, 100, draw), .exchange = {0, between(0, 2000, draw)}};
    auto const slope = between(0, 20, draw);
    auto const exchange = [slope](std::int64_t tokens) { return 100 + slope * tokens; };
    global_schedule_options const options{
        .groups = static_cast<std::uint64_t>(groups),
        .group = {.capacity = capacity,
                  .ranks = static_cast<std::uint64_t>(ranks),
                  .cost_per_pass = between(0, 50, draw),
                  .order = draw() % 4 == 0 ? placing_order::as_given : placing_order::shortest_first,
                  .share_more = draw() % 2 == 0},
        .balance = draw() % 2 == 0 ? group_balance::karmarkar_karp : group_balance::longest_processing_time};
    auto const plan = global_schedule(lengths, options, cost, exchange);
    CAPTURE(round, ranks, groups, capacity, lengths);
    REQUIRE(plan.status == status::feasible);
    CHECK(plan.overlapped.lower_bound <= plan.overlapped.value);
    CHECK(plan.shards.time.lower_bound <= plan.shards.time.value);
    CHECK(plan.shards.time.value == time_shards(plan.shards, cost, options.group.cost_per_pass).makespan);
    CHECK(plan.shards.ranks() == static_cast<std::size_t>(ranks * groups));
    numbers seen(lengths.size(), 0);
    for (std::size_t r = 0; r < plan.shards.ranks(); ++r)
      for (std::size_t p = 0; p < plan.shards.passes(r); ++p) {
        std::int64_t tokens = 0;
        for (auto const& held : plan.shards(r, p)) {
          tokens += held.end - held.begin;
          seen[held.sample] += held.end - held.begin;
        }
        CHECK((tokens > 0 && tokens <= capacity));
      }
    CHECK(seen == lengths);
    CHECK(check_shards(plan.shards, lengths, {.capacity = capacity, .ranks = static_cast<std::uint64_t>(ranks * groups)}).valid());
    for (std::size_t g = 0; g < options.groups; ++g) {
      std::int64_t tokens = 0;
      for (auto const i : plan.samples[g]) tokens += lengths[i];
      CHECK(static_cast<std::int64_t>(plan.micro_batches[g]) >= (tokens + capacity * ranks - 1) / (capacity * ranks));
    }
  }
}

TEST_CASE("global_schedule: micro-batches pair short samples with long ones, and each group has its own number") {
  divided_cost const cost{token_cost{}};
  auto const plan = global_schedule(numbers{10, 20, 30, 40}, {.groups = 1, .group = {.capacity = 30, .ranks = 2}}, cost);
  CHECK(plan.micro_batches == std::vector<std::uint64_t>{2});  // {10, 30} and {20, 40}
  CHECK(plan.times == numbers{60});                            // 30 whole; 60 tokens fill both ranks, so the second has all shared
  CHECK(plan.overlapped == certificate{60, 50});
}

TEST_CASE("global_schedule: a micro-batch more where the slices do not fit") {
  divided_cost const cost{token_cost{}};
  // 58 tokens fit into 60, but the slices of two micro-batches have 26 and 32.
  auto const plan = global_schedule(numbers{9, 12, 17, 20}, {.groups = 1, .group = {.capacity = 15, .ranks = 2}}, cost);
  CHECK(plan.micro_batches == std::vector<std::uint64_t>{3});
}

TEST_CASE("global_schedule: a sample above the room of a group has no plan") {
  divided_cost const cost{token_cost{}};
  CHECK(global_schedule(numbers{31}, {.groups = 4, .group = {.capacity = 15, .ranks = 2}}, cost).status == status::infeasible);
  CHECK(global_schedule(numbers{30}, {.groups = 4, .group = {.capacity = 15, .ranks = 2}}, cost).status == status::feasible);
  global_schedule_options options{.groups = 1, .group = {.capacity = 15, .ranks = 2}};
  auto const none = global_schedule(numbers{}, options, cost);
  CHECK((none.status == status::feasible && none.overlapped == certificate{0, 0} && none.shards.passes() == 0));
}

TEST_CASE("global_schedule: refuses bad input") {
  divided_cost const cost{token_cost{}};
  global_schedule_options const options{.groups = 2, .group = {.capacity = 15, .ranks = 2}};
  numbers const lengths{4, 5, 6};
  CHECK(refusal([&] { return global_schedule(lengths, {.group = {.capacity = 15, .ranks = 2}}, cost); }) ==
        "groups = 0 must be in 1 ... 2^20 - 1");
  CHECK(refusal([&] { return global_schedule(numbers{0}, options, cost); }) == "lengths[0] = 0 must be positive");
  CHECK(refusal([&] { return global_schedule(lengths, {.groups = 1, .group = {.ranks = 2}}, cost); }) == "capacity = 0 must be positive");
}

}  // namespace test_methods_global_schedule
