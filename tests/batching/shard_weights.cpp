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

TEST_CASE("shard_weights: every count must be that of a sample of the plan", "[property]") {
  ballast::shards<> plan;  // two ranks, of which each can see only its own piece
  plan.rank_offsets = {0, 1, 2};
  plan.pass_offsets = {0, 1, 2};
  plan.pieces = {{0, 0, 4}, {1, 0, 4}};
  auto const weights = [&](std::vector<std::int64_t> const& counts, std::size_t rank) {
    return shard_weights(plan, rank, counts, loss_normaliser::token_mean(), {.across_ranks = gradient_reduction::sum});
  };
  CHECK(weights({4, 4}, 0) == std::vector{0.125});
  for (std::size_t rank = 0; rank < 2; ++rank) {
    auto const sentence = [&](std::vector<std::int64_t> const& counts) { return refusal([&] { return weights(counts, rank); }); };
    CHECK(sentence({4, 4, 100}) == "counts[2] = 100 belongs to no sample of the plan, neither in a pass nor left out");
    CHECK(sentence({4, 4, 0}) == "counts[2] = 0 belongs to no sample of the plan, neither in a pass nor left out");
    CHECK(sentence({4, -1}) == "counts[1] = -1 must be in [0, 2^40)");
    CHECK(sentence({-1, 4}) == "counts[0] = -1 must be in [0, 2^40)");
    CHECK(sentence({4}) == "counts has 1 entry, none for sample 1");
  }
  ballast::splitmix64 draw(3);
  ballast::degree_cost const cost{.linear = 1, .square = 0, .exchange = {0, 0}};
  for (int round = 0; round < 60; ++round) {  // one count too many, too few, or wrong, on whatever rank
    auto const lengths = random_lengths(static_cast<std::size_t>(between(1, 30, draw)), 900, draw);
    std::vector<std::int64_t> counts(lengths.begin(), lengths.end());
    auto const random_plan = plan_shards(lengths, {.capacity = 1000, .ranks = 4}, cost);
    auto const rank = static_cast<std::size_t>(between(0, 3, draw));
    auto const refused = [&] { return refusal([&] { return shard_weights(random_plan, rank, counts, loss_normaliser::sum(), {}); }); };
    CHECK(refused() == "accepted");
    if (round % 3 == 0) counts.push_back(between(0, 100, draw));
    if (round % 3 == 1) counts.pop_back();
    if (round % 3 == 2) counts[draw() % counts.size()] = round % 2 == 0 ? -1 : std::int64_t{1} << 40;
    CHECK(refused() != "accepted");
  }
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
