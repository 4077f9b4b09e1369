// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/snake.hpp>

#include "suite.hpp"

namespace test_balance_snake {

using namespace ballast_test;

namespace {
auto const snaking = [](auto const& items, balance_options const& o, auto const& cost, auto const& size) {
  return ballast::snake(items, o, cost, size);
};
auto const snaking64 = [](auto const& items, balance_options const& o, auto const& cost, auto const& size) {
  return ballast::snake<std::uint64_t>(items, o, cost, size);
};
}  // namespace

TEST_CASE("snake: valid, bounded, the same twice") { keeps_its_promises(snaking); }

TEST_CASE("snake: forth and back, and without room to the least loaded set") {
  auto const plan = ballast::snake(numbers{1, 2, 3, 4, 5, 6, 7, 8}, {.sets = 3});
  CHECK(plan.sets == ballast::groups<>{{0, 3, 6, 8}, {7, 2, 1, 6, 3, 0, 5, 4}});
  CHECK(plan.load == ballast::certificate{13, 12});
  auto const tight = ballast::snake(numbers{6, 5, 4, 3}, {.sets = 2, .capacity = 10, .max_items = 2});
  CHECK(tight.load.value == 9);
  auto const full = ballast::snake(numbers{9, 2, 2, 2, 2}, {.sets = 2, .capacity = 9});
  CHECK(full.sets == ballast::groups<>{{0, 1, 5}, {0, 1, 2, 3, 4}});
}

TEST_CASE("snake: corners") { handles_corners(snaking, snaking64); }

TEST_CASE("snake: golden") { CHECK(golden_hash(snaking) == 15819960719730815285U); }

}  // namespace test_balance_snake
