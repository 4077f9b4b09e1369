// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/methods/omnibal_units.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace test_methods_omnibal_units {

using namespace ballast_test;
namespace omnibal = ballast::omnibal;

namespace {
using numbers = std::vector<std::int64_t>;

ballast::groups<> singles(std::size_t count) {
  ballast::groups<> out;
  for (std::uint32_t i = 0; i < count; ++i) out.push_back(std::span(&i, 1));
  return out;
}
}  // namespace

TEST_CASE("omnibal_units: neighbours in length are one unit, the first packs fill the last", "[published]") {
  numbers const tiles{2, 0, 3, 1, 2}, tokens{90, 10, 100, 20, 80};
  auto const found = omnibal::sequence_units_of(singles(5), {tiles, tokens}, 2);
  REQUIRE(found.units.size() == 3);
  CHECK(found.units.members == std::vector<std::uint32_t>{1, 3, 4, 0, 0, 2});  // lengths 10 20 | 80 90 | 90 100
  CHECK(found.repeated == std::vector<std::uint32_t>{0});
  CHECK(found.padding == 30.0 / 420);
  CHECK(std::abs(found.distance[0] - (0.0 + 0.0 + 1.0 / 6) / 3) < 1e-12);  // no tile counts as one
  CHECK(std::abs(found.distance[1] - (10.0 / 40 + 10.0 / 180 + 10.0 / 200) / 3) < 1e-12);
  auto const tripled = omnibal::sequence_units_of(singles(1), {numbers{1}, numbers{7}}, 3);
  CHECK(tripled.units.members == std::vector<std::uint32_t>{0, 0, 0});
  CHECK(tripled.padding == 0);
  CHECK(omnibal::sequence_units_of(singles(0), {numbers{}, numbers{}}, 4).units.empty());
}

TEST_CASE("omnibal_units: padding falls to nothing as packs grow in number") {
  ballast::splitmix64 draw(1);
  auto const tokens = random_lengths(4001, 4096, draw), tiles = random_lengths(4001, 9, draw);
  auto const found = omnibal::sequence_units_of(singles(4001), {tiles, tokens}, 4);
  CHECK(found.units.size() == 1001);
  CHECK(found.repeated.size() == 3);
  CHECK((found.padding > 0 && found.padding < 0.001));
  CHECK(found.distance[1] < 0.003);
  std::vector<int> stands(4001, 0);
  for (auto const p : found.units.members) ++stands[p];
  for (auto const p : found.repeated) --stands[p];
  CHECK(std::count(stands.begin(), stands.end(), 1) == 4001);
}

TEST_CASE("omnibal_units: refusals") {
  numbers const one{1};
  CHECK(refusal([&] { return omnibal::sequence_units_of(singles(1), {one, one}, 0); }) == "degree = 0 must be positive");
  CHECK(refusal([&] { return omnibal::sequence_units_of(singles(1), {one}, 2); }) == "1 measure, but units are made for 2");
  CHECK(refusal([&] { return omnibal::sequence_units_of(singles(2), {one, one}, 2); }) ==
        "a pack holds 1, which is not the index of a sample");
}

}  // namespace test_methods_omnibal_units
