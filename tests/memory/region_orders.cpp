// SPDX-License-Identifier: Apache-2.0
#include <ballast/memory/region_orders.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace test_memory_region_orders {

using namespace ballast;
using ballast_test::refusal;

TEST_CASE("region_orders: the signs of the questions lead to an order") {
  auto const batch = symbolic::of(0), length = symbolic::of(1), product = symbolic::of(0);
  constexpr auto none = region_node::none;
  region_orders tree{.orders = {{0, 1}, {1, 0}},
                     .dimensions = {{"batch", 1, 8}, {"length", 1, 100}},
                     .quantities = {batch * length},
                     .nodes = {{product - 50, 1, 2}, {{}, none, none, 0, true}, {product - 200, 3, none}, {{}, none, none, 1, true}}};
  auto const pick = [&](std::int64_t b, std::int64_t l) { return tree.pick(std::array{b, l}); };
  CHECK(pick(1, 49) == picked_order{0, true});
  CHECK(pick(7, 7) == picked_order{0, true});
  CHECK(pick(1, 50) == picked_order{1, true});
  CHECK(pick(2, 99) == picked_order{1, true});
  CHECK(pick(2, 100) == picked_order{1, false});  // no batch is known for which the second question is not negative
  CHECK(tree.regions() == 2);
  CHECK(!tree.decided());
  tree.nodes[2].other = 3;
  CHECK(tree.decided());
  CHECK(pick(8, 100) == picked_order{1, true});
  tree.nodes[3].decided = false;
  CHECK(!tree.decided());
  CHECK(pick(8, 100) == picked_order{1, false});
  CHECK(refusal([&] { return pick(9, 1); }) == "values[0] = 9 is outside the range of batch");
  CHECK(refusal([&] { return tree.pick(std::array<std::int64_t, 1>{1}); }) == "1 value for 2 dimensions");
}

}  // namespace test_memory_region_orders
