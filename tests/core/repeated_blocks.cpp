// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/check_graph.hpp>
#include <ballast/core/repeat_layers.hpp>
#include <ballast/core/repeated_blocks.hpp>

#include "support/catch.hpp"
#include "support/equal_layers.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace test_core_repeated_blocks {

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
bool can_run(graph const& g, std::vector<std::uint32_t> const& order) {
  auto const uses = uses_of(g);
  std::vector<bool> ran(g.size(), false);
  for (auto const v : order) {
    for (auto const t : g.inputs[v])
      if (uses.maker[t] != graph_uses::none && !ran[uses.maker[t]]) return false;
    ran[v] = true;
  }
  return order.size() == g.size() && std::find(ran.begin(), ran.end(), false) == ran.end();
}
// Runs whatever can run; of several operators the one with the least key.
template <class Key>
std::vector<std::uint32_t> ordered_by(graph const& g, Key&& key) {
  auto const uses = uses_of(g);
  std::vector<std::uint32_t> order;
  std::vector<bool> ran(g.size(), false);
  while (order.size() < g.size()) {
    std::uint32_t best = graph_uses::none;
    for (std::uint32_t v = 0; v < g.size(); ++v) {
      auto ready = !ran[v];
      for (auto const t : g.inputs[v]) ready = ready && (uses.maker[t] == graph_uses::none || ran[uses.maker[t]]);
      if (ready && (best == graph_uses::none || key(v) < key(best))) best = v;
    }
    ran[best] = true;
    order.push_back(best);
  }
  return order;
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

TEST_CASE("repeat_layers: an order that does the same for each layer becomes that order of all layers") {
  auto const g = equal_layers(12);
  auto const blocks = find_repeats(g);
  auto const few = without_layers(g, blocks, 3, 6);
  // Program order; updates as soon as possible; updates of a layer while the one before it runs backward.
  for (auto const delay : {-1, 0, 7}) {  // -1: last
    CAPTURE(delay);
    auto const order_of = [&](graph const& of, repeated_blocks const& b) {
      auto const backward = b.runs[1].begin + b.layers * b.runs[1].period;
      return ordered_by(of, [&](std::uint32_t v) {
        auto const p = b.place_of(v);
        if (delay < 0 || p.run != 2) return std::int64_t{v} * 8;
        auto const last = std::int64_t{backward} - p.layer * b.runs[1].period - 1;  // the layer's last backward
        return (last + delay) * 8 + 1;
      });
    };
    auto const repeated = repeat_layers(blocks, few, order_of(few.reduced, few.blocks), 3);
    CHECK(repeated == order_of(g, blocks));
    CHECK(can_run(g, repeated));
  }
}

TEST_CASE("repeat_layers: an order that does not repeat is not repeated") {
  auto const g = equal_layers(12);
  auto const blocks = find_repeats(g);
  auto const few = without_layers(g, blocks, 3, 6);
  std::vector<std::uint32_t> order(few.reduced.size());
  std::iota(order.begin(), order.end(), 0U);
  // The update of one layer, alone, moved from the end to the middle of the backward pass.
  auto const early = few.blocks.at({2, 3, 0});
  std::erase(order, early);
  order.insert(std::find(order.begin(), order.end(), few.blocks.at({1, 1, 0})), early);
  auto const repeated = repeat_layers(blocks, few, order, 3);
  CHECK(repeated.empty());
}

}  // namespace test_core_repeated_blocks
