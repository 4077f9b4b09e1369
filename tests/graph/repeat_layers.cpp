// SPDX-License-Identifier: Apache-2.0
#include <ballast/graph/repeat_layers.hpp>
#include <ballast/graph/repeated_blocks.hpp>

#include "support/catch.hpp"
#include "support/equal_layers.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace test_graph_repeat_layers {

using namespace ballast;
using ballast_test::equal_layers;

namespace {

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

}  // namespace test_graph_repeat_layers
