// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/check_unequal.hpp>
#include <ballast/balance/share_units.hpp>
#include <ballast/core/random.hpp>

#include "support/catch.hpp"

namespace test_balance_share_units {
namespace {

using numbers = std::vector<std::int64_t>;

TEST_CASE("share_units: shares by speed, and what exceeds a memory goes to the others", "[balance]") {
  CHECK(ballast::share_units(512, {.unit_time = {5, 5, 14, 14}}).units == numbers{189, 189, 67, 67});  // 312 and 112 TFLOP/s
  auto const full = ballast::share_units(512, {.unit_time = {5, 5, 14, 14}, .capacity = {100, 300, 40, 400}});
  CHECK(full.units == numbers{100, 274, 40, 98});
  CHECK(full.time == ballast::certificate{1372, 1372});
}

TEST_CASE("share_units: every result is proven", "[balance]") {
  ballast::splitmix64 random(2);
  std::size_t infeasible = 0;
  for (int round = 0; round < 5000; ++round) {
    auto const below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
    ballast::unequal_options options;
    auto const sets = 1 + below(6), units = below(round % 3 == 0 ? 10 : 100'000);
    for (std::int64_t s = 0; s < sets; ++s) {
      options.unit_time.push_back(1 + below(round % 2 == 0 ? 4 : 1000));
      if (round % 5 != 0) options.capacity.push_back(below(static_cast<std::uint64_t>(units + 2)));
    }
    auto const plan = ballast::share_units(units, options);
    infeasible += plan.status == ballast::status::infeasible;
    auto const verdict = ballast::check_shares(plan, units, options);
    INFO(ballast::describe(verdict));
    REQUIRE(verdict.valid());
  }
  CHECK(infeasible > 100);
}

TEST_CASE("share_units: large numbers, and misuse", "[balance]") {
  auto const units = std::int64_t{1} << 62;
  CHECK(ballast::share_units(units, {.unit_time = {1, 1}}).units == numbers{units / 2, units / 2});
  CHECK_THROWS_WITH(ballast::share_units(-1, {.unit_time = {1}}), "units = -1 must be in 0 ... 2^62");
  CHECK_THROWS_AS(ballast::share_units(units, {.unit_time = {1, 2}}), ballast::invalid_input);
}

}  // namespace
}  // namespace test_balance_share_units
