// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/check.hpp>
#include <ballast/batching/vector_steps.hpp>
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
  CHECK(plan.sets[0].limits == omnibal::pack_limits{.tiles = 9, .tokens = 4096, .spare = 128});
  CHECK(ballast::check_batching(plan.steps, d.tokens, {.capacity = 4096, .ranks = 6, .left_over = ballast::left_over::drop},
                                ballast::token_cost{})
            .valid());
  auto const& packs = plan.sets[0].packing.packs;
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
  CHECK((next.sets[0].packing.packs == packs && next.steps.packs != plan.steps.packs));
}

TEST_CASE("omnibal: packs nearly fill the scarce measure, text is unlevel, and plan_steps is better in everything") {
  images const d(40000, 2);
  auto const paper = omnibal::plan_data(d.tiles, d.tokens);
  CHECK(paper.sets[0].packing.fill(0, 9) > 0.97);
  CHECK((paper.distance[0] < 0.03 && paper.distance[1] > 0.05));
  auto const ours = ballast::plan_steps({d.tiles, d.tokens}, {.steps = {.capacity = 4096, .ranks = 8}, .others = {9}});
  CHECK(ours.pack_count.value <= paper.sets[0].packing.count.value);
  CHECK(ours.dropped.empty());
  CHECK(ours.balance[0].mean_ratio <= paper.distance[0]);
  CHECK(ours.balance[1].mean_ratio < paper.distance[1] / 5);
}

TEST_CASE("omnibal: what exceeds a capacity is listed, and capacities can be chosen") {
  images d(2000, 3);
  d.tiles[17] = 10;
  d.tokens[400] = 4097;
  auto const plan = omnibal::plan_data(d.tiles, d.tokens, {.ranks = 1});
  CHECK(plan.sets[0].packing.set_aside == std::vector<std::uint32_t>{17, 400});
  CHECK(plan.steps.dropped == plan.sets[0].packing.set_aside);
  auto const chosen = omnibal::pack_data({d.tiles, d.tokens, {.spare = 100}}, {.choose_capacities = true});
  ballast::sampling_options const published{.finish = ballast::sampling_finish::next_fit, .keep = ballast::kept_round::last};
  auto const search =
      ballast::choose_capacities({d.tiles, d.tokens}, {.ranks = 8, .spare = 100, .sampling = published, .seed = 1024}).chosen();
  CHECK(chosen.limits == omnibal::pack_limits{search.capacity[0], search.capacity[1], 100});
  CHECK(chosen.packing.count.value == search.packs);  // packed as they were tried
  CHECK(chosen.packing.set_aside.empty());
  CHECK(omnibal::plan_data({}, {}).steps.steps() == 0);
}

TEST_CASE("omnibal: packs as published, where more rounds waste what large samples need", "[published]") {
  images d(0, 1);
  ballast::splitmix64 draw(5);
  for (std::size_t i = 0; i < 1060; ++i) {  // of the large ones, no two share a pack
    d.tiles.push_back(i < 600 ? 5 : i < 960 ? 3 : 1);
    d.tokens.push_back(256 * d.tiles.back() + between(0, 199, draw));
  }
  auto const packs = [&](omnibal::options const& o) { return omnibal::pack_data({d.tiles, d.tokens, {}}, o).packing.packs.size(); };
  CHECK(packs({.rounds = 50}) > packs({.rounds = 2}));
  CHECK(packs({.keep = ballast::kept_round::best}) < packs({}));
  CHECK(packs({.finish = ballast::sampling_finish::best_fit, .keep = ballast::kept_round::best}) == 600);
}

TEST_CASE("omnibal: the filter with fewest packs, of those that the code tries", "[published]") {
  images d(3000, 6);
  ballast::splitmix64 draw(9);
  for (auto& t : d.tokens) t += between(0, 900, draw);  // so that tokens fill packs, too
  auto const found = omnibal::pack_data({d.tiles, d.tokens, {}}, {.filters = 10});
  std::size_t fewest = 0;
  std::int64_t spare = 0;
  for (std::int64_t s = 0; s <= 36; s += 4) {
    auto const packs = omnibal::pack_data({d.tiles, d.tokens, {.spare = s}}).packing.packs.size();
    if (s > 0 && packs >= fewest) continue;
    fewest = packs;
    spare = s;
  }
  CHECK(found.packing.packs.size() == fewest);
  CHECK(found.limits.spare == spare);
  CHECK(spare > 0);
}

TEST_CASE("omnibal: data sets with limits of their own share no step") {
  images const d(3000, 7);
  ballast::splitmix64 draw(8);
  std::vector<std::int64_t> const none(2000, 0);
  std::vector<std::int64_t> text;
  for (int i = 0; i < 2000; ++i) text.push_back(between(100, 3000, draw));
  std::vector<omnibal::data_set> const sets{{d.tiles, d.tokens, {}}, {none, text, {.tiles = 1, .tokens = 8192, .spare = 28}}};
  auto const plan = omnibal::plan_data_sets(sets, {.ranks = 4, .micro_batches = 2});
  auto const alone = omnibal::plan_data(d.tiles, d.tokens, {.ranks = 4, .micro_batches = 2});
  REQUIRE(plan.sets.size() == 2);
  CHECK(plan.sets[0].packing.packs == alone.sets[0].packing.packs);
  std::size_t of_text = 0, changes = 0, before = 2;
  std::vector<int> stands(5000, 0);
  for (std::size_t s = 0; s < plan.steps.steps(); ++s) {
    std::size_t members = 0, from_text = 0;
    for (auto const pack : plan.steps.packs_of(s)) {
      std::int64_t tokens = 0;
      for (auto const i : pack) {
        ++stands[i];
        ++members;
        from_text += i >= 3000 ? 1U : 0U;
        tokens += i >= 3000 ? text[i - 3000] : d.tokens[i];
      }
      CHECK(tokens <= (from_text > 0 ? 8192 : 4096));
    }
    CHECK((from_text == 0 || from_text == members));
    auto const kind = std::size_t{from_text > 0};
    of_text += kind;
    changes += kind != before ? 1U : 0U;
    before = kind;
  }
  CHECK(plan.steps.steps() == alone.steps.steps() + of_text);
  CHECK(changes > of_text / 2);  // mixed, not one set after the other
  for (auto const i : plan.steps.dropped) ++stands[i];
  CHECK(std::count(stands.begin(), stands.end(), 1) == 5000);
}

TEST_CASE("omnibal: refusals") {
  std::vector<std::int64_t> const one{1}, two{300, 400};
  CHECK(refusal([&] { return omnibal::plan_data(one, two); }) == "measure 1 has 2 values, measure 0 has 1");
  CHECK(refusal([&] { return omnibal::plan_data(two, two, {.ranks = 0}); }) == "ranks = 0 must be in 1 ... 2^20 - 1");
  CHECK(refusal([&] { return omnibal::plan_data(two, two, {.rounds = 0}); }) == "rounds = 0 must be positive");
  CHECK(refusal([&] { return omnibal::plan_data(two, two, {.micro_batches = 0}); }) == "micro_batches = 0 must be in 1 ... 2^20 - 1");
  CHECK(refusal([&] { return omnibal::plan_data(two, two, {.limits = {.tokens = 0}}); }) == "capacity[1] = 0 must be positive");
}

}  // namespace test_methods_omnibal
