// SPDX-License-Identifier: Apache-2.0
#include <ballast/footprint/training_graph.hpp>
#include <ballast/graph/symbolic.hpp>
#include <ballast/memory.hpp>
#include <ballast/methods/roam.hpp>
#include <ballast/recompute/graph/recompute_graph.hpp>

#include "show.hpp"

#include <span>

namespace plan_hashes {

using namespace ballast;

inline void put(digest& d, memory_layout const& l) { put(d, l.status, l.height, l.offsets); }
inline void put(digest& d, memory_order const& o) { put(d, o.order, o.peak); }

namespace {

graph step(std::int64_t layers, std::int64_t length) {
  return training_graph(
      transformer{.layers = layers, .hidden = 64, .query_heads = 4, .kv_heads = 2, .head_width = 16, .ffn = 96, .vocabulary = 300},
      std::int64_t{2}, length, {.scores = length > 20});
}
std::vector<buffer> drawn_buffers(std::size_t count, splitmix64& draw) {
  std::vector<buffer> out;
  for (std::size_t i = 0; i < count; ++i) {
    auto const lower = between(0, 40, draw);
    out.push_back({lower, lower + between(1, 12, draw), between(1, 30, draw), i % 9 == 0 ? 4 : 1});
  }
  return out;
}

}  // namespace

void memory() {
  splitmix64 draw(91);
  for (std::size_t const n : {5U, 40U, 90U}) {
    auto const buffers = drawn_buffers(n, draw);
    auto const name = std::to_string(n);
    show("layout_buffers", name, layout_buffers(buffers, {.seed = n}, {.work = 20'000'000}));
    show("layout_buffers_quickly", name, layout_buffers_quickly(buffers));
    show("first_fit_layout", name, first_fit_layout(buffers));
    show("best_fit_layout", name, best_fit_layout(buffers, fit_order::area));
  }
  for (std::int64_t const layers : {1, 5, 9})
    for (std::int64_t const length : {4, 32}) {
      auto const g = step(layers, length);
      auto const name = std::to_string(layers) + ',' + std::to_string(length);
      auto const ordered = order_operators(g);
      show("order_operators", name, ordered);
      show("order_folded", name, order_folded(g));
      show("list_orders", name, list_order(g, list_rule::net), list_order(g, list_rule::reverse_net), list_order(g, list_rule::least_peak),
           list_order(g, list_rule::breadth_first), list_order(g, list_rule::depth_first));
      auto const planned = roam::plan_memory(g);
      show("roam.plan_memory", name, planned.order, planned.offsets, planned.live, planned.height);
      show("roam.layout_activations_first", name, roam::layout_activations_first(g, ordered.order));
      auto const replay = replay_allocator(planned.buffers.buffers);
      show("replay_allocator", name, replay.live_peak, replay.peak_allocated, replay.peak_reserved);
      auto const peak = [](graph const& h) { return order_operators(h, {.states = 100, .cuts = 4}).peak.value; };
      auto const again =
          recompute_graph(g, peak(g) * 9 / 10, peak, [](graph const& h) { return operator_bound(h); }, {}, {.evaluations = 40});
      show("recompute_graph", name, again.status, again.time, again.peak, again.dropped);
    }
  std::vector<dimension> const dimensions{{"batch", 1, 8}, {"length", 4, 512}};
  auto const open = training_graph(transformer{.layers = 2, .hidden = 64, .query_heads = 4, .kv_heads = 2, .head_width = 16, .ffn = 96},
                                   symbolic::of(0), symbolic::of(1));
  auto const regions = plan_regions(open, dimensions, {.regions = 32, .samples = 256});
  show("plan_regions", "2", regions.orders);
}

}  // namespace plan_hashes
