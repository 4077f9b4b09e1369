// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/sharding/make_shards.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_sharding_make_shards {

using ballast::pass_list;
using ballast_test::refusal;

TEST_CASE("make_shards: every token is on one rank, and shares differ by one token at most") {
  ballast::splitmix64 draw(1);
  for (int round = 0; round < 200; ++round) {
    auto const layout = draw() % 2 == 0 ? ballast::share_layout::zigzag : ballast::share_layout::contiguous;
    auto const width = static_cast<std::size_t>(ballast_test::between(1, 9, draw));
    auto const lengths = ballast_test::random_lengths(static_cast<std::size_t>(ballast_test::between(1, 20, draw)), 300, draw);
    pass_list<> list;
    std::vector<std::uint32_t> ranks(width);
    for (std::size_t k = 0; k < width; ++k) ranks[k] = static_cast<std::uint32_t>(k);
    list.ranks.push_back(ranks);
    for (std::uint32_t i = 0; i < lengths.size(); ++i) list.placements.push_back({.sample = i});
    std::int64_t all = 0;
    for (auto const l : lengths) all += l;
    if (all < static_cast<std::int64_t>(width)) continue;
    auto const plan = make_shards(lengths, list, width, layout);
    std::vector<std::vector<int>> seen;
    for (auto const l : lengths) seen.emplace_back(static_cast<std::size_t>(l), 0);
    std::vector<std::int64_t> tokens(width, 0);
    for (std::size_t r = 0; r < width; ++r)
      for (auto const& p : plan(r, 0)) {
        CHECK(p.begin < p.end);
        tokens[r] += p.end - p.begin;
        for (auto t = p.begin; t < p.end; ++t) ++seen[p.sample][static_cast<std::size_t>(t)];
      }
    for (auto const& s : seen) CHECK(std::all_of(s.begin(), s.end(), [](int times) { return times == 1; }));
    auto const [least, most] = std::minmax_element(tokens.begin(), tokens.end());
    CHECK(*most - *least <= 1);
  }
}

TEST_CASE("make_shards: zigzag gives each rank an early and a late chunk") {
  pass_list<> list;
  std::uint32_t const ranks[] = {0, 1};
  list.ranks.push_back(ranks);
  list.placements = {{.sample = 0}, {.sample = 1, .rank = 1}};
  auto const plan = make_shards(std::vector{8, 3}, list, 2);
  using piece = ballast::piece<>;
  CHECK(plan.pieces == std::vector<piece>{{0, 0, 2, 0}, {0, 6, 8, 0}, {0, 2, 6, 0}, {1, 0, 3, ballast::not_shared}});
  CHECK(make_shards(std::vector{8, 3}, list, 2, ballast::share_layout::contiguous).pieces ==
        std::vector<piece>{{0, 0, 4, 0}, {0, 4, 8, 0}, {1, 0, 3, ballast::not_shared}});
}

TEST_CASE("make_shards: refuses placements that name nothing") {
  std::vector const lengths{8, 3};
  std::uint32_t const ranks[] = {0, 1};
  pass_list<> list;
  list.ranks.push_back(ranks);
  list.placements = {{.sample = 2}};
  CHECK(refusal([&] { return make_shards(lengths, list, 2); }) == "placements[0].sample = 2 must be below 2");
  list.placements = {{.sample = 0, .pass = 1}};
  CHECK(refusal([&] { return make_shards(lengths, list, 2); }) == "placements[0].pass = 1 must be below 1");
  list.placements = {{.sample = 0, .rank = 7}};
  CHECK(refusal([&] { return make_shards(lengths, list, 2); }) == "rank 7 is not in pass 0");
  CHECK(refusal([&] { return make_shards(lengths, list, 1); }) == "ranks.members[1] = 1 must be below ranks = 1");
  list.placements = {{.sample = 0}};
  CHECK(refusal([&] { return make_shards(std::vector{1}, list, 2); }) == "pass 0 shares 1 token among 2 ranks");
  CHECK(refusal([&] { return make_shards(std::vector{0}, list, 2); }) == "lengths[0] = 0 must be positive");
}

}  // namespace test_sharding_make_shards
