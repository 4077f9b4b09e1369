// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/hash.hpp>
#include <ballast/core/random.hpp>
#include <ballast/footprint/training_graph.hpp>
#include <ballast/graph/symbolic_graph.hpp>
#include <ballast/recompute/graph/check_eviction.hpp>
#include <ballast/recompute/graph/evict.hpp>

#include "support/catch.hpp"
#include "support/cheapest_run.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"
#include "support/symbolic_graphs.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace test_recompute_graph_evict {

using namespace ballast;
using ballast_test::layered_graph;
using ballast_test::live_peak;
using ballast_test::refusal;

namespace {
auto const n = symbolic::of(0);
std::vector<dimension> const tokens{{"tokens", 1, 4096}};

std::int64_t next_number(splitmix64& draw, std::int64_t below) {
  return static_cast<std::int64_t>(uniform_below(static_cast<std::uint64_t>(below), draw));
}
std::vector<std::uint32_t> program_order(basic_graph<symbolic> const& g) {
  std::vector<std::uint32_t> out(g.size());
  std::iota(out.begin(), out.end(), 0U);
  return out;
}
symbolic linear(splitmix64& draw, std::int64_t slope_below, std::int64_t constant_below) {
  auto const slope = next_number(draw, slope_below), constant = next_number(draw, constant_below);  // drawn in this order everywhere
  return n * slope + constant;
}
basic_graph<symbolic> random_graph(splitmix64& draw, std::size_t operators) {
  auto g = layered_graph(operators, 3, draw, [](splitmix64& d) { return linear(d, 20, 5000); });
  for (auto& o : g.operators) o.time = linear(draw, 10, 1000);
  return g;
}
basic_graph<symbolic> step_of(std::int64_t layers, bool scores) {
  transformer const model{.layers = layers, .hidden = 64, .query_heads = 4, .kv_heads = 2, .head_width = 16, .ffn = 96, .vocabulary = 256};
  return training_graph(model, symbolic(1), n, {.scores = scores});
}
std::int64_t all_time(graph const& g) {
  std::int64_t out = 0;
  for (auto const& o : g.operators) out += o.time;
  return out;
}
// What can be read off the events.
void check_totals(eviction const& e, graph const& g, evict_options const& options) {
  std::int64_t recomputed = 0, moving = 0, moved = 0;
  for (auto const& event : e.events) {
    if (event.what == memory_event::action::rerun) recomputed += g.operators[event.index].time;
    if (event.what != memory_event::action::store && event.what != memory_event::action::load) continue;
    moved += g.tensors[event.index].bytes;
    moving += (g.tensors[event.index].bytes * options.time_per_megabyte + 999999) / 1000000;
  }
  CHECK(e.recomputed == recomputed);
  CHECK(e.moved == moved);
  CHECK(e.time.value == recomputed + moving);
  CHECK(e.time.value >= e.time.lower_bound);
  CHECK(check_eviction(g, e.events, options.limit) == verdict{});
  CHECK(check_eviction(g, e.events, e.memory.value) == verdict{});
  CHECK(check_eviction(g, e.events, e.memory.value - 1).fault == eviction_fault::over_limit);
}
}  // namespace

TEST_CASE("evict: every run keeps its limit, for any graph, batch and limit") {
  int feasible = 0, infeasible = 0, unknown = 0, with_both = 0;
  for (std::uint64_t seed = 0; seed < 300; seed += ballast_test::round_step) {
    splitmix64 draw(seed);
    auto const g = seed % 10 == 0 ? step_of(2, seed % 20 == 0) : random_graph(draw, 8 + seed % 23);
    std::array const at{1 + next_number(draw, 4096)};
    auto const numbers = graph_at(g, at);
    auto const order = seed % 5 == 0 ? ballast_test::net_list(numbers) : program_order(g);  // weights are updated early in a list
    auto const plan = plan_evictions(g, tokens, order);
    auto const peak = live_peak(numbers, order);
    for (auto const percent : {100, 95, 85, 75, 60, 40}) {
      evict_options const options{.limit = peak * percent / 100,
                                  .time_per_megabyte = seed % 3 == 0 ? 0 : std::int64_t{1} << (seed % 30),
                                  .recompute = seed % 3 != 1};
      auto const e = evict(plan, at, options);
      CAPTURE(seed, percent, peak, e.memory.lower_bound);
      CHECK((e.status == status::infeasible) == (e.memory.lower_bound > options.limit));
      CHECK(e == evict(plan, at, options));
      if (percent == 100) CHECK(e.status == status::feasible);
      if (percent == 100) CHECK(e.time == certificate{0, 0});
      feasible += e.status == status::feasible ? 1 : 0;
      infeasible += e.status == status::infeasible ? 1 : 0;
      unknown += e.status == status::unknown ? 1 : 0;
      with_both += e.recomputed > 0 && e.moved > 0 ? 1 : 0;
      if (e.status == status::feasible)
        check_totals(e, numbers, options);
      else
        CHECK(e.events.empty());
    }
  }
  CAPTURE(feasible, infeasible, unknown, with_both);
  if (ballast_test::round_step > 1) return;
  CHECK(feasible > 600);
  CHECK(infeasible > 100);
  CHECK(with_both > 15);
}

TEST_CASE("evict: bounds hold for the cheapest of all runs of small graphs, and the time is near it") {
  int compared = 0, optimal = 0, missed = 0;
  double ratio = 0;
  for (std::uint64_t seed = 0; seed < 400; seed += ballast_test::round_step) {
    splitmix64 draw(seed);
    auto const g = random_graph(draw, 4 + seed % 3);
    auto const order = program_order(g);
    std::array const at{1 + next_number(draw, 4096)};
    auto const numbers = graph_at(g, at);
    if (numbers.tensors.size() > 9) continue;
    auto const peak = live_peak(numbers, order);
    auto const plan = plan_evictions(g, tokens, order);
    for (auto const percent : {90, 75, 60}) {
      evict_options const options{.limit = peak * percent / 100, .time_per_megabyte = seed % 2 == 0 ? 0 : 100000};
      auto const e = evict(plan, at, options);
      auto const cheapest = ballast_test::cheapest_run(numbers, options.limit, options.time_per_megabyte);
      CAPTURE(seed, percent, cheapest);
      if (e.status == status::infeasible) CHECK(cheapest < 0);
      if (cheapest < 0) {
        CHECK(e.status != status::feasible);
        continue;
      }
      CHECK(e.time.lower_bound <= cheapest);
      CHECK(e.memory.lower_bound <= options.limit);
      if (e.status != status::feasible) {
        ++missed;
        continue;
      }
      CHECK(e.time.value >= cheapest);
      ++compared;
      optimal += e.time.value == cheapest ? 1 : 0;
      ratio += cheapest == 0 ? 1 : static_cast<double>(e.time.value) / static_cast<double>(cheapest);
    }
  }
  CAPTURE(compared, optimal, missed, ratio);
  if (ballast_test::round_step > 1) return;
  CHECK(compared > 60);
  CHECK(optimal * 10 > compared * 7);
  CHECK(missed * 5 < compared);
}

TEST_CASE("evict: a subgraph grows until what it reads is there anyway") {
  // a chain: input -> a -> b -> c, and the backward reads c, b, a in this order; a and b are larger than the input
  basic_graph<symbolic> g;
  auto const x = g.add(graph_tensor<symbolic>{.bytes = n}), a = g.add(graph_tensor<symbolic>{.bytes = 4 * n}),
             b = g.add(graph_tensor<symbolic>{.bytes = 3 * n}), c = g.add(graph_tensor<symbolic>{.bytes = 2 * n});
  graph_operator<symbolic> const work{.time = 10 * n};
  g.add(work, {x}, {a});
  g.add(work, {a}, {b});
  g.add(work, {b}, {c});
  auto last = c;
  for (auto const saved : {b, a, x}) {
    auto const next = g.add(graph_tensor<symbolic>{.bytes = n, .kept = saved == x});
    g.add(work, {saved, last}, {next});
    last = next;
  }
  auto const plan = plan_evictions(g, tokens, program_order(g));
  // a for step 4: from x. b for step 3 has no gap of more than a step. c neither.
  REQUIRE(plan.subgraphs.size() == 1);
  CHECK(plan.subgraphs[0] == recompute_subgraph{a, 4, {0}, {}, 10 * n, 4 * n});
  auto const at = std::array<std::int64_t, 1>{100};
  auto const numbers = graph_at(g, at);
  auto const peak = live_peak(numbers, program_order(g));
  CHECK(peak == 1100);  // x, a, b, c and the first gradient
  evict_options const options{.limit = 800};
  auto const e = evict(plan, at, options);
  REQUIRE(e.status == status::feasible);
  check_totals(e, numbers, options);
  CHECK(e.time == certificate{1000, 750});  // 300 of 400 bytes are too much: three quarters of the time of the first operator
  CHECK(evict(plan, at, {.limit = 799}).status == status::unknown);  // b cannot go
  CHECK(evict(plan, at, {.limit = 400}).status == status::infeasible);
  CHECK(evict(plan, at, {.limit = 400}).memory.lower_bound == 700);  // a and b
  CHECK(evict(plan, at, {.limit = 700, .time_per_megabyte = 1000000}).status == status::feasible);
}

TEST_CASE("evict: a training step recomputes what it does not move, within a few per cent of the bound") {
  auto const g = step_of(6, false);
  auto const order = program_order(g);
  auto const plan = plan_evictions(g, tokens, order);
  std::array const at{std::int64_t{4096}};
  auto const numbers = graph_at(g, at);
  auto const peak = live_peak(numbers, order);
  auto const total = static_cast<double>(all_time(numbers));
  for (auto const percent : {90, 70}) {
    evict_options const options{.limit = peak * percent / 100};
    auto const e = evict(plan, at, options);
    REQUIRE(e.status == status::feasible);
    check_totals(e, numbers, options);
    CAPTURE(percent, static_cast<double>(e.time.value) / total, static_cast<double>(e.time.lower_bound) / total);
    CHECK(static_cast<double>(e.time.value) < 0.3 * total);
    auto const moved = evict(plan, at, {.limit = options.limit, .time_per_megabyte = 1});
    CHECK(moved.time.value < e.time.value);
  }
}

TEST_CASE("evict: the same events on every platform") {
  fnv1a hash;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    splitmix64 draw(seed);
    auto const g = random_graph(draw, 20);
    auto const plan = plan_evictions(g, tokens, program_order(g));
    std::array const at{1 + next_number(draw, 4096)};
    auto const peak = live_peak(graph_at(g, at), program_order(g));
    auto const e = evict(plan, at, {.limit = peak * 8 / 10, .time_per_megabyte = std::int64_t{1} << seed});
    for (auto const& event : e.events) hash.append(std::uint64_t{event.index} << 8 | static_cast<std::uint64_t>(event.what));
    hash.append(static_cast<std::uint64_t>(e.time.lower_bound));
  }
  CHECK(hash.value() == 0x1b861474d3dddc55U);
}

TEST_CASE("evict: what makes no sense is refused") {
  splitmix64 draw(1);
  auto const g = random_graph(draw, 6);
  auto const plan = plan_evictions(g, tokens, program_order(g));
  CHECK(refusal([&] { return evict(plan, {}, {}); }) == "0 values for 1 dimension");
  CHECK(refusal([&] { return evict(plan, std::array<std::int64_t, 1>{0}, {}); }) == "values[0] = 0 is outside the range of tokens");
  CHECK(refusal([&] { return evict(plan, std::array<std::int64_t, 1>{1}, {.limit = -1}); }) == "limit = -1 must not be negative");
  CHECK(refusal([&] { return evict(plan, std::array<std::int64_t, 1>{1}, {.time_per_megabyte = -1}); }) ==
        "time_per_megabyte = -1 must not be negative");
  basic_graph<symbolic> const none;
  CHECK(evict(plan_evictions(none, {}, {}), {}, {}).status == status::feasible);
}

}  // namespace test_recompute_graph_evict
