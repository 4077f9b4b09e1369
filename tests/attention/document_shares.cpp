// SPDX-License-Identifier: Apache-2.0
#include <ballast/attention/attention_tasks.hpp>
#include <ballast/attention/document_shares.hpp>
#include <ballast/core/random.hpp>
#include <ballast/sharding/check.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace test_attention_document_shares {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;
using numbers = std::vector<std::int64_t>;

namespace {

/// Times of tiles counted one by one: a tile is computed if its last query sees its first key; queries are aligned at the end of the piece.
std::int64_t counted_time(shards<> const& plan, document_share_options const& o, stepped_tile_time const& time) {
  std::int64_t most = 0;
  for (std::size_t r = 0; r < plan.ranks(); ++r) {
    std::int64_t sum = 0;
    for (auto const& p : plan(r, 0)) {
      std::int64_t tiles = 0;
      for (auto row = p.begin; row < p.end; row += o.tile_queries)
        for (std::int64_t key = 0; key < (std::min)(row + o.tile_queries, p.end); key += o.tile_keys) ++tiles;
      sum += tiles * time((std::max)(o.tile_queries, (p.end - p.begin) / o.tile_queries * o.tile_queries));
    }
    most = (std::max)(most, sum);
  }
  return most;
}

}  // namespace

TEST_CASE("cut_documents: every token once, and ranks differ by one token at most", "[property]") {
  splitmix64 draw(1);
  for (int round = 0; round < 300; ++round) {
    auto const ranks = static_cast<std::uint64_t>(between(1, 9, draw));
    auto const count = between(0, 12, draw), longest = between(1, 400, draw);
    auto const lengths = ballast_test::random_lengths(static_cast<std::size_t>(count), longest, draw);
    auto const tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    for (auto const cut : {share_cut::per_document, share_cut::per_sequence}) {
      auto const plan = cut_documents(lengths, ranks, cut);
      auto const few = tokens < static_cast<std::int64_t>(ranks);
      auto const most = few ? tokens : (tokens + static_cast<std::int64_t>(ranks) - 1) / static_cast<std::int64_t>(ranks);
      auto const v = check_shards(plan, lengths, {.capacity = (std::max)(most, std::int64_t{1}), .ranks = ranks});
      CAPTURE(round, describe(v));
      CHECK(v.valid());
      CHECK(plan.ranks() == ranks);
      if (!few)
        for (std::size_t r = 0; r < ranks; ++r) {
          std::int64_t held = 0;
          for (auto const& p : plan(r, 0)) held += p.end - p.begin;
          CHECK(held >= tokens / static_cast<std::int64_t>(ranks));
        }
    }
  }
}

TEST_CASE("cut_documents: cut per document, all ranks have u^2 (2 N - 1) + u (u + 1) pairs of 2 N chunks of u tokens", "[published]") {
  for (std::int64_t const ranks : {1, 2, 4, 8}) {
    numbers lengths;
    std::int64_t pairs = 0;
    for (std::int64_t const u : {1, 3, 16}) {
      lengths.push_back(2 * ranks * u);
      pairs += u * u * (2 * ranks - 1) + u * (u + 1);
    }
    auto const plan = cut_documents(lengths, static_cast<std::uint64_t>(ranks), share_cut::per_document);
    numbers of(static_cast<std::size_t>(ranks), 0);
    for (auto const& t : attention_tasks_of(plan)) of[t.home] += t.pairs();
    for (auto const rank : of) CHECK(rank == pairs);
  }
}

TEST_CASE("document_shares: both times as counted tile by tile, the faster way chosen, above its bound", "[property]") {
  splitmix64 draw(2);
  int by_sequence = 0;
  for (int round = 0; round < 200; ++round) {
    document_share_options const o{
        .ranks = static_cast<std::uint64_t>(between(1, 6, draw)), .tile_queries = between(1, 40, draw), .tile_keys = between(1, 40, draw)};
    stepped_tile_time const time{.slow = between(10, 20, draw), .fast = between(1, 10, draw), .from = 2 * o.tile_queries};
    auto const count = between(1, 10, draw), longest = between(1, 600, draw);
    auto const lengths = ballast_test::random_lengths(static_cast<std::size_t>(count), longest, draw);
    auto const plan = document_shares(lengths, o, time);
    CHECK(plan.per_document == counted_time(cut_documents(lengths, o.ranks, share_cut::per_document), o, time));
    CHECK(plan.per_sequence == counted_time(cut_documents(lengths, o.ranks, share_cut::per_sequence), o, time));
    CHECK(plan.shards.time.value == (std::min)(plan.per_document, plan.per_sequence));
    CHECK(plan.shards.time.value == counted_time(plan.shards, o, time));
    CHECK(plan.shards.time.lower_bound <= plan.shards.time.value);
    CHECK(plan.shards.pieces == cut_documents(lengths, o.ranks, plan.chosen).pieces);
    by_sequence += plan.chosen == share_cut::per_sequence;
  }
  CHECK(by_sequence > 20);
  CHECK(by_sequence < 180);
}

TEST_CASE("document_shares: short documents are cut per sequence, long ones beside short ones per document", "[published]") {
  stepped_tile_time const time{.slow = 5, .fast = 4};
  CHECK(document_shares(numbers(64, 1024), {.ranks = 8}, time).chosen == share_cut::per_sequence);
  numbers mixed(32, 1024);
  mixed.insert(mixed.begin() + 3, 65536);
  auto const plan = document_shares(mixed, {.ranks = 8}, time);
  CHECK(plan.chosen == share_cut::per_document);
  CHECK(plan.per_sequence * 10 > plan.per_document * 11);
  CHECK(plan.shards.time.value * 10 < plan.shards.time.lower_bound * 12);
}

TEST_CASE("document_shares: nothing, fewer tokens than ranks, and misuse") {
  stepped_tile_time const time{.slow = 5, .fast = 4};
  CHECK(document_shares(numbers{}, {.ranks = 4}, time).shards.time == certificate{0, 0});
  auto const few = document_shares(numbers{1, 2}, {.ranks = 4}, time);
  CHECK(few.shards(0, 0).size() == 2);
  CHECK(check_shards(few.shards, numbers{1, 2}, {.capacity = 3, .ranks = 4}).valid());
  CHECK(refusal([&] { return document_shares(numbers{1}, {}, time); }) == "ranks = 0 must be in 1 ... 2^20 - 1");
  CHECK(refusal([&] { return document_shares(numbers{0}, {.ranks = 1}, time); }) == "lengths[0] = 0 must be positive");
  CHECK(refusal([&] { return document_shares(numbers{1}, {.ranks = 1, .tile_keys = 0}, time); }) ==
        "a tile of 0 must have 1 ... 2^24 - 1 queries and keys");
  CHECK(refusal([&] { return document_shares(numbers{1}, {.ranks = 1}, stepped_tile_time{}); }) == "tile_time(128) = 0 must be positive");
  CHECK(refusal([&] { return document_shares(numbers{1 << 20}, {.ranks = 1}, [](std::int64_t) { return std::int64_t{1} << 60; }); }) ==
        "the time of a rank reaches 2^63");
}

}  // namespace test_attention_document_shares
