// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/check_graph.hpp>
#include <ballast/core/graph.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <vector>

namespace test_core_graph {

namespace {

// x -> square -> y -> sum (with x) -> z; z is changed in place to w.
ballast::graph small() {
  ballast::graph g;
  auto const x = g.add({.name = "x", .bytes = 8}), y = g.add({.name = "y", .bytes = 8}), z = g.add({.name = "z", .bytes = 4});
  auto const w = g.add({.name = "w", .bytes = 4, .kept = true, .shares = z, .in_place = true});
  g.add({.name = "square", .time = 3}, {x}, {y});
  g.add({.name = "sum", .time = 1, .workspace = 16}, {x, y}, {z});
  g.add({.name = "halve"}, {z}, {w});
  return g;
}

}  // namespace

TEST_CASE("graph: rows, makers, readers and shared memory") {
  auto g = small();
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
