// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/share_units.hpp>
#include <ballast/core/random.hpp>
#include <ballast/methods/whale.hpp>

#include "support/catch.hpp"

#include <numeric>

namespace test_methods_whale {
namespace {

using numbers = std::vector<std::int64_t>;

TEST_CASE("whale: shares by speed, and what exceeds a memory goes to the idle", "[methods]") {
  // Speeds of 1/5 and 1/14: 188.6 and 67.4 of 512.
  CHECK(ballast::whale::share_units(512, {.unit_time = {5, 5, 14, 14}}).units == numbers{189, 189, 67, 67});
  CHECK(ballast::whale::share_units(512, {.unit_time = {5, 5, 14, 14}, .capacity = {100, 300, 40, 400}}).units ==
        numbers{100, 274, 40, 98});
  // Rounded down and filled up by speed, it may be a unit worse than it could be.
  CHECK(ballast::whale::share_units(3, {.unit_time = {10, 11, 12}}).units == numbers{2, 1, 0});
  CHECK(ballast::share_units(3, {.unit_time = {10, 11, 12}}).units == numbers{1, 1, 1});
}

TEST_CASE("whale: never faster than the optimum, and infeasible where that is", "[methods]") {
  ballast::splitmix64 random(4);
  std::size_t slower = 0;
  for (int round = 0; round < 2000; ++round) {
    auto const below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
    ballast::unequal_options options;
    auto const sets = 1 + below(6), units = below(1000);
    for (std::int64_t s = 0; s < sets; ++s) {
      options.unit_time.push_back(1 + below(20));
      options.capacity.push_back(below(500));
    }
    auto const theirs = ballast::whale::share_units(units, options);
    auto const best = ballast::share_units(units, options);
    REQUIRE(theirs.status == best.status);
    REQUIRE(theirs.shortage == best.shortage);
    if (best.status != ballast::status::feasible) continue;
    REQUIRE(std::accumulate(theirs.units.begin(), theirs.units.end(), std::int64_t{0}) == units);
    for (std::size_t s = 0; s < theirs.units.size(); ++s) REQUIRE(theirs.units[s] <= options.capacity[s]);
    REQUIRE(theirs.time.value >= best.time.value);
    slower += theirs.time.value > best.time.value;
  }
  CHECK(slower > 0);
}

}  // namespace
}  // namespace test_methods_whale
