// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/methods/skrull_group_size.hpp>
#include <ballast/sharding/check.hpp>
#include <ballast/sharding/time_shards.hpp>

#include "support/catch.hpp"
#include "support/exhaustive_shards.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_methods_skrull_group_size {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;
using numbers = std::vector<std::int64_t>;

namespace {

/// Mostly short samples, and a few up to `longest`.
numbers mixed(std::size_t count, std::int64_t longest, splitmix64& draw) {
  numbers out(count);
  for (auto& l : out) l = draw() % 8 == 0 ? between(64, longest, draw) : between(64, 4000, draw);
  return out;
}

skrull::run on_64() { return {.model = skrull::shape_named("qwen2.5-7b"), .groups = 8, .ranks = 8, .cost_per_micro_batch = 5'000'000}; }

}  // namespace

TEST_CASE("skrull::best_groups: no size of groups is faster", "[property]") {
  splitmix64 draw(11);
  std::vector<std::uint64_t> sizes;
  for (int round = 0; round < 30; ++round) {
    auto by = on_64();
    by.share_more = round % 2 == 1;
    auto const longest = by.model.capacity * (round % 3 == 0 ? 3 : round % 3 == 1 ? 20 : 60);
    auto const lengths = mixed(128, longest, draw);
    auto const best = skrull::best_groups(lengths, by);
    CAPTURE(round, best.ranks);
    REQUIRE(best.schedule.status == status::feasible);
    CHECK(best.ranks * static_cast<std::uint64_t>(by.model.capacity) >=
          static_cast<std::uint64_t>(*std::max_element(lengths.begin(), lengths.end())));
    CHECK(best.schedule.overlapped.lower_bound <= best.schedule.overlapped.value);
    CHECK(check_shards(best.schedule.shards, lengths, {.capacity = by.model.capacity, .ranks = 64}).valid());
    for (auto const size : {8U, 16U, 32U, 64U}) {
      by.groups = 64 / size;
      by.ranks = size;
      auto const one = skrull::schedule(lengths, by);
      if (one.status != status::feasible) continue;
      CHECK(best.schedule.overlapped.value <= one.overlapped.value);
      CHECK(best.schedule.overlapped.lower_bound <= one.overlapped.lower_bound);
      if (size == best.ranks) CHECK(best.schedule.shards.pieces == one.shards.pieces);
    }
    by.pieces = false;
    CHECK(skrull::best_groups(lengths, by).schedule.overlapped == best.schedule.overlapped);
    sizes.push_back(best.ranks);
  }
  std::sort(sizes.begin(), sizes.end());
  CHECK((sizes.front() == 8 && sizes.back() == 64));  // batches differ in their best size
}

TEST_CASE("skrull::best_groups: under a common cost the time is that of time_shards", "[property]") {
  splitmix64 draw(12);
  auto const cost = ballast_test::flexsp_cost();
  for (int round = 0; round < 15; ++round) {
    auto options = skrull::options_of(on_64());
    options.group.cost_per_pass = ballast_test::flexsp_cost_per_pass;
    options.group.capacity = 7645;
    options.group.pieces = false;
    auto const lengths = mixed(128, options.group.capacity * (round % 2 == 0 ? 7 : 60), draw);
    auto const best = skrull::best_groups(lengths, options, cost);
    REQUIRE(best.schedule.status == status::feasible);
    auto const& plan = best.schedule.shards;
    CHECK(check_shards(plan, lengths, {.capacity = options.group.capacity, .ranks = 64}).valid());
    CHECK(time_shards(plan, cost, options.group.cost_per_pass).makespan == plan.time.value);
    CHECK(plan.time.lower_bound <= plan.time.value);
    options.group.pieces = true;
    for (auto const size : {8U, 16U, 32U, 64U}) {
      options.groups = 64 / size;
      options.group.ranks = size;
      auto const one = global_schedule(lengths, options, cost);
      if (one.status == status::feasible) CHECK(plan.time.value <= one.shards.time.value);
    }
  }
}

TEST_CASE("skrull::best_groups: sizes divide the ranks, and all ranks together are a size") {
  auto by = on_64();
  by.groups = 1;
  by.ranks = 5;
  numbers const lengths{30000, 500, 500, 500};
  CHECK(skrull::best_groups(lengths, by).ranks == 5);
  by.ranks = 12;
  CHECK(skrull::best_groups(lengths, by).ranks == 12);
  by.groups = 3;
  by.ranks = 8;
  CHECK(skrull::best_groups(lengths, by).ranks % 8 == 0);
  auto const none = skrull::best_groups(numbers{}, by);
  CHECK((none.ranks == 8 && none.schedule.overlapped.value == 0));
}

TEST_CASE("skrull::best_groups: a sample that all ranks cannot hold has no plan, and bad input is refused") {
  auto by = on_64();
  numbers const too_long{by.model.capacity * 64 + 1};
  CHECK(skrull::best_groups(too_long, by).schedule.status == status::infeasible);
  CHECK(skrull::best_groups(too_long, by).ranks == 0);
  CHECK(skrull::best_groups(too_long, skrull::options_of(by), ballast_test::flexsp_cost()).schedule.shards.status == status::infeasible);
  by.groups = 0;
  CHECK(refusal([&] { return skrull::best_groups(too_long, by); }) == "0 groups of 8 ranks must be 1 ... 2^20 - 1 ranks");
  by.groups = 8;
  by.model.capacity = 0;
  CHECK(refusal([&] { return skrull::best_groups(too_long, by); }) == "capacity = 0 must be positive");
  CHECK(refusal([&] { return skrull::best_groups(numbers{5, 0}, on_64()); }) == "lengths[1] = 0 must be positive");
}

}  // namespace test_methods_skrull_group_size
