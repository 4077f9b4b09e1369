// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/hash.hpp>
#include <ballast/core/random.hpp>
#include <ballast/footprint/training_graph.hpp>
#include <ballast/graph/dimension_basis.hpp>
#include <ballast/graph/symbolic_graph.hpp>
#include <ballast/memory/symbolic_order.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"
#include "support/symbolic_graphs.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <stop_token>
#include <vector>

namespace test_memory_symbolic_order {

using namespace ballast;
using ballast_test::layered_graph;
using ballast_test::live_peak;
using ballast_test::net_list;
using ballast_test::refusal;

namespace {
using order = std::vector<std::uint32_t>;
auto const batch = symbolic::of(0), length = symbolic::of(1);
std::vector<dimension> const wide_ranges{{"batch", 1, 64}, {"length", 1, 32768}};

std::int64_t next_number(splitmix64& draw, std::int64_t below) {
  return static_cast<std::int64_t>(uniform_below(static_cast<std::uint64_t>(below), draw));
}
// Weights, and activations that depend on batch * length alone.
symbolic size_of_product(splitmix64& draw) {
  return uniform_below(2, draw) == 0 ? batch * length * (1 + next_number(draw, 64)) : symbolic(next_number(draw, 1 << 22));
}
symbolic size_of_both(splitmix64& draw) {
  switch (uniform_below(4, draw)) {
    case 0: return next_number(draw, 1 << 22);
    case 1: return batch * length * (1 + next_number(draw, 64));
    case 2: return batch * length * length + next_number(draw, 1 << 20);
    default: return length * (1 + next_number(draw, 4000));
  }
}
std::array<std::int64_t, 2> random_batch(splitmix64& draw) {
  return {1 + next_number(draw, 64), 1 + next_number(draw, std::int64_t{1} << (1 + next_number(draw, 15)))};
}
basic_graph<symbolic> small_step(bool scores) {
  transformer const model{.layers = 2, .hidden = 64, .query_heads = 4, .kv_heads = 2, .head_width = 16, .ffn = 96, .vocabulary = 256};
  return training_graph(model, batch, length, {.scores = scores});
}
struct comparison {
  double sum = 0, worst = 0;
  int batches = 0, decided = 0, same = 0;
};
// Compares the picked orders with those made for the batch, and checks what is called decided.
void compare_with_own(comparison& out, basic_graph<symbolic> const& g, region_orders const& plan, int draws, splitmix64& draw) {
  for (int i = 0; i < draws; ++i) {
    auto const at = random_batch(draw);
    auto const numbers = graph_at(g, at);
    auto const own = net_list(numbers);
    auto const picked = plan.pick(at);
    auto const& ordered = plan.orders.at(picked.order);
    auto const peak = live_peak(numbers, ordered), own_peak = live_peak(numbers, own);
    CAPTURE(at[0], at[1], peak, own_peak);
    REQUIRE(peak >= 0);
    if (picked.decided) CHECK(ordered == own);
    auto const ratio = static_cast<double>(peak) / static_cast<double>(own_peak);
    out.sum += ratio;
    out.worst = (std::max)(out.worst, ratio);
    ++out.batches;
    out.decided += picked.decided ? 1 : 0;
    out.same += ordered == own ? 1 : 0;
  }
}
}  // namespace

TEST_CASE("symbolic_order: where sizes depend on one product, every batch has the order that is made with its sizes") {
  for (std::uint64_t seed = 0; seed < 40; seed += ballast_test::round_step) {
    splitmix64 draw(seed);
    auto const g = layered_graph(25, 5, draw, size_of_product);
    auto const plan = plan_regions(g, wide_ranges);
    CAPTURE(seed, plan.regions());
    CHECK(plan.decided());
    CHECK(plan.complete);
    REQUIRE(plan.quantities.size() == 1);
    CHECK(plan.quantities[0] == batch * length);
    comparison seen;
    compare_with_own(seen, g, plan, 20, draw);
    CHECK(seen.same == 20);
    CHECK(seen.decided == 20);
    CHECK(plan == plan_regions(g, wide_ranges));
  }
  // all values of a small range
  std::vector<dimension> const tokens{{"tokens", 0, 300}};
  splitmix64 draw(7);
  auto const g = layered_graph(25, 5, draw, [](splitmix64& d) {
    return uniform_below(2, d) == 0 ? symbolic::of(0) * symbolic::of(0) * next_number(d, 9) : symbolic(next_number(d, 100000));
  });
  auto const plan = plan_regions(g, tokens);
  CHECK(plan.decided());
  CHECK(plan.regions() > 5);
  for (std::int64_t n = 0; n <= 300; n += ballast_test::round_step) {
    std::array const at{n};
    CHECK(plan.orders[plan.pick(at).order] == net_list(graph_at(g, at)));
  }
}

TEST_CASE("symbolic_order: for 100 graphs and batches the peak is within 2 % of that of the order made for the batch") {
  comparison seen;
  for (std::uint64_t seed = 0; seed < 100; seed += ballast_test::round_step) {
    splitmix64 draw(seed);
    auto const both = seed % 2 == 1;
    auto const g = layered_graph(20 + seed % 11, 5, draw, both ? size_of_both : size_of_product);
    CAPTURE(seed);
    compare_with_own(seen, g, plan_regions(g, wide_ranges), 20, draw);
  }
  CAPTURE(seen.decided, seen.same, seen.batches, seen.worst);
  CHECK(seen.sum < 1.005 * seen.batches);
  CHECK(seen.worst < 1.3);
  CHECK(seen.decided > seen.batches * 8 / 10);
}

TEST_CASE("symbolic_order: the same regions and orders on every platform") {
  if (ballast_test::round_step > 1) return;
  fnv1a hash;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    splitmix64 draw(seed);
    auto const plan = plan_regions(layered_graph(25, 5, draw, size_of_both), wide_ranges, {.regions = 40, .samples = 500});
    for (auto const& o : plan.orders)
      for (auto const v : o) hash.append(v);
    for (auto const& node : plan.nodes) {
      for (auto const part : {node.negative, node.other, node.order, std::uint32_t{node.decided}}) hash.append(part);
      for (auto const& t : node.question.terms()) hash.append(static_cast<std::uint64_t>(t.coefficient));
    }
  }
  CHECK(hash.value() == 0x743d830cf92699a4U);
}

TEST_CASE("symbolic_order: a training step with views and changes in place") {
  for (auto const scores : {false, true}) {
    auto const g = small_step(scores);
    auto const plan = plan_regions(g, wide_ranges);
    CHECK(plan.decided() == !scores);
    CHECK(plan.regions() > 3);
    splitmix64 draw(1);
    comparison seen;
    compare_with_own(seen, g, plan, 30, draw);
    CHECK(seen.same >= 29);
  }
}

TEST_CASE("symbolic_order: equalities of dimensions decide what was unknown") {
  // The same graph, with a length that is declared once for activations and once, as 12 blocks, for weights of positions.
  std::vector<dimension> const declared{{"S0", 24, 12000}, {"S1", 1, 100000}};
  auto const basis = solve_dimensions(declared, std::vector<dimension_equality>{{symbolic::of(0), 12 * symbolic::of(1)}});
  splitmix64 draw(3);
  auto const g = layered_graph(25, 5, draw, [](splitmix64& d) {
    return uniform_below(2, d) == 0 ? symbolic::of(0) * (1 + next_number(d, 9)) : symbolic::of(1) * (1 + next_number(d, 99));
  });
  auto const related = plan_regions(over_basis(g, basis), basis.dimensions);
  CHECK(related.decided());
  CHECK(related.regions() == 1);  // all sizes are multiples of S1
  CHECK(plan_regions(g, declared).regions() > 1);
  for (auto const blocks : {2, 7, 1000}) {
    auto const at = basis.values(std::array{std::int64_t{blocks}});
    CHECK(related.orders[related.pick(at).order] == net_list(graph_at(g, at)));
  }
}

TEST_CASE("symbolic_order: few regions, little work or a stop give legal orders that are not called decided") {
  splitmix64 draw(11);
  auto const g = layered_graph(30, 5, draw, size_of_both);
  std::stop_source stopped;
  stopped.request_stop();
  struct limited {
    region_options options;
    search_limits limits;
  };
  for (auto const& [options, limits] : std::vector<limited>{
           {{.regions = 1}, {}}, {{.regions = 5}, {}}, {{.samples = 1}, {}}, {{}, {.work = 1}}, {{}, {.stop = stopped.get_token()}}}) {
    auto const plan = plan_regions(g, wide_ranges, options, nullptr, limits);
    CHECK(plan.regions() <= options.regions);
    CHECK(!plan.decided());
    CHECK(plan.complete == !limits.stop.stop_requested());
    comparison seen;
    compare_with_own(seen, g, plan, 20, draw);
    CHECK(seen.decided < 20);
  }
  // Regions are made where the likely batches are.
  std::vector<std::vector<std::int64_t>> const likely(4096, {8, 4096});
  auto const plan = plan_regions(g, wide_ranges, {.likely = likely});
  CHECK(plan.pick(likely[0]).decided);
  CHECK(plan.orders[plan.pick(likely[0]).order] == net_list(graph_at(g, likely[0])));
}

TEST_CASE("symbolic_order: an order from elsewhere is taken where it is better") {
  splitmix64 draw(5);
  auto const g = layered_graph(25, 5, draw, size_of_product);
  int calls = 0;
  // the best of many random orders that begin as the list does
  auto const search = [&](graph const& numbers) {
    ++calls;
    auto best = net_list(numbers);
    auto best_peak = live_peak(numbers, best);
    splitmix64 swaps(1);
    for (int i = 0; i < 300; ++i) {
      auto next = best;
      auto const at = static_cast<std::size_t>(uniform_below(next.size() - 1, swaps));
      std::swap(next[at], next[at + 1]);
      auto const peak = live_peak(numbers, next);
      if (peak < 0 || peak > best_peak) continue;
      best = next;
      best_peak = peak;
    }
    return best;
  };
  auto const list = plan_regions(g, wide_ranges), better = plan_regions(g, wide_ranges, {}, search);
  CHECK(calls > 1);
  std::int64_t list_sum = 0, better_sum = 0;
  for (int i = 0; i < 100; ++i) {
    auto const at = random_batch(draw);
    auto const numbers = graph_at(g, at);
    list_sum += live_peak(numbers, list.orders[list.pick(at).order]);
    better_sum += live_peak(numbers, better.orders[better.pick(at).order]);
  }
  CHECK(better_sum < list_sum);
  auto const reversed = [](graph const& numbers) {
    order out(numbers.size());
    std::iota(out.rbegin(), out.rend(), 0U);
    return out;
  };
  CHECK(refusal([&] { return plan_regions(g, wide_ranges, {}, reversed); }).find("order[0] = 24 must run behind operator") == 0);
}

TEST_CASE("symbolic_order: graphs without operators or dimensions, and what is refused") {
  basic_graph<symbolic> g;
  CHECK(plan_regions(g, {}).orders == std::vector<order>{{}});
  auto const t = g.add(graph_tensor<symbolic>{.bytes = 5}), u = g.add(graph_tensor<symbolic>{.bytes = 3});
  g.add(graph_operator<symbolic>{}, {t}, {u});
  auto const plan = plan_regions(g, {});
  CHECK(plan.decided());
  CHECK(plan.orders == std::vector<order>{{0}});
  CHECK(plan.pick({}) == picked_order{0, true});
  CHECK(refusal([&] { return plan.pick(std::array<std::int64_t, 1>{1}); }) == "1 value for 0 dimensions");
  g.tensors[0].bytes = length - 1;
  CHECK(refusal([&] { return plan_regions(g, {}); }) == "dimension 1 has no range");
  CHECK(refusal([&] { return plan_regions(g, wide_ranges).pick(std::array<std::int64_t, 2>{1, 40000}); }) ==
        "values[1] = 40000 is outside the range of length");
  CHECK(refusal([&] { return plan_regions(g, wide_ranges, {.regions = 0}); }) == "plan_regions: regions and samples must be at least 1");
  std::vector<std::vector<std::int64_t>> const likely{{1, 1}, {1}};
  CHECK(refusal([&] { return plan_regions(g, wide_ranges, {.likely = likely}); }) == "likely[1] has no value within the range of batch");
  g.tensors[0].bytes = length - 2;
  CHECK(refusal([&] { return plan_regions(g, wide_ranges); }) == "tensors[0] holds 1 length - 2, which is not proven not to be negative");
  g.tensors[0].bytes = length * length * length * length * 8;
  CHECK(refusal([&] { return plan_regions(g, wide_ranges); }) == "the sizes of a graph together reach 2^62");
}

}  // namespace test_memory_symbolic_order
