// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/layer.hpp>
#include <ballast/graph/symbolic.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <random>

namespace test_cost_layer {

using namespace ballast;

TEST_CASE("batch_cost: is linear in a micro-batch, and says whether it fits") {
  batch_cost const cost{.per_token = 3, .per_square = 2, .per_tile = 5, .per_batch = 7};
  batch_shape const batch{.tokens = 10, .squares = 58, .tiles = 4};
  CHECK(cost(batch) == 30 + 116 + 20 + 7);
  CHECK(cost({}) == 7);
  CHECK((cost + cost)(batch) == 2 * cost(batch));
  CHECK(cost.over(symbolic::of(0), symbolic::of(1), symbolic::of(2))(batch.values()) == cost(batch));
  CHECK(cost.fits(batch));
  CHECK_FALSE(cost.fits({.tokens = std::int64_t{1} << 62}));
  CHECK_FALSE(cost.fits({.tokens = -1}));
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  batch_shape const one{.tokens = 1};
  CHECK(batch_cost{.per_token = most - 7, .per_batch = 7}.fits(one));
  CHECK(batch_cost{.per_token = most - 7, .per_batch = 7}(one) == most);
  CHECK_FALSE(batch_cost{.per_token = most - 7, .per_batch = 8}.fits(one));
  CHECK_FALSE(batch_cost{.per_batch = -1}.fits({}));
}

TEST_CASE("batch_cost: products, the larger of two and costs by tile keep the constant of a micro-batch apart", "[property]") {
  std::mt19937 rng(7);
  auto const number = [&] { return static_cast<std::int64_t>(rng() % 100); };
  auto const any = [&] { return batch_cost{number(), number(), number(), number()}; };
  for (int round = 0; round < 100; ++round) {
    auto const a = any(), b = any();
    batch_shape const batch{number(), number(), number()}, tile{number(), number(), 0};
    CHECK((5 * a)(batch) == 5 * a(batch));
    auto const most = most_of(a, b);
    CHECK((most.covers(a) && most.covers(b) && most(batch) >= (std::max)(a(batch), b(batch))));
    CHECK((a + b).covers(most));
    CHECK(a.covers(b) == (most == a));
    auto const tiles = a.by_tile(tile);  // n tiles are n times the cost of one, and the constant once
    CHECK(tiles({.tiles = batch.tiles}) == a.per_batch + batch.tiles * (a(tile) - a.per_batch));
  }
}

TEST_CASE("layer: an option that keeps no less than the one before it is left out") {
  layer of{.name = "block"};
  of.add({.bytes = {.per_token = 9, .per_tile = 4}});
  of.add({recomputation::selective, {.per_token = 9, .per_tile = 4}, {.per_token = 1}});
  CHECK(of.options.size() == 1);
  of.add({recomputation::selective, {.per_token = 20, .per_tile = 3}, {.per_token = 1}});  // for some batches it is less
  of.add({recomputation::full, {.per_token = 20, .per_square = 1, .per_tile = 3}, {.per_token = 1}});
  of.add({recomputation::full, {.per_token = 20, .per_tile = 3, .per_batch = 2}, {.per_token = 1}});
  REQUIRE(of.options.size() == 2);
  CHECK(of.options[1].recomputed == recomputation::selective);
}

}  // namespace test_cost_layer
