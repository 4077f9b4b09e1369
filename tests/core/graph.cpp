// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/check_graph.hpp>
#include <ballast/core/graph.hpp>

#include "support/catch.hpp"
#include "support/three_operators.hpp"

#include <cstdint>
#include <vector>

namespace test_core_graph {

TEST_CASE("graph: rows, makers, readers and shared memory") {
  auto g = ballast_test::three_operators();
  CHECK(g.size() == 3);
  CHECK(check_graph(g).valid());
  auto const view = g.add({.name = "view", .shares = 3});
  auto const last = g.add({.name = "last", .bytes = 1});
  g.add({.name = "look"}, {3}, {view});
  g.add({.name = "print"}, {view, 0}, {last});
  CHECK(check_graph(g).valid());
  auto const uses = uses_of(g);
  CHECK(uses.maker == std::vector<std::uint32_t>{ballast::graph_uses::none, 0, 1, 2, 3, 4});
  CHECK(uses.memory == std::vector<std::uint32_t>{0, 1, 2, 2, 2, 5});
  CHECK(uses.readers.offsets == std::vector<std::uint64_t>{0, 3, 4, 5, 6, 7, 7});
  CHECK(uses.readers.members == std::vector<std::uint32_t>{0, 1, 4, 1, 2, 3, 4});
}

}  // namespace test_core_graph
