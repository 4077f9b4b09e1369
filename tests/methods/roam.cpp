// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/training_graph.hpp>
#include <ballast/memory/check_layout.hpp>
#include <ballast/memory/check_order.hpp>
#include <ballast/memory/list_orders.hpp>
#include <ballast/memory/peak.hpp>
#include <ballast/memory/replay_allocator.hpp>
#include <ballast/methods/roam.hpp>

#include "support/catch.hpp"
#include "support/equal_layers.hpp"
#include "support/graph_families.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace test_methods_roam {

using namespace ballast;

namespace {

std::vector<std::uint32_t> program_order(graph const& g) {
  std::vector<std::uint32_t> out(g.size());
  std::iota(out.begin(), out.end(), 0U);
  return out;
}
void require_sound(graph const& g, roam::memory_plan const& plan) {
  REQUIRE(check_order(g, plan.order, plan.live).valid());
  REQUIRE(plan.buffers == buffers_of(g, plan.order));
  memory_layout const placed{
      .status = status::feasible, .height = plan.height, .bound = {}, .offsets = plan.offsets, .nodes = 0, .complete = true};
  REQUIRE(check_layout(plan.buffers.buffers, placed).valid());
  REQUIRE(plan.height.lower_bound == plan.live.lower_bound);
  REQUIRE(plan.live.value <= plan.height.value);
}
graph gpt2_xl(std::int64_t layers, std::int64_t tokens) {
  auto model = transformer_preset("gpt2-xl");
  model.layers = layers;
  return training_graph(model, std::int64_t{1}, tokens);
}

}  // namespace

TEST_CASE("roam::plan_memory: a valid order, a valid layout of it, one certificate") {
  for (std::uint64_t seed = 0; seed < 120; seed += ballast_test::round_step) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const g = seed % 2 == 0 ? ballast_test::series_parallel_graph(1 + uniform_below(40, generator), generator)
                                 : ballast_test::layered_graph(1 + uniform_below(40, generator), 5, generator);
    auto const plan = roam::plan_memory(g);
    require_sound(g, plan);
    REQUIRE(plan.complete);
    for (auto const& order : {program_order(g), list_order(g, list_rule::net), list_order(g, list_rule::reverse_net)})
      REQUIRE(plan.live.value <= evaluate_order(g, order).peak);
  }
  auto const nothing = roam::plan_memory({});
  CHECK(nothing.height == certificate{0, 0});
  CHECK(nothing.offsets.empty());
}

TEST_CASE("roam::plan_memory: training steps of GPT2-XL are proven optimal, without fragments, below PyTorch") {
  for (auto const tokens : {128, 1024})
    for (auto const layers : {4, 12, 48}) {
      CAPTURE(tokens, layers);
      auto const g = gpt2_xl(layers, tokens);
      auto const plan = roam::plan_memory(g);
      require_sound(g, plan);
      CHECK(plan.height.optimal());
      auto const eager = replay_allocator(buffers_of(g, program_order(g)).buffers);
      CHECK(eager.live_peak == evaluate_order(g, program_order(g)).peak);
      CHECK(plan.height.value < eager.live_peak);
      CHECK(eager.live_peak <= eager.peak_reserved);
    }
}

TEST_CASE("roam::layout_activations_first: what the backward pass reads is at the bottom, in the order in which it is made") {
  for (auto const& g : {ballast_test::equal_layers(8), gpt2_xl(3, 256)}) {
    auto const order = list_order(g, list_rule::net);
    auto const buffers = buffers_of(g, order);
    auto const placed = roam::layout_activations_first(g, order);
    REQUIRE(check_layout(buffers.buffers, placed).valid());
    std::int64_t backward = 0;
    while (g.operators[order[static_cast<std::size_t>(backward)]].kind == operator_kind::forward) ++backward;
    std::vector<std::pair<std::int64_t, std::int64_t>> long_lived;  // address and step
    std::int64_t bytes = 0;
    for (std::size_t b = 0; b < buffers.buffers.size(); ++b)
      if (buffers.buffers[b].lower < backward && buffers.buffers[b].upper > backward) {
        long_lived.emplace_back(placed.offsets[b], buffers.buffers[b].lower);
        bytes += buffers.buffers[b].size;
      }
    std::sort(long_lived.begin(), long_lived.end());
    REQUIRE(long_lived.size() > 8);
    CHECK(long_lived.front().first == 0);
    CHECK(long_lived.back().first < bytes);
    CHECK(std::is_sorted(long_lived.begin(), long_lived.end(), [](auto const& a, auto const& b) { return a.second < b.second; }));
  }
}

}  // namespace test_methods_roam
