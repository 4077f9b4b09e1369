// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/check.hpp>
#include <ballast/chunks/check.hpp>
#include <ballast/chunks/deal_chunks.hpp>
#include <ballast/chunks/equal_time_chunks.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/loss/label_counts.hpp>
#include <ballast/sharding/check.hpp>
#include <ballast/sharding/time_shards.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"
#include "support/token_gradients.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace test_chunks_deal_chunks {

using ballast::chunk_times;
using ballast::deal_chunks;
using ballast::gradient_reduction;
using ballast::loss_normaliser;
using ballast::make_chunks;
using namespace ballast_test;

namespace {

using lengths = std::vector<std::int64_t>;
ballast::quadratic_cost const cost{.linear = 50, .quadratic = 1};

lengths mixed_lengths(std::size_t count, std::int64_t size, ballast::splitmix64& draw) {
  auto out = random_lengths(count, size, draw);
  for (auto& l : out)
    if (draw() % 4 == 0) l = between(1, 6 * size, draw);
  return out;
}

}  // namespace

TEST_CASE("deal_chunks: every chain on one rank, in order, within the bound; shards of it are valid", "[property]") {
  ballast::splitmix64 draw(41);
  for (int round = 0; round < 200; round += round_step) {
    auto const size = between(2, 60, draw);
    auto const l = mixed_lengths(static_cast<std::size_t>(between(0, 60, draw)), size, draw);
    auto const ranks = static_cast<std::uint64_t>(between(1, 6, draw));
    auto const plan = draw() % 2 == 0 ? make_chunks(l, {.size = size}) : equal_time_chunks(l, {.size = size}, cost);
    auto const times = chunk_times(plan, cost, 7);
    auto const dealt = deal_chunks(plan, {.sets = ranks}, times);
    CAPTURE(round, size, l, ranks);
    REQUIRE(dealt.sets.size() == ranks);
    lengths chain_time;
    for (auto const chain : plan.chains) {
      std::int64_t sum = 0;
      for (auto const k : chain) sum += times[k];
      chain_time.push_back(sum);
    }
    std::vector<std::uint32_t> chains(plan.chains.size());
    std::iota(chains.begin(), chains.end(), 0U);
    auto const time_of = [&](std::int64_t c) { return chain_time[static_cast<std::size_t>(c)]; };
    CHECK(describe(check_balance(dealt, chains, {.sets = ranks}, time_of)) == "valid");
    CHECK(dealt == deal_chunks(plan, {.sets = ranks}, times));

    auto const shards = shards_of(plan, dealt.sets);
    CHECK(describe(check_shards(shards, l, {.capacity = size, .ranks = ranks})) == "valid");
    auto const timed = time_shards(shards, [](std::int64_t n, std::int64_t) { return cost(n); }, 7);
    CHECK(timed.makespan == dealt.load.value);  // of pipelines of one stage

    std::int64_t chunks = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      CHECK(std::is_sorted(dealt.sets[r].begin(), dealt.sets[r].end()));
      auto const own = chunks_of(plan, dealt.sets[r], {.size = size});
      auto without = l;  // a rank's chunks are a batch of the samples that are on it
      std::vector<bool> here(l.size());
      for (auto const& range : own.ranges) here[range.sample] = true;
      auto local = own;
      std::vector<std::uint32_t> renumbered(l.size());
      lengths mine;
      for (std::size_t i = 0; i < l.size(); ++i)
        if (here[i]) {
          renumbered[i] = static_cast<std::uint32_t>(mine.size());
          mine.push_back(l[i]);
        }
      for (auto& range : local.ranges) range.sample = renumbered[range.sample];
      CHECK(describe(check_chunks(local, mine, {.size = size})) == "valid");
      CHECK(own.count.lower_bound <= make_chunks(mine, {.size = size}).count.lower_bound);
      auto const of_rank = chunk_times(own, cost, 7);
      CHECK(std::accumulate(of_rank.begin(), of_rank.end(), std::int64_t{0}) <= dealt.load.value);
      chunks += own.count.value;
    }
    CHECK(chunks == plan.count.value);
  }
}

TEST_CASE("shard_weights: chunks on ranks give the gradient of the batch in one piece", "[property]") {
  ballast::splitmix64 draw(8);
  for (int round = 0; round < 100; round += round_step) {
    auto const size = between(20, 400, draw);
    token_gradients const b(mixed_lengths(static_cast<std::size_t>(between(1, 40, draw)), size, draw), draw);
    auto const plan = make_chunks(b.lengths, {.size = size});
    auto const dealt = deal_chunks(plan, {.sets = static_cast<std::uint64_t>(between(1, 9, draw))}, chunk_times(plan, cost));
    auto const shards = shards_of(plan, dealt.sets);
    auto const either = [&] { return draw() % 2 == 0 ? gradient_reduction::sum : gradient_reduction::average; };
    auto const across_ranks = either(), across_micro_batches = either();
    ballast::gradient_path const path{.across_ranks = across_ranks, .across_micro_batches = across_micro_batches};
    for (auto const& normaliser : {loss_normaliser::sum(), loss_normaliser::token_mean(), loss_normaliser::sample_mean(),
                                   loss_normaliser::sequence_mean(), loss_normaliser::square_root()}) {
      auto const gradient = b.sharded(shards, normaliser, path), expected = b.unsharded(normaliser);
      CAPTURE(round, normaliser.power, expected, gradient);
      CHECK(std::abs(gradient - expected) <= 1e-11 * (1 + std::abs(expected)));
    }
  }
}

TEST_CASE("shards_of chunks: labels that are shifted before the cut are counted once, those shifted behind it are lost at the border") {
  lengths const l{20, 5};
  auto const plan = make_chunks(l, {.size = 8});
  auto const shards = shards_of(plan, deal_chunks(plan, {.sets = 2}, chunk_times(plan, cost)).sets);
  std::vector<std::int64_t> labels(20);  // of sample 0; what position t predicts, and nothing at the end
  std::iota(labels.begin(), labels.end(), 1);
  labels.back() = -100;
  std::int64_t counted = 0, in_model = 0;
  for (auto const& p : shards.pieces) {
    if (p.sample != 0) continue;
    std::vector<std::int64_t> const piece(labels.begin() + p.begin, labels.begin() + p.end), row{0, p.end - p.begin};
    std::vector<std::int64_t> tokens(piece.size());
    std::iota(tokens.begin(), tokens.end(), p.begin);
    counted += ballast::label_counts(piece, row, {.shift = ballast::label_shift::done}).front();
    in_model += ballast::label_counts(tokens, row, {.shift = ballast::label_shift::in_model}).front();
  }
  CHECK(counted == 19);
  CHECK(in_model == 17);  // three pieces: two borders
}

TEST_CASE("deal_chunks, chunks_of, shards_of: refuse misuse") {
  auto const plan = make_chunks(lengths{3, 20}, {.size = 8});
  std::vector<std::int64_t> const few{1, 2}, negative{1, 2, -3, 4};
  CHECK(refusal([&] { return deal_chunks(plan, {.sets = 2}, few); }) == "times has 2 entries for 4 chunks");
  CHECK(refusal([&] { return deal_chunks(plan, {.sets = 2}, negative); }) == "times[2] = -3 must not be negative");
  std::vector<std::uint32_t> const none{0, 2};
  CHECK(refusal([&] { return chunks_of(plan, none, {.size = 8}); }) == "chains[1] = 2 is not the number of a chain");
  CHECK(refusal([&] { return chunks_of(plan, none, {}); }) == "size = 0 must be positive");
  CHECK(refusal([&] { return shards_of(plan, ballast::groups<>{{0, 1}, {9}}); }) == "chain 9 of a rank does not exist");
}

}  // namespace test_chunks_deal_chunks
