// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/training_graph.hpp>
#include <ballast/memory/check_order.hpp>
#include <ballast/memory/list_orders.hpp>
#include <ballast/memory/order.hpp>
#include <ballast/memory/order_bounds.hpp>
#include <ballast/memory/peak.hpp>

#include "support/branching_graphs.hpp"
#include "support/catch.hpp"
#include "support/graph_families.hpp"
#include "support/progress_log.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <stop_token>
#include <vector>

namespace test_memory_order {

using namespace ballast_test;
using namespace ballast;

namespace {

using order = std::vector<std::uint32_t>;

order program_order(graph const& g) {
  order out(g.size());
  std::iota(out.begin(), out.end(), 0U);
  return out;
}

std::int64_t best_of_baselines(graph const& g) {
  auto best = evaluate_order(g, program_order(g)).peak;
  for (auto const& each :
       {list_order(g, list_rule::least_peak), list_order(g, list_rule::breadth_first), list_order(g, list_rule::depth_first)})
    best = (std::min)(best, evaluate_order(g, each).peak);
  return best;
}

/// A chain of equal layers: a forward and a backward operator each, then all updates.
graph chain_of_layers(std::uint32_t layers, std::int64_t activation, std::int64_t gradient, std::int64_t weight, std::int64_t state) {
  graph g;
  order x{g.add({.bytes = activation})}, w, s, d(layers + 1), dw(layers);
  for (std::uint32_t i = 0; i < layers; ++i) {
    w.push_back(g.add({.kind = tensor_kind::parameter, .bytes = weight, .kept = true}));
    s.push_back(g.add({.kind = tensor_kind::state, .bytes = state, .kept = true}));
    x.push_back(g.add({.bytes = activation}));
    g.add({}, {x[i], w[i]}, {x[i + 1]});
  }
  for (auto& t : d) t = g.add({.kind = tensor_kind::gradient, .bytes = activation});
  for (auto& t : dw) t = g.add({.kind = tensor_kind::gradient, .bytes = gradient});
  g.add({.kind = operator_kind::backward}, {x[layers]}, {d[layers]});
  for (auto i = layers; i-- > 0;)
    g.add({.kind = operator_kind::backward}, order{d[i + 1], x[i], w[i]}, i > 0 ? order{d[i], dw[i]} : order{dw[i]});
  for (std::uint32_t i = 0; i < layers; ++i) {
    auto const changed_w = g.add({.kept = true, .shares = w[i], .in_place = true});
    auto const changed_s = g.add({.kept = true, .shares = s[i], .in_place = true});
    g.add({.kind = operator_kind::update}, {w[i], s[i], dw[i]}, {changed_w, changed_s});
  }
  return g;
}

}  // namespace

TEST_CASE("order_operators: the least peak of all orders of 3,000 small graphs") {
  int better = 0, cases = 0;
  for (std::uint64_t seed = 0; seed < 3000; seed += round_step) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const n = uniform_below(seed % 10 == 0 ? 17 : 12, generator);
    auto const g = seed % 3 == 2 ? layered_graph(n, 4, generator)
                                 : random_graph(n, {.shared = seed % 2 == 0, .workspace = seed % 5 < 3, .kept = seed % 7 < 5}, generator);
    REQUIRE(check_graph(g).valid());
    auto const least = least_peak_of_all(g).value();
    auto const found = order_operators(g);
    REQUIRE(check_order(g, found.order, found.peak).valid());
    REQUIRE(found.peak == certificate{least, least});
    REQUIRE(found.complete);
    REQUIRE(found == order_operators(g));
    auto const baselines = best_of_baselines(g);
    REQUIRE(found.peak.value <= baselines);
    better += found.peak.value < baselines ? 1 : 0;
    ++cases;
  }
  CHECK(10 * better > cases);
}

TEST_CASE("order_operators: both directions of the exact search find the least peak, or prove that there is none below") {
  for (std::uint64_t seed = 0; seed < 1000; seed += round_step) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const g = random_graph(uniform_below(13, generator), {}, generator);
    auto const p = detail::order_lowering<>(g).lower();
    auto const least = least_peak_of_all(g).value();
    for (bool const backwards : {false, true}) {
      ballast::search_budget budget({});
      using search = detail::downset_search<>;
      search any(p, backwards, 0, std::int64_t{1} << 62), none(p, backwards, 0, least);
      auto result = any.run(1, budget);
      for (std::size_t states = 2; result == search::outcome::paused; ++states) {  // goes on where it stopped
        REQUIRE(any.lower_bound() <= least);
        result = any.run(states, budget);
      }
      REQUIRE(result == search::outcome::found);
      REQUIRE(any.peak() == least);
      REQUIRE(evaluate_order(g, any.order()).peak == least);
      REQUIRE(none.run(1 << 20, budget) == search::outcome::exhausted);
      REQUIRE(none.lower_bound() == least);
    }
  }
}

TEST_CASE("order_operators: valid and never above the baselines or the lists, whatever the limits") {
  for (std::uint64_t seed = 0; seed < 60; seed += round_step) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const n = 20 + uniform_below(150, generator);
    auto const g = seed % 5 == 0   ? random_graph(n, {}, generator)
                   : seed % 5 == 1 ? layered_graph(n, 8, generator)
                   : seed % 5 == 2 ? series_parallel_graph(n, generator)
                   : seed % 5 == 3 ? nested_graph(n, generator)
                                   : random_dag(n, 4, generator);
    auto const baselines = best_of_baselines(g);
    auto best = (std::min)(
        {baselines, evaluate_order(g, list_order(g, list_rule::net)).peak, evaluate_order(g, list_order(g, list_rule::reverse_net)).peak});
    std::int64_t bound = operator_bound(g);
    for (auto const& [options, work] : {std::pair{order_options{.states = 0, .cuts = 0}, std::uint64_t{0}},
                                        {order_options{.states = 0, .cuts = 5}, std::uint64_t{100'000'000}},
                                        {order_options{.states = 2'000}, std::uint64_t{100'000'000}}}) {
      auto const found = order_operators(g, options, {.work = work});
      REQUIRE(check_order(g, found.order, found.peak).valid());
      REQUIRE(found.peak.value <= best);
      REQUIRE(found.peak.lower_bound >= bound);
      REQUIRE(found.complete);
      REQUIRE(found == order_operators(g, options, {.work = work}));
      best = found.peak.value;
      bound = found.peak.lower_bound;
    }
  }
}

TEST_CASE("order_operators: more work never gives a worse order or bound") {
  for (std::uint64_t seed = 0; seed < 6; seed += round_step) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const g = seed % 2 == 0 ? layered_graph(150, 8, generator) : nested_graph(150, generator);
    certificate before{std::int64_t{1} << 62, 0};
    for (std::uint64_t work = 100'000; work <= 100'000'000; work *= 4) {
      auto const peak = order_operators(g, {.states = 4000}, {.work = work}).peak;
      REQUIRE(peak.value <= before.value);
      REQUIRE(peak.lower_bound >= before.lower_bound);
      before = peak;
    }
  }
}

TEST_CASE("order_operators: a chain of layers, updates at once against updates last") {
  for (std::uint32_t layers = 2; layers <= 14; ++layers) {
    CAPTURE(layers);
    splitmix64 generator(layers);
    auto const a = random_bytes(50, generator), g = 2 * a + random_bytes(1000, generator), w = random_bytes(1000, generator);
    auto const s = random_bytes(3000, generator);
    auto const step = chain_of_layers(layers, a, g, w, s);
    auto const held = layers * (w + s);  // all the time
    auto const last = evaluate_order(step, program_order(step)).peak;
    CHECK(last == held + 2 * a + layers * g);  // the first layer's backward finds all other gradients
    auto const found = order_operators(step);
    auto const at_once = held + (layers + 2) * a + g;  // the last layer's backward finds all activations
    CHECK(found.peak == certificate{at_once, at_once});
    CHECK(last - at_once == (layers - 1) * g - layers * a);
  }
  // Adam in 32 bits and a small batch: from 16 bytes for a parameter to 12, and those of one layer's gradient.
  auto const adam = chain_of_layers(24, 0, 4000, 4000, 8000);
  CHECK(evaluate_order(adam, program_order(adam)).peak == 24 * 16'000);
  CHECK(order_operators(adam).peak == certificate{24 * 12'000 + 4000, 24 * 12'000 + 4000});
}

TEST_CASE("order_operators: training steps are proven optimal") {
  auto const proven = [](graph const& g, std::uint64_t most_states) {
    auto const found = order_operators(g);
    CHECK(check_order(g, found.order, found.peak).valid());
    CHECK(found.peak.optimal());
    CHECK(found.states <= most_states);
    CHECK(found.peak.value <= best_of_baselines(g));
    return found.peak.value;
  };
  auto gpt = transformer_preset("gpt2-xl");
  gpt.layers = 12;
  auto const step = training_graph<std::int64_t>(gpt, 1, 128);
  CHECK(12 * evaluate_order(step, program_order(step)).peak > 14 * proven(step, 10));
  gpt.layers = 3;
  proven(training_graph<std::int64_t>(gpt, 2, 1024, {.scores = true}), 10);
  auto qwen = transformer_preset("qwen2.5-7b");
  qwen.layers = 8;
  proven(training_graph<std::int64_t>(qwen, 1, 128), 100);
  for (std::int64_t const batch : {1, 8, 64}) {
    proven(inception_step(9, batch), 1000);
    proven(densenet_step({6, 12, 8}, batch), 100);
    proven(unet_step(5, batch), 100);
  }
}

TEST_CASE("order_operators: graphs with one order fall into parts") {
  splitmix64 generator(1);
  std::vector<graph_row> before(5000);
  for (std::uint32_t v = 1; v < 5000; ++v) before[v].push_back(v - 1);
  auto const chain = graph_of_edges(before, 100, generator);
  CHECK(detail::part_starts(detail::order_lowering<>(chain).lower()).size() == 5001);
  auto const found = order_operators(chain);
  CHECK(found.order == program_order(chain));
  CHECK(found.peak.optimal());
  // A diamond, an operator, a diamond: the two branches of each are the only parts of more than one operator.
  auto const two = detail::order_lowering<>(graph_of_edges({{}, {0}, {0}, {1, 2}, {3}, {4}, {4}, {5, 6}}, 9, generator)).lower();
  CHECK(detail::part_starts(two) == std::vector<std::size_t>{0, 1, 3, 4, 5, 7, 8});
  CHECK(detail::part_starts(detail::order_lowering<>(graph{}).lower()) == std::vector<std::size_t>{0});
}

TEST_CASE("order_operators: long chains of views and of changes in place, and an operator with very many inputs") {
  auto const n = 40'000U / round_step;
  for (bool const in_place : {false, true}) {
    graph g;
    auto t = g.add({.bytes = 8});
    for (std::uint32_t i = 0; i < n; ++i) {
      auto const next = g.add({.shares = t, .in_place = in_place});
      g.add({}, {t}, {next});
      t = next;
    }
    auto const found = order_operators(g);
    CHECK(found.peak == certificate{8, 8});
    CHECK(check_order(g, found.order, found.peak).valid());
    CHECK(buffers_of(g, found.order).buffers.size() == 1);
  }
  graph g;  // a norm of all gradients, and what reads each of them
  auto const loss = g.add({.bytes = 1}), norm = g.add({.bytes = 4, .kept = true});
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < n; ++i) {
    all.push_back(g.add({.bytes = 8}));
    g.add({}, {loss}, {all.back()});
  }
  g.add({}, all, graph_row{norm});
  for (auto const t : all) g.add({}, {t, norm}, {});
  auto const found = order_operators(g);
  CHECK(check_order(g, found.order, found.peak).valid());
  CHECK(found.peak == certificate{8 * std::int64_t{n} + 4, 8 * std::int64_t{n} + 4});
}

TEST_CASE("order_operators: work suffices for many operators, as a window takes none for the others") {
  splitmix64 generator(7);
  auto const n = 30'000U / round_step;
  std::vector<graph_row> before(n);
  for (std::uint32_t v = 1; v < n; ++v)
    for (auto left = uniform_below(5, generator); left > 0; --left) {
      auto const u = static_cast<std::uint32_t>(v - 1 - uniform_below((std::min)(v, 200U), generator));
      if (std::find(before[v].begin(), before[v].end(), u) == before[v].end()) before[v].push_back(u);
    }
  auto const g = graph_of_edges(before, 100, generator);
  auto const found = order_operators(g, {}, {.work = 400'000'000});
  CHECK(check_order(g, found.order, found.peak).valid());
  CHECK(found.peak.gap() < 0.35);  // 0.58 where each window takes work for all operators
}

TEST_CASE("order_operators: the highest of any steps, while steps change") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const n = 1 + draw_below(70, generator);
    std::vector<std::int64_t> memory(n);
    for (auto& m : memory) m = random_bytes(20, generator);
    detail::range_firsts<std::int64_t, std::greater<>> peaks(n, -1);
    peaks.write(0, memory);
    for (int round = 0; round < 20; ++round) {
      auto const begin = draw_below(n, generator), end = begin + 1 + draw_below(n - begin, generator);
      std::span const steps(memory.data() + begin, end - begin);
      auto const most = std::max_element(steps.begin(), steps.end());
      REQUIRE(peaks.first(begin, end) == *most);
      REQUIRE(peaks.where_first(begin, end) == begin + static_cast<std::size_t>(most - steps.begin()));
      for (auto& m : steps) m = random_bytes(20, generator);
      peaks.write(begin, steps);
      memory[begin] = random_bytes(20, generator);
      peaks.set(begin, memory[begin]);
      REQUIRE(peaks[begin] == memory[begin]);
    }
    REQUIRE(peaks.first(n, n) == -1);
  }
}

TEST_CASE("order_operators: no operator, one operator, tensors that nobody needs") {
  CHECK(order_operators(graph{}) == memory_order{});
  graph g;
  auto const x = g.add({.bytes = 3, .kept = true}), y = g.add({.bytes = 2});
  g.add({.bytes = 9});
  CHECK(order_operators(g) == memory_order{{}, {3, 3}, 0, true});
  g.add({.workspace = 4}, {x}, {y});
  CHECK(order_operators(g) == memory_order{{0}, {9, 9}, 0, true});
}

TEST_CASE("order_operators: a stop ends the search after the lists") {
  auto const stop = std::make_unique<std::stop_source>();  // on the heap: g++ 12 warns of one on the stack at -Og
  stop->request_stop();
  splitmix64 generator(4);
  auto const g = layered_graph(120, 8, generator);
  auto const found = order_operators(g, {}, {.stop = stop->get_token()});
  CHECK(!found.complete);
  CHECK(found.states == 0);
  CHECK(check_order(g, found.order, found.peak).valid());
  CHECK(found.peak.value <= best_of_baselines(g));
  ballast_test::progress_log told;
  CHECK(order_operators(g, {}, {.work = 50'000'000, .progress = told}) == order_operators(g, {}, {.work = 50'000'000}));
  CHECK((told.sound && told.calls > 4));
  auto const half = order_operators(g, {}, {.gap = 0.5});
  CHECK(half.complete);
  CHECK(half.peak.gap() <= 0.5);
}

TEST_CASE("order_operators: refuses what is no graph") {
  splitmix64 generator(4);
  auto g = layered_graph(12, 3, generator);
  g.tensors[7].bytes = -1;
  CHECK(refusal([&] { return order_operators(g); }) == "tensor 7 has a negative size, -1");
}

}  // namespace test_memory_order
