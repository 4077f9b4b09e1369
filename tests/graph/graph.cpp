// SPDX-License-Identifier: Apache-2.0
#include <ballast/graph/check.hpp>
#include <ballast/graph/graph.hpp>

#include "support/catch.hpp"
#include "support/graph_families.hpp"
#include "support/three_operators.hpp"

#include <cstdint>
#include <vector>

namespace test_graph_graph {

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
  CHECK(uses.content == std::vector<std::uint32_t>{0, 1, 2, 3, 3, 5});
  CHECK(uses.readers.offsets == std::vector<std::uint64_t>{0, 3, 4, 5, 6, 7, 7});
  CHECK(uses.readers.members == std::vector<std::uint32_t>{0, 1, 4, 1, 2, 3, 4});
}

TEST_CASE("graph: memory and contents, tensor by tensor as they are defined") {
  constexpr auto own = ballast::graph_tensor<>::own;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    ballast::splitmix64 generator(seed);
    auto const g = ballast_test::random_graph(40, {}, generator);
    auto const uses = uses_of(g);
    for (std::uint32_t t = 0; t < g.tensors.size(); ++t) {
      auto memory = t, content = t;
      while (g.tensors[memory].shares != own) memory = g.tensors[memory].shares;
      while (g.tensors[content].shares != own && !g.tensors[content].in_place) content = g.tensors[content].shares;
      REQUIRE(uses.memory[t] == memory);
      REQUIRE(uses.content[t] == content);
    }
  }
}

TEST_CASE(
    "graph: long chains of shared memory, and an operator that changes very many tensors in place") {  // each tensor is looked at once
  constexpr std::uint32_t length = 200'000;
  for (std::uint32_t const change_each : {1U, 7U, length}) {
    ballast::graph g;
    auto t = g.add({.bytes = 8});
    for (std::uint32_t i = 1; i < length; ++i) {
      auto const next = g.add({.shares = t, .in_place = i % change_each == 0});
      g.add({}, {t}, {next});
      t = next;
    }
    REQUIRE(check_graph(g).valid());
    CHECK(uses_of(g).memory == std::vector<std::uint32_t>(length, 0));
    CHECK(uses_of(g).content[length - 1] == (length - 1) / change_each * change_each);
  }
  ballast::graph g;
  std::vector<std::uint32_t> reads, makes;
  for (std::uint32_t i = 0; i < length; ++i) reads.push_back(g.add({.bytes = 1}));
  for (auto const x : reads) makes.push_back(g.add({.shares = x, .in_place = true}));
  g.add({}, reads, makes);
  CHECK(check_graph(g).valid());
}

}  // namespace test_graph_graph
