// SPDX-License-Identifier: Apache-2.0
// Inside one global batch, the gradient of any shards is that of the unsharded batch.
#include <ballast/batching/shard_weights.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/sharding/plan_shards.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/token_gradients.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_batching_shard_weights {

using ballast::gradient_reduction;
using ballast::loss_normaliser;
using namespace ballast_test;

TEST_CASE("shard_weights: shards give the gradient of the unsharded batch, under every policy, normaliser and reduction") {
  ballast::splitmix64 draw(8);
  ballast::degree_cost const cost{.linear = 100000, .square = 40, .exchange = {0, 30000}};
  for (int round = 0; round < 60; ++round) {
    auto const count = static_cast<std::size_t>(between(1, 40, draw));
    token_gradients const b(random_lengths(count, 3000, draw), draw);
    ballast::sharding_options options{.capacity = 1000, .ranks = static_cast<std::uint64_t>(between(4, 9, draw)), .cost_per_pass = 90000};
    options.execution = static_cast<ballast::execution>(round % 3);
    auto const plan = plan_shards(b.lengths, options, cost);
    REQUIRE(plan.status == ballast::status::feasible);
    auto const either = [&] { return draw() % 2 == 0 ? gradient_reduction::sum : gradient_reduction::average; };
    ballast::gradient_path const path{.across_ranks = either(), .across_micro_batches = either()};
    for (auto const& normaliser : {loss_normaliser::sum(), loss_normaliser::token_mean(), loss_normaliser::sample_mean(),
                                   loss_normaliser::sequence_mean(), loss_normaliser::square_root()}) {
      auto const gradient = b.sharded(plan, normaliser, path), expected = b.unsharded(normaliser);
      CAPTURE(round, normaliser.power, expected, gradient);
      CHECK(std::abs(gradient - expected) <= 1e-11 * (1 + std::abs(expected)));
    }
  }
}

TEST_CASE("shard_weights: samples that are left out count nowhere") {
  ballast::shards<> plan;
  plan.rank_offsets = {0, 1};
  plan.pass_offsets = {0, 1};
  plan.pieces = {{0, 0, 4}};
  plan.left_out = {1};
  std::int64_t const counts[] = {4, 100};
  CHECK(shard_weights(plan, 0, counts, loss_normaliser::token_mean(), {}) == std::vector{0.25});
}

TEST_CASE("shard_weights: refuses what depends on the shards, and what does not exist") {
  ballast::shards<> plan;
  plan.rank_offsets = {0, 1};
  plan.pass_offsets = {0, 1};
  plan.pieces = {{3, 0, 4}};
  std::int64_t const counts[] = {4, 100};
  CHECK(refusal([&] { return shard_weights(plan, 1, counts, loss_normaliser::sum(), {}); }) == "rank = 1 must be below 1");
  CHECK(refusal([&] { return shard_weights(plan, 0, counts, loss_normaliser::sum(), {}); }) == "counts has 2 entries, none for sample 3");
  CHECK(refusal([&] { return shard_weights(plan, 0, counts, loss_normaliser::ave_token(), {}); }) ==
        "the scope of the normaliser must be the step: others depend on how the batch is sharded");
}

}  // namespace test_batching_shard_weights
