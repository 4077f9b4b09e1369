// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/batch_shapes.hpp>

#include <ballast/sharding/make_shards.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace test_plan_batch_shapes {

namespace {

using namespace ballast;
using ballast_test::refusal;

}  // namespace

TEST_CASE("shapes_of: tokens and squares of each pack") {
  groups<> packs;
  packs.push_back(std::vector<std::uint32_t>{0, 2});
  packs.push_back(std::vector<std::uint32_t>{1});
  std::vector<std::int64_t> tokens{3, 5, 4};
  CHECK(shapes_of(packs, std::span<std::int64_t const>(tokens)) ==
        std::vector<batch_shape>{{.tokens = 7, .squares = 25}, {.tokens = 5, .squares = 25}});
  std::vector<std::int64_t> const tiles{1, 0, 7};
  CHECK(shapes_of(packs, std::span<std::int64_t const>(tokens), std::span<std::int64_t const>(tiles)) ==
        std::vector<batch_shape>{{.tokens = 7, .squares = 25, .tiles = 8}, {.tokens = 5, .squares = 25}});
  CHECK(refusal([&] { return shapes_of(packs, std::span<std::int64_t const>(tokens), std::span<std::int64_t const>(tiles).first(2)); }) ==
        "tiles has 2 entries for 3 samples");
  tokens[2] = std::int64_t{1} << 32;
  CHECK(refusal([&] { return shapes_of(packs, std::span<std::int64_t const>(tokens)); }) ==
        "tokens[2] = 4294967296 is negative, or brings a sum of squares to 2^63");
  tokens.pop_back();
  CHECK(refusal([&] { return shapes_of(packs, std::span<std::int64_t const>(tokens)); }) ==
        "packs[0] has index 2, but there are 2 samples");
}

TEST_CASE("shapes_of: each pass of shards has its tokens, and its part of the attention") {
  std::vector<std::int64_t> const lengths{101, 7, 12};
  pass_list<> list;
  list.ranks.push_back(std::vector<std::uint32_t>{0, 1, 2, 3});
  list.placements = {{0, 0}, {1, 0, 2}, {2, 0}};
  for (auto const layout : {share_layout::zigzag, share_layout::contiguous}) {
    auto const shapes = shapes_of(make_shards(lengths, list, 4, layout));
    std::int64_t const part = 2551 + 36;  // 101^2 / 4 rounded up, and 12^2 / 4
    CHECK(shapes == std::vector<batch_shape>{{29, part}, {28, part}, {28 + 7, part + 49}, {28, part}});
  }

  // A part of a sample that begins later attends to what is before it: all parts together bring all squares.
  shards<> parts;
  parts.rank_offsets = {0, 2};
  parts.pass_offsets = {0, 1, 2};
  parts.pieces = {{0, 0, 10}, {0, 10, 30}};
  CHECK(shapes_of(parts) == std::vector<batch_shape>{{10, 100}, {20, 800}});
  parts.pieces[1].group = 0;
  CHECK(refusal([&] { return shapes_of(parts); }) == "pieces.group[1] = 0 is no group");
  parts.pieces[0].end = 0;
  CHECK(refusal([&] { return shapes_of(parts); }) == "pieces[0] has the tokens 0 to 0, which are none, or have a square of 2^63 or more");
}

}  // namespace test_plan_batch_shapes
