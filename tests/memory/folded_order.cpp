// SPDX-License-Identifier: Apache-2.0
#include <ballast/memory/check_order.hpp>
#include <ballast/memory/folded_order.hpp>
#include <ballast/memory/order.hpp>

#include "support/catch.hpp"
#include "support/equal_layers.hpp"
#include "support/graph_families.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <cstdint>
#include <vector>

namespace test_memory_folded_order {

using namespace ballast;

namespace {

/// Copies of a graph in a row: operators that read nothing read what the last operators of the copy before made.
graph in_a_row(graph const& block, int copies) {
  graph g;
  std::vector<std::uint32_t> last{g.add({.bytes = 50})};
  auto const uses = uses_of(block);
  for (int i = 0; i < copies; ++i) {
    auto const shift = static_cast<std::uint32_t>(g.tensors.size());
    for (auto const& t : block.tensors) g.add(t);
    std::vector<std::uint32_t> ends;
    for (std::size_t v = 0; v < block.size(); ++v) {
      std::vector<std::uint32_t> reads, makes;
      for (auto const t : block.inputs[v])
        if (uses.maker[t] != graph_uses::none) reads.push_back(shift + t);
      if (reads.empty()) reads = last;
      for (auto const t : block.outputs[v]) {
        makes.push_back(shift + t);
        if (uses.readers[t].empty()) ends.push_back(shift + t);
      }
      g.add(block.operators[v], reads, makes);
    }
    last = ends;
  }
  return g;
}

}  // namespace

TEST_CASE("order_folded: as good as the search of all layers where layers are equal") {
  int repeated = 0, rounds = 0;
  for (std::uint64_t seed = 0; seed < 60; seed += ballast_test::round_step, ++rounds) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const block = seed % 2 == 0 ? ballast_test::series_parallel_graph(12, generator) : ballast_test::layered_graph(12, 4, generator);
    auto const g = in_a_row(block, 16);
    REQUIRE(check_graph(g).valid());
    auto const whole = order_operators(g);
    auto const folded = order_folded(g);
    if (folded.order.empty()) continue;
    ++repeated;
    REQUIRE(check_order(g, folded.order, folded.peak).valid());
    if (whole.peak.optimal()) CHECK(folded.peak.value == whole.peak.value);
  }
  CHECK(10 * repeated >= 9 * rounds);
}

TEST_CASE("order_folded: the training step of equal layers, and graphs without more layers than are searched") {
  auto const g = ballast_test::equal_layers(40);
  auto const folded = order_folded(g);
  REQUIRE(check_order(g, folded.order, folded.peak).valid());
  CHECK(folded.peak.value == order_operators(g).peak.value);
  CHECK(order_folded(ballast_test::equal_layers(6)).order.empty());
  CHECK(order_folded(ballast_test::equal_layers(6), {.layers = 5}).order.size() == ballast_test::equal_layers(6).size());
  CHECK(order_folded(graph{}).order.empty());
  CHECK(ballast_test::refusal([&] { return order_folded(g, {.layers = 3}); }) == "layers = 3 must be at least 4");
}

}  // namespace test_memory_folded_order
