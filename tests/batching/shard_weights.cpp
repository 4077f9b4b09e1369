// SPDX-License-Identifier: Apache-2.0
// Inside one global batch, the gradient of any shards is that of the unsharded batch.
#include <ballast/batching/shard_weights.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/sharding/plan_shards.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_batching_shard_weights {

using ballast::gradient_reduction;
using ballast::loss_normaliser;
using ballast_test::between;

/// The gradient of each token, a small integer; a quarter of all labels are not counted, and some samples have none.
struct batch {
  std::vector<std::int64_t> lengths, counts;
  std::vector<std::vector<double>> token;
};
batch random_batch(ballast::splitmix64& draw) {
  batch out;
  out.lengths = ballast_test::random_lengths(static_cast<std::size_t>(between(1, 40, draw)), 3000, draw);
  for (auto const length : out.lengths) {
    auto const silent = draw() % 8 == 0;
    auto& token = out.token.emplace_back(static_cast<std::size_t>(length), 0.0);
    std::int64_t count = 0;
    for (auto& g : token)
      if (!silent && draw() % 4 != 0) {
        g = static_cast<double>(between(-50, 50, draw));
        ++count;
      }
    out.counts.push_back(count);
  }
  return out;
}

double sum_of(std::vector<double> const& token, std::int64_t begin, std::int64_t end) {
  double sum = 0;
  for (auto t = begin; t < end; ++t) sum += token[static_cast<std::size_t>(t)];
  return sum;
}

/// The gradient on one device: every sample with T^-p over W, by the definition of the normaliser.
double unsharded(batch const& b, loss_normaliser const& n) {
  double sum = 0, weights = 0, sequences = 0;
  for (std::size_t i = 0; i < b.lengths.size(); ++i) {
    if (b.counts[i] == 0) continue;
    auto const count = static_cast<double>(b.counts[i]);
    sum += std::pow(count, -n.power) * sum_of(b.token[i], 0, b.lengths[i]);
    weights += std::pow(count, 1 - n.power);
    ++sequences;
  }
  auto const divisor = n.divisor == ballast::loss_divisor::one ? 1 : n.divisor == ballast::loss_divisor::weights ? weights : sequences;
  return divisor == 0 ? 0 : sum / divisor;
}

TEST_CASE("shard_weights: shards give the gradient of the unsharded batch, under every policy, normaliser and reduction") {
  ballast::splitmix64 draw(8);
  ballast::degree_cost const cost{.linear = 100000, .square = 40, .exchange = {0, 30000}};
  for (int round = 0; round < 60; ++round) {
    auto const b = random_batch(draw);
    ballast::sharding_options options{.capacity = 1000, .ranks = static_cast<std::uint64_t>(between(4, 9, draw)), .cost_per_pass = 90000};
    options.execution = static_cast<ballast::execution>(round % 3);
    auto const plan = plan_shards(b.lengths, options, cost);
    REQUIRE(plan.status == ballast::status::feasible);
    auto const either = [&] { return draw() % 2 == 0 ? gradient_reduction::sum : gradient_reduction::average; };
    ballast::gradient_path const path{.across_ranks = either(), .across_micro_batches = either()};
    for (auto const& normaliser : {loss_normaliser::sum(), loss_normaliser::token_mean(), loss_normaliser::sample_mean(),
                                   loss_normaliser::sequence_mean(), loss_normaliser::square_root()}) {
      double gradient = 0;
      for (std::size_t r = 0; r < plan.ranks(); ++r) {
        auto const weights = shard_weights(plan, r, b.counts, normaliser, path);
        double of_rank = 0;
        std::size_t at = 0;
        for (std::size_t m = 0; m < plan.passes(r); ++m)
          for (auto const& p : plan(r, m)) of_rank += weights[at++] * sum_of(b.token[p.sample], p.begin, p.end);
        REQUIRE(at == weights.size());
        if (path.across_micro_batches == gradient_reduction::average && plan.passes(r) > 0) of_rank /= static_cast<double>(plan.passes(r));
        gradient += of_rank;
      }
      if (path.across_ranks == gradient_reduction::average) gradient /= static_cast<double>(plan.ranks());
      auto const expected = unsharded(b, normaliser);
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
  using ballast_test::refusal;
  CHECK(refusal([&] { return shard_weights(plan, 1, counts, loss_normaliser::sum(), {}); }) == "rank = 1 must be below 1");
  CHECK(refusal([&] { return shard_weights(plan, 0, counts, loss_normaliser::sum(), {}); }) == "counts has 2 entries, none for sample 3");
  CHECK(refusal([&] { return shard_weights(plan, 0, counts, loss_normaliser::ave_token(), {}); }) ==
        "the scope of the normaliser must be the step: others depend on how the batch is sharded");
}

}  // namespace test_batching_shard_weights
