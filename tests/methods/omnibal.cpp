// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/check.hpp>
#include <ballast/batching/measured_steps.hpp>
#include <ballast/core/hash.hpp>
#include <ballast/methods/omnibal.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace test_methods_omnibal {

using namespace ballast_test;
namespace omnibal = ballast::omnibal;

namespace {

/// Images of one tile, or of 2 to 4 and a thumbnail; 256 tokens a tile and some text.
struct images {
  std::vector<std::int64_t> tiles, tokens;
  images(std::size_t count, std::uint64_t seed) {
    ballast::splitmix64 draw(seed);
    std::int64_t const counts[] = {1, 1, 1, 3, 3, 5};
    for (std::size_t i = 0; i < count; ++i) {
      tiles.push_back(counts[draw() % 6]);
      tokens.push_back(256 * tiles.back() + between(20, 500, draw));
    }
  }
};

}  // namespace

TEST_CASE("omnibal: each sample in one step or listed; shards in one random order") {
  images const d(5000, 1);
  omnibal::options o{.ranks = 6, .epoch = 3};
  auto const plan = omnibal::plan_data(d.tiles, d.tokens, o);
  CHECK(plan.capacity == std::vector<std::int64_t>{9, 4096});
  CHECK(ballast::check_batching(plan.steps, d.tokens, {.capacity = 4096, .ranks = 6, .left_over = ballast::left_over::drop},
                                ballast::token_cost{})
            .valid());
  auto const& packs = plan.packing.packs;
  auto const shard = packs.size() / 6;
  REQUIRE(plan.steps.steps() == shard);
  std::size_t tail = 0;
  for (auto p = 6 * shard; p < packs.size(); ++p) tail += packs[p].size();
  CHECK(plan.steps.dropped.size() == tail);
  std::map<std::uint32_t, std::size_t> made;  // number of the pack that begins with a sample
  for (std::size_t p = 0; p < packs.size(); ++p) made[packs[p][0]] = p;
  std::vector<std::size_t> seen;
  for (std::size_t s = 0; s < shard; ++s) {
    auto const first = made.at(plan.steps.packs[plan.steps.at(s, 0, 0)][0]);
    seen.push_back(first);
    for (std::size_t r = 0; r < 6; ++r) {
      auto const pack = plan.steps.packs[plan.steps.at(s, r, 0)];
      CHECK(made.at(pack[0]) == r * shard + first);
      std::int64_t tiles = 0;
      for (auto i : pack) tiles += d.tiles[i];
      CHECK(tiles <= 9);
    }
  }
  CHECK(!std::is_sorted(seen.begin(), seen.end()));
  o.epoch = 4;
  auto const next = omnibal::plan_data(d.tiles, d.tokens, o);
  CHECK((next.packing.packs == packs && next.steps.packs != plan.steps.packs));
}

TEST_CASE("omnibal: packs nearly fill the scarce measure, text is unlevel, and plan_steps is better in everything") {
  images const d(40000, 2);
  auto const paper = omnibal::plan_data(d.tiles, d.tokens);
  CHECK(paper.packing.fill(0, 9) > 0.97);
  CHECK((paper.distance[0] < 0.03 && paper.distance[1] > 0.05));
  auto const ours = ballast::plan_steps({d.tiles, d.tokens}, {.capacity = {9, 4096}, .ranks = 8});
  CHECK(ours.pack_count.value <= paper.packing.count.value);
  CHECK(ours.dropped.empty());
  CHECK(ours.balance[0].mean_ratio <= paper.distance[0]);
  CHECK(ours.balance[1].mean_ratio < paper.distance[1] / 5);
}

TEST_CASE("omnibal: what exceeds a capacity is listed, and capacities can be chosen") {
  images d(2000, 3);
  d.tiles[17] = 10;
  d.tokens[400] = 4097;
  auto const plan = omnibal::plan_data(d.tiles, d.tokens, {.ranks = 1});
  CHECK(plan.packing.set_aside == std::vector<std::uint32_t>{17, 400});
  CHECK(plan.steps.dropped == plan.packing.set_aside);
  auto const chosen = omnibal::plan_data(d.tiles, d.tokens, {.choose_capacities = true});
  CHECK(chosen.capacity == ballast::choose_capacities({d.tiles, d.tokens}, {.ranks = 8, .seed = 1024}).chosen().capacity);
  CHECK(chosen.packing.set_aside.empty());
  CHECK(omnibal::plan_data({}, {}).steps.steps() == 0);
}

TEST_CASE("omnibal: refusals") {
  std::vector<std::int64_t> const one{1}, two{300, 400};
  CHECK(refusal([&] { return omnibal::plan_data(one, two); }) == "measure 1 has 2 values, measure 0 has 1");
  CHECK(refusal([&] { return omnibal::plan_data(two, two, {.ranks = 0}); }) == "ranks = 0 must be in 1 ... 2^20 - 1");
  CHECK(refusal([&] { return omnibal::plan_data(two, two, {.rounds = 0}); }) == "rounds = 0 must be positive");
  CHECK(refusal([&] { return omnibal::plan_data(two, two, {.most_tokens = 100}); }) == "filter[1] = -28 must be positive");
}

}  // namespace test_methods_omnibal
