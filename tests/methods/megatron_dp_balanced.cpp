// SPDX-License-Identifier: Apache-2.0
#include <ballast/methods/megatron_dp_balanced.hpp>
#include <ballast/sharding/check.hpp>

#include "support/catch.hpp"
#include "support/exhaustive_shards.hpp"
#include "support/lengths.hpp"
#include "support/lists.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace test_methods_megatron_dp_balanced {

using namespace ballast::megatron_dp_balanced;
using ballast::execution;
using ballast::status;
using ballast_test::as_lists;
using ballast_test::between;
using ballast_test::lists;
using ballast_test::refusal;

TEST_CASE("megatron_dp_balanced: the rules by hand", "[methods][megatron_dp_balanced]") {
  std::vector<std::int64_t> const lengths{4, 5, 3, 6, 1, 1};
  CHECK(as_lists(packs(lengths, {.capacity = 10})) == lists{{0, 1}, {2, 3, 4}, {5}});
  CHECK(as_lists(packs(lengths, {.capacity = 10, .max_samples = 2})) == lists{{0, 1}, {2, 3}, {4, 5}});
  // The last pack with several samples gives its last one.
  CHECK(as_lists(packs(lengths, {.capacity = 10, .data_ranks = 2})) == lists{{0, 1}, {2, 3}, {5}, {4}});
  CHECK(as_lists(packs(lengths, {.capacity = 10, .data_ranks = 5})) == lists{{0, 1}, {2}, {5}, {4}, {3}});
  CHECK(as_lists(packs(lengths, {.capacity = 10, .data_ranks = 3, .micro_batch_multiple = 2})) == lists{{0}, {2}, {5}, {4}, {3}, {1}});
  // Fewer samples than packs: the published code aborts.
  CHECK(as_lists(packs(std::vector<std::int64_t>{4, 5}, {.capacity = 10, .data_ranks = 3})) == lists{{0}, {1}, {}});
  CHECK(packs(std::vector<std::int64_t>{}, {.capacity = 10, .data_ranks = 3}).empty());
  CHECK(refusal([&] { return packs(lengths, {.capacity = 5}); }) == "lengths[3] = 6 exceeds capacity = 5");
  CHECK(refusal([&] { return packs(lengths, {.capacity = 0}); }) == "capacity = 0 must be positive");
  CHECK(refusal([&] { return packs(lengths, {.capacity = 9, .data_ranks = 0}); }) == "data_ranks = 0 must be in 1 ... 2^20 - 1");
}

TEST_CASE("megatron_dp_balanced: every plan is valid, and the best of all divisors", "[methods][megatron_dp_balanced]") {
  ballast::splitmix64 draw(8);
  auto const cost = ballast_test::flexsp_cost();
  for (int round = 0; round < 200; ++round) {
    ballast::sharding_options const o{.capacity = between(1, 3000, draw),
                                      .ranks = static_cast<std::uint64_t>(between(1, 24, draw)),
                                      .cost_per_pass = 1'000'000,
                                      .execution = draw() % 2 == 0 ? execution::lockstep : execution::mixed};
    auto const lengths = ballast_test::random_lengths(draw() % 60, o.capacity * static_cast<std::int64_t>(o.ranks), draw);
    auto const plan = schedule(lengths, o, cost);
    CAPTURE(round, o.ranks, o.capacity, lengths);
    REQUIRE(plan.status == status::feasible);  // all ranks have room for each sample
    CHECK(check_shards(plan, lengths, o).valid());
    CHECK(plan.execution == (o.execution == execution::lockstep ? execution::lockstep : execution::independent));
    CHECK(plan.time.lower_bound <= plan.time.value);
    CHECK(hash(plan) == hash(schedule(lengths, o, cost)));
    for (std::uint64_t d = 1; d <= o.ranks; ++d) {
      if (o.ranks % d != 0) continue;
      auto const fixed = schedule(lengths, o, cost, d);
      auto const longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
      CHECK((fixed.status == status::feasible) == (longest <= o.capacity * static_cast<std::int64_t>(d)));
      if (fixed.status == status::feasible) CHECK(plan.time.value <= fixed.time.value);
      for (std::size_t r = 1; r < fixed.ranks(); ++r) CHECK(fixed.passes(r) == fixed.passes(0));
    }
  }
  std::vector<std::int64_t> const lengths{5};
  CHECK(schedule(lengths, {.capacity = 2, .ranks = 2}, cost).status == status::infeasible);
  CHECK(refusal([&] { return schedule(lengths, {.capacity = 9, .ranks = 6}, cost, 4); }) ==
        "context_ranks = 4 must divide ranks = 6 and be at most 6 that share a sample");
}

}  // namespace test_methods_megatron_dp_balanced
