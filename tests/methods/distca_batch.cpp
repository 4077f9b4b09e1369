// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/methods/distca_batch.hpp>
#include <ballast/sharding/check.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_methods_distca_batch {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;
using numbers = std::vector<std::int64_t>;

distca::run llama_8b(std::uint64_t servers) { return distca::run_of(transformer_preset("llama-3.1-8b"), servers); }

TEST_CASE("distca::plan_batch: every token and every pair once, within the capacity, and no server works longer than the batch",
          "[property]") {
  splitmix64 draw(2);
  for (int round = 0; round < 150; ++round) {
    auto const servers = static_cast<std::uint64_t>(between(1, 9, draw));
    auto const capacity = between(50, 800, draw), fixed = between(0, 1000000, draw);
    auto const lengths =
        ballast_test::random_lengths(static_cast<std::size_t>(between(0, 60, draw)), capacity * static_cast<std::int64_t>(servers), draw);
    auto const by = round % 2 == 0 ? llama_8b(servers) : distca::published(llama_8b(servers));
    auto const plan = distca::plan_batch(lengths, capacity, by, fixed);
    auto const v = check_shards(plan.shards, lengths, {.capacity = capacity, .ranks = servers});
    CAPTURE(round, describe(v));
    REQUIRE(v.valid());
    CHECK(plan.time.lower_bound <= plan.time.value);
    std::int64_t pairs = 0, wanted = 0, tokens = 0;
    for (auto const l : lengths) {
      wanted += l * (l + 1) / 2;
      tokens += l;
    }
    std::vector<bool> seen(lengths.size());
    for (auto const& micro_batch : plan.attention) {
      for (auto const load : micro_batch.loads) pairs += load;
      for (auto const& t : micro_batch.tasks) seen[t.sample] = true;
    }
    CHECK(pairs == wanted);
    CHECK(std::count(seen.begin(), seen.end(), false) == 0);
    std::int64_t busy = 0;
    for (auto const b : plan.busy) {
      CHECK(b <= plan.time.value);
      busy += b;
    }
    CHECK(busy >= by.per_token * tokens + by.per_pair * wanted);
  }
}

TEST_CASE("distca::plan_batch: a batch that fits at once is that of plan, beside the fixed time") {
  splitmix64 draw(3);
  auto const lengths = ballast_test::random_lengths(40, 3000, draw);
  auto const by = llama_8b(4);
  auto const one = distca::plan(lengths, by);
  auto const batch = distca::plan_batch(lengths, 40000, by, 500);
  REQUIRE(batch.attention.size() == 1);
  CHECK(batch.time.value == one.time.value + 500);
  CHECK(batch.time.lower_bound == one.time.lower_bound + 500);
  CHECK(batch.shards.pieces == one.shards.pieces);
  CHECK(hash(batch.attention[0]) == hash(one.attention));
}

TEST_CASE("distca::plan_batch: nothing, no room, and misuse") {
  CHECK(distca::plan_batch(numbers{}, 10, llama_8b(3)).shards.ranks() == 3);
  CHECK(distca::plan_batch(numbers{31}, 10, llama_8b(3)).shards.status == status::infeasible);
  CHECK(refusal([] { return distca::plan_batch(numbers{1}, 0, llama_8b(3)); }) ==
        "capacity = 0 must be positive, and at most 2^62 on all servers");
  CHECK(refusal([] { return distca::plan_batch(numbers{1}, 1, llama_8b(3), -1); }) == "cost_per_micro_batch = -1 must not be negative");
}

}  // namespace test_methods_distca_batch
