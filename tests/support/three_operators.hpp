// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/graph/graph.hpp>

namespace ballast_test {

/// x -> square -> y -> sum (with x) -> z; z is changed in place to w.
[[nodiscard]] inline ballast::graph three_operators() {
  ballast::graph g;
  auto const x = g.add({.name = "x", .bytes = 8}), y = g.add({.name = "y", .bytes = 8}), z = g.add({.name = "z", .bytes = 4});
  auto const w = g.add({.name = "w", .bytes = 4, .kept = true, .shares = z, .in_place = true});
  g.add({.name = "square", .time = 3}, {x}, {y});
  g.add({.name = "sum", .time = 1, .workspace = 16}, {x, y}, {z});
  g.add({.name = "halve"}, {z}, {w});
  return g;
}

}  // namespace ballast_test
