// SPDX-License-Identifier: Apache-2.0
#include <ballast/footprint/training_graph.hpp>
#include <ballast/graph/check.hpp>
#include <ballast/graph/symbolic_graph.hpp>

#include "support/catch.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace test_graph_symbolic_graph {

using namespace ballast;

TEST_CASE("symbolic_graph: the graph of a batch is the one that is written for it, also over a basis") {
  transformer const model{.layers = 1, .hidden = 8, .query_heads = 2, .kv_heads = 1, .head_width = 4, .ffn = 16, .vocabulary = 32};
  auto const open = training_graph(model, symbolic::of(0), symbolic::of(1), {.scores = true});
  std::array<std::int64_t, 2> const at{3, 24};
  auto const known = training_graph(model, at[0], at[1], {.scores = true});
  CHECK(graph_at(open, at) == known);
  std::vector<dimension> const declared{{"batch", 1, 64}, {"length", 1, 4096}};
  auto const basis = solve_dimensions(declared, std::vector<dimension_equality>{{symbolic::of(1), 8 * symbolic::of(0)}});
  auto const reduced = over_basis(open, basis);
  CHECK(check_graph(reduced).valid());
  CHECK(graph_at(reduced, basis.values(std::array<std::int64_t, 1>{3})) == known);
  for (auto const& t : reduced.tensors)
    for (auto const& term : t.bytes.terms()) CHECK(term.powers.size() < 2);
}

}  // namespace test_graph_symbolic_graph
