// SPDX-License-Identifier: Apache-2.0
#include <ballast/memory/check_order.hpp>
#include <ballast/memory/peak.hpp>

#include "support/catch.hpp"
#include "support/graph_families.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace test_memory_peak {

using namespace ballast_test;
using namespace ballast;

namespace {

using order = std::vector<std::uint32_t>;
using numbers = std::vector<std::int64_t>;

// x (start) is read by "left" (with workspace) and "right"; "join" reads both and makes z, which "halve" changes in place.
graph diamond() {
  graph g;
  auto const x = g.add({.name = "x", .bytes = 8}), a = g.add({.name = "a", .bytes = 4}), b = g.add({.name = "b", .bytes = 2});
  auto const z = g.add({.name = "z", .bytes = 16}), w = g.add({.name = "w", .kept = true, .shares = z, .in_place = true});
  auto const spare = g.add({.name = "spare", .bytes = 1});
  g.add({.name = "left", .workspace = 32}, {x}, {a});
  g.add({.name = "right"}, {x}, {b, spare});
  g.add({.name = "join"}, {a, b}, {z});
  g.add({.name = "halve"}, {z}, {w});
  return g;
}

/// Any order in which the operators can run: of the ready ones, a random one.
order random_order(graph const& g, splitmix64& generator) {
  auto const p = detail::order_lowering<>(g).lower();
  detail::order_sweep<> sweep(p, false);
  order ready, out;
  for (std::uint32_t v = 0; v < p.size(); ++v)
    if (sweep.ready(v)) ready.push_back(v);
  while (!ready.empty()) {
    std::swap(ready[static_cast<std::size_t>(uniform_below(ready.size(), generator))], ready.back());
    out.push_back(ready.back());
    ready.pop_back();
    sweep.step(out.back(), [&](std::uint32_t u) { ready.push_back(u); });
  }
  return out;
}

}  // namespace

TEST_CASE("evaluate_order: a diamond in both orders") {
  auto const g = diamond();
  auto const first = evaluate_order(g, order{0, 1, 2, 3});
  CHECK(first == order_peak{44, 0, 8, {44, 15, 22, 16}, {12, 6, 16, 16}});
  auto const second = evaluate_order(g, order{1, 0, 2, 3});
  CHECK(second == order_peak{46, 1, 8, {11, 46, 22, 16}, {10, 6, 16, 16}});
  CHECK(evaluate_order(graph{}, order{}) == order_peak{});
}

TEST_CASE("buffers_of: a diamond's buffers") {
  auto const found = buffers_of(diamond(), order{1, 0, 2, 3});
  std::vector<buffer> const expected{{0, 2, 8}, {1, 3, 4}, {0, 3, 2}, {2, 4, 16}, {0, 1, 1}, {1, 2, 32}};
  CHECK(found.buffers == expected);
  constexpr auto none = order_buffers::none;
  CHECK(found.of_tensor == order{0, 1, 2, 3, 3, 4});
  CHECK(found.of_workspace == order{5, none, none, none});
  graph g;
  g.add({.bytes = 3, .kept = true});
  g.add({.bytes = 5});  // nobody needs it
  CHECK(buffers_of(g, order{}).buffers == std::vector<buffer>{{0, 1, 3}});
  CHECK(evaluate_order(g, order{}).peak == 3);
}

TEST_CASE("evaluate_order: agrees with the definition, the buffers and the validator") {
  std::size_t shared = 0;
  for (std::uint64_t seed = 0; seed < 1500; seed += round_step) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const g = random_graph(uniform_below(17, generator), {}, generator);
    REQUIRE(check_graph(g).valid());
    auto const steps = random_order(g, generator);
    auto const found = evaluate_order(g, steps);
    least_peak_of_all const all(g);
    std::uint64_t done = 0;
    REQUIRE(found.start == all.memory(0));
    for (std::size_t i = 0; i < steps.size(); ++i) REQUIRE(found.behind[i] == all.memory(done |= std::uint64_t{1} << steps[i]));
    REQUIRE(check_order(g, steps, {found.peak, 0}).valid());
    REQUIRE((steps.empty() ? found.peak : found.running[found.step]) == found.peak);
    auto const b = buffers_of(g, steps);
    numbers load(steps.size(), 0);
    for (auto const& each : b.buffers) {
      REQUIRE(each.lower >= 0);
      REQUIRE(each.upper > each.lower);
      REQUIRE(each.upper <= static_cast<std::int64_t>((std::max)(steps.size(), std::size_t{1})));
      REQUIRE(each.size > 0);
      for (auto t = each.lower; t < each.upper && !steps.empty(); ++t) load[static_cast<std::size_t>(t)] += each.size;
    }
    REQUIRE(load == found.running);
    for (std::size_t t = 0; t < g.tensors.size(); ++t)
      if (g.tensors[t].shares != graph_tensor<>::own) {
        REQUIRE(b.of_tensor[t] == b.of_tensor[g.tensors[t].shares]);
        ++shared;
      }
  }
  CHECK(shared > 1000 / round_step);
}

TEST_CASE("evaluate_order: refuses what is no order") {
  auto const g = diamond();
  auto const said = [&](order const& steps) { return refusal([&] { return evaluate_order(g, steps); }); };
  CHECK(said({0, 1, 2}) == "order has 3 entries for 4 operators");
  CHECK(said({0, 1, 4, 2}) == "order[2] = 4, but there are 4 operators");
  CHECK(said({0, 1, 1, 2}) == "order[2] = 1 is also entry 1");
  CHECK(said({0, 2, 1, 3}) == "order[1] = 2 must run behind operator 1");
  CHECK(refusal([&] { return buffers_of(g, order{0, 2, 1, 3}); }) == said({0, 2, 1, 3}));
  auto broken = g;
  broken.tensors[0].bytes = -1;
  CHECK(refusal([&] { return evaluate_order(broken, order{0, 1, 2, 3}); }) == "tensor 0 (x) has a negative size, -1");
}

}  // namespace test_memory_peak
