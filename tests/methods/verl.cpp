// SPDX-License-Identifier: Apache-2.0
#include <ballast/methods/verl.hpp>
#include <ballast/sharding/check.hpp>

#include "support/catch.hpp"
#include "support/exhaustive_shards.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/sound_shards.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace test_methods_verl {

using ballast::execution;
using ballast::shard_fault;
using ballast::status;
using ballast_test::between;

ballast::sharding_options on(std::uint64_t ranks, std::int64_t capacity) {
  return {.capacity = capacity, .ranks = ranks, .cost_per_pass = 1000000, .execution = execution::lockstep};
}

TEST_CASE("verl::schedule: every plan is valid, and its groups are all of one size", "[methods][verl]") {
  ballast::splitmix64 draw(11);
  auto const cost = ballast_test::flexsp_cost();
  for (int round = 0; round < 200; ++round) {
    auto const n = static_cast<std::size_t>(between(0, 60, draw));
    auto const o = on(std::uint64_t{1} << between(0, 4, draw), between(2000, 8000, draw));
    auto const lengths = ballast_test::random_lengths(n, o.capacity * static_cast<std::int64_t>(o.ranks) / 2, draw);
    auto const plan = ballast::verl::schedule(lengths, o, cost);
    if (plan.status == status::unknown) continue;
    REQUIRE(ballast_test::sound_shards(plan, lengths, o, cost));
    CHECK(plan.time.lower_bound <= plan.time.value);
    for (std::size_t g = 1; g < plan.rank_groups.size(); ++g) CHECK(plan.rank_groups[g].size() == plan.rank_groups[0].size());
    CHECK(ballast::hash(plan) == ballast::hash(ballast::verl::schedule(lengths, o, cost)));
    for (std::uint64_t d = 1; d <= o.ranks; d *= 2) {
      auto const fixed = ballast::verl::schedule(lengths, o, cost, {.context_ranks = d});
      if (fixed.status == status::feasible) CHECK(plan.time.value <= fixed.time.value);
    }
  }
}

TEST_CASE("verl::schedule: the published number of micro-batches breaks the capacity, the corrected one does not", "[methods][verl]") {
  // Three samples of 60 tokens on one rank of 100 tokens: 180 tokens are two micro-batches by the published rule, and one has two samples.
  std::vector<std::int64_t> const lengths{60, 60, 60};
  auto const cost = ballast_test::flexsp_cost();
  auto const published = ballast::verl::schedule(lengths, on(1, 100), cost, {.as_published = true});
  CHECK(published.passes() == 2);
  CHECK(check_shards(published, lengths, on(1, 100)).fault == shard_fault::overfull_pass);
  auto const corrected = ballast::verl::schedule(lengths, on(1, 100), cost);
  CHECK(corrected.passes() == 3);
  CHECK(check_shards(corrected, lengths, on(1, 100)).valid());
}

TEST_CASE("verl::schedule: equal counts, a sample that is too long, and bad input", "[methods][verl]") {
  auto const cost = ballast_test::flexsp_cost();
  std::vector<std::int64_t> lengths(16, 100);
  lengths[3] = 4000;
  auto const even = ballast::verl::schedule(lengths, on(4, 5000), cost, {.context_ranks = 1, .equal_counts = true});
  for (std::size_t r = 0; r < 4; ++r) CHECK(even(r, 0).size() == 4);
  CHECK(ballast::verl::schedule(lengths, on(4, 999), cost).status == status::infeasible);
  CHECK(ballast::verl::schedule(std::vector<int>{}, on(4, 999), cost).ranks() == 4);
  CHECK(ballast_test::refusal([&] { (void)ballast::verl::schedule(lengths, on(4, 5000), cost, {.context_ranks = 3}); }) ==
        "context_ranks = 3 must be a power of two that divides ranks, or 0");
  auto two = on(4, 999);
  two.most_ranks_shared = 2;
  CHECK(ballast::verl::schedule(std::vector<int>{1998}, two, cost).status == status::feasible);
  CHECK(ballast::verl::schedule(std::vector<int>{1999}, two, cost).status == status::infeasible);
  CHECK(ballast_test::refusal([&] { (void)ballast::verl::schedule(lengths, two, cost, {.context_ranks = 4}); }) ==
        "context_ranks = 4 exceeds most_ranks_shared = 2");
  auto const none = ballast::verl::schedule(std::vector<int>{8, 2}, on(8, 1), cost);  // ranks of a group would have no token
  CHECK((none.status == status::unknown && none.time.value == 0 && none.pieces.empty()));
  CHECK(ballast_test::refusal([&] { (void)ballast::verl::schedule(lengths, on(4, 0), cost); }) == "capacity = 0 must be positive");
}

}  // namespace test_methods_verl
