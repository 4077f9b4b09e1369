// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/degree_cost.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/time_shards.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <vector>

namespace test_sharding_time_shards {

using ballast::execution;
using times = std::vector<std::int64_t>;

// One nanosecond per token, divided by the ranks; a nanosecond per token for each rank that shares it.
ballast::degree_cost const cost{.linear = 1000, .exchange = {0, 1000}};

ballast::shards<> two_ranks() {
  ballast::pass_list<> list;
  std::uint32_t const both[] = {0, 1}, second[] = {1};
  list.ranks.push_back(both);
  list.ranks.push_back(second);
  list.placements = {{.sample = 0}, {.sample = 1, .rank = 1}, {.sample = 2, .pass = 1}};
  return make_shards(std::vector{8, 3, 5}, list, 2);
}

TEST_CASE("time_shards: passes that share a sample last as long as the longest of them") {
  auto const plan = two_ranks();
  auto const at = time_shards(plan, cost, 10);
  CHECK(at.start == times{0, 0, 25});
  CHECK(at.end == times{25, 25, 40});  // 10 + 4 + 8, and 3 more on rank 1; then 10 + 5
  CHECK(at.busy == times{22, 40});
  CHECK(at.makespan == 40);
}

TEST_CASE("time_shards: ranks in lockstep start each micro-batch together") {
  ballast::pass_list<> list;
  std::uint32_t const first[] = {0}, second[] = {1};
  for (auto i = 0; i < 2; ++i) {
    list.ranks.push_back(first);
    list.ranks.push_back(second);
  }
  list.placements = {{.sample = 0, .pass = 0}, {.sample = 1, .pass = 1}, {.sample = 2, .pass = 2}, {.sample = 3, .pass = 3}};
  auto plan = make_shards(std::vector{8, 3, 1, 6}, list, 2);
  CHECK(time_shards(plan, cost).makespan == 9);
  plan.execution = execution::lockstep;
  CHECK(time_shards(plan, cost).makespan == 14);
}

TEST_CASE("time_shards: tokens behind others of their sample pay for the keys before them") {
  ballast::degree_cost const square{.square = 1000};
  ballast::shards<> plan;
  plan.rank_offsets = {0, 2};
  plan.pass_offsets = {0, 1, 2};
  plan.pieces = {{0, 0, 4}, {0, 4, 6}};
  CHECK(time_shards(plan, square).end == times{16, 36});
}

TEST_CASE("time_shards: refuses ranks that wait for each other in a circle") {
  ballast::shards<> plan;
  plan.rank_offsets = {0, 2, 4};
  plan.pass_offsets = {0, 1, 2, 3, 4};
  std::uint32_t const both[] = {0, 1};
  plan.rank_groups.push_back(both);
  plan.rank_groups.push_back(both);
  plan.pieces = {{0, 0, 1, 0}, {1, 0, 1, 1}, {1, 1, 2, 1}, {0, 1, 2, 0}};
  CHECK(ballast_test::refusal([&] { return time_shards(plan, cost).makespan; }) ==
        "the ranks wait for each other in a circle: 4 of 4 passes never start");
}

}  // namespace test_sharding_time_shards
