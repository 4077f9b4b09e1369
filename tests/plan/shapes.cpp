// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/shapes.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace test_plan_shapes {

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

}  // namespace test_plan_shapes
