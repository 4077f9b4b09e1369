// SPDX-License-Identifier: Apache-2.0
#include <ballast/graph/check.hpp>
#include <ballast/graph/repeated_blocks.hpp>

#include "support/catch.hpp"
#include "support/equal_layers.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace test_graph_repeated_blocks {

using namespace ballast;
using ballast_test::equal_layers;

namespace {

graph without_names(graph g) {
  for (auto& o : g.operators) o.name.clear();
  for (auto& t : g.tensors) t.name.clear();
  return g;
}
// The same graph with tensors numbered by their first use.
graph renumbered(graph const& g) {
  graph out;
  std::vector<std::uint32_t> number(g.tensors.size(), graph_tensor<>::own);
  for (std::size_t v = 0; v < g.size(); ++v) {
    std::vector<std::uint32_t> rows[2];
    for (auto const makes : {false, true})
      for (auto const t : (makes ? g.outputs : g.inputs)[v]) {
        if (number[t] == graph_tensor<>::own) {
          number[t] = out.add(g.tensors[t]);
          if (auto const s = g.tensors[t].shares; s != graph_tensor<>::own) out.tensors[number[t]].shares = number[s];
        }
        rows[makes].push_back(number[t]);
      }
    out.add(g.operators[v], rows[0], rows[1]);
  }
  return out;
}
}  // namespace

TEST_CASE("find_repeats: forward, backward and update of each layer") {
  auto const g = equal_layers(9);
  REQUIRE(check_graph(g).valid());
  auto const blocks = find_repeats(g);
  REQUIRE(blocks.layers == 9);
  REQUIRE(blocks.runs.size() == 3);
  CHECK(blocks.runs[0] == repeated_run{.begin = 1, .period = 3, .descending = false});
  CHECK(blocks.runs[1].descending);
  for (std::uint32_t v = 0; v < g.size(); ++v) {
    auto const p = blocks.place_of(v);
    if (p.run == block_place::outside) continue;
    CHECK(blocks.at(p) == v);
    CHECK(g.operators[v].name.find("layer " + std::to_string(p.layer)) == 0);
  }
  CHECK(find_repeats(equal_layers(3)).layers == 0);
  CHECK(find_repeats(graph{}).layers == 0);
  auto uneven = g;
  uneven.tensors[uneven.outputs[blocks.at({0, 4, 0})][0]].bytes += 1;
  CHECK(find_repeats(uneven).layers == 0);
}

TEST_CASE("find_repeats: blocks that look alike but read from elsewhere are no layers") {
  graph g;  // each operator reads the one before, but two read an earlier one
  auto last = g.add({.bytes = 5});
  std::vector<std::uint32_t> made{last};
  for (std::uint32_t i = 0; i < 20; ++i) {
    auto const next = g.add({.bytes = 5});
    g.add({}, {i == 9 || i == 13 ? made[2] : last}, {next});
    made.push_back(last = next);
  }
  CHECK(find_repeats(g).layers == 0);
  graph chain;
  last = chain.add({.bytes = 5});
  for (int i = 0; i < 20; ++i) {
    auto const next = chain.add({.bytes = 5});
    chain.add({}, {last}, {next});
    last = next;
  }
  CHECK(find_repeats(chain).layers == 20);
}

TEST_CASE("without_layers: the graph of a model with fewer layers") {
  for (std::uint32_t const layers : {6U, 9U, 30U})
    for (std::uint32_t const remain : {4U, 5U}) {
      auto const g = equal_layers(layers);
      auto const blocks = find_repeats(g);
      auto const shorter = without_layers(g, blocks, 2, layers - remain);
      REQUIRE(check_graph(shorter.reduced).valid());
      CHECK(renumbered(without_names(shorter.reduced)) == renumbered(without_names(equal_layers(remain))));
      CHECK(shorter.blocks == find_repeats(equal_layers(remain)));
      for (std::size_t v = 0; v < shorter.original.size(); ++v) CHECK(shorter.reduced.operators[v] == g.operators[shorter.original[v]]);
    }
  auto const g = equal_layers(6);
  CHECK(ballast_test::refusal([&] { return without_layers(g, find_repeats(g), 2, 3); }) ==
        "layers 2 ... 5 cannot be left out of 6: two must remain before and behind them");
  CHECK(ballast_test::refusal([&] { return without_layers(g, find_repeats(g), 1, 1); }) != "accepted");
}

}  // namespace test_graph_repeated_blocks
