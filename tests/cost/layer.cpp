// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/layer.hpp>
#include <ballast/graph/symbolic.hpp>

#include "support/catch.hpp"

#include <array>
#include <cstdint>

namespace test_cost_layer {

using namespace ballast;

TEST_CASE("batch_cost: is linear in a micro-batch, and says whether it fits") {
  batch_cost const cost{.per_token = 3, .per_square = 2, .per_tile = 5};
  batch_shape const batch{.tokens = 10, .squares = 58, .tiles = 4};
  CHECK(cost(batch) == 30 + 116 + 20);
  CHECK((cost + cost)(batch) == 2 * cost(batch));
  CHECK(cost.over(symbolic::of(0), symbolic::of(1), symbolic::of(2))(batch.values()) == cost(batch));
  CHECK(cost.fits(batch));
  CHECK_FALSE(cost.fits({.tokens = std::int64_t{1} << 62}));
  CHECK_FALSE(cost.fits({.tokens = -1}));
}

TEST_CASE("layer: an option that keeps no less than the one before it is left out") {
  layer of{.name = "block"};
  of.add({.bytes = {.per_token = 9, .per_tile = 4}});
  of.add({recomputation::selective, {.per_token = 9, .per_tile = 4}, {.per_token = 1}});
  CHECK(of.options.size() == 1);
  of.add({recomputation::selective, {.per_token = 20, .per_tile = 3}, {.per_token = 1}});  // for some batches it is less
  of.add({recomputation::full, {.per_token = 20, .per_square = 1, .per_tile = 3}, {.per_token = 1}});
  REQUIRE(of.options.size() == 2);
  CHECK(of.options[1].recomputed == recomputation::selective);
}

}  // namespace test_cost_layer
