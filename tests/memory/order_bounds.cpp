// SPDX-License-Identifier: Apache-2.0
#include <ballast/memory/list_orders.hpp>
#include <ballast/memory/order_bounds.hpp>
#include <ballast/memory/peak.hpp>

#include "support/branching_graphs.hpp"
#include "support/catch.hpp"
#include "support/graph_families.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace test_memory_order_bounds {

using namespace ballast_test;
using namespace ballast;

namespace {

using order = std::vector<std::uint32_t>;

order all_operators(graph const& g) {
  order out(g.size());
  std::iota(out.begin(), out.end(), 0U);
  return out;
}

}  // namespace

TEST_CASE("cut_bound: for each operator, the least memory of all sets that can have run before it") {
  for (std::uint64_t seed = 0; seed < 800; seed += round_step) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const g = random_graph(uniform_below(11, generator), {}, generator);
    least_peak_of_all const all(g);
    auto const least = all.value();
    std::int64_t most = 0, all_at_once = cut_bound(g, all_operators(g));
    for (std::uint32_t v = 0; v < g.size(); ++v) {
      auto const found = cut_bound(g, order{v});
      REQUIRE(found == all.least_while(v));
      most = (std::max)(most, found);
    }
    REQUIRE(most == all_at_once);
    REQUIRE(most <= least);
    REQUIRE(operator_bound(g) <= least);
  }
}

TEST_CASE("cut_bound: often the least peak, sometimes above what one operator needs") {
  int met = 0, above = 0, cases = 0;
  for (std::uint64_t seed = 0; seed < 300; seed += round_step) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const g = series_parallel_graph(2 + uniform_below(12, generator), generator);
    auto const cut = cut_bound(g, all_operators(g));
    REQUIRE(cut >= operator_bound(g));
    met += cut == least_peak_of_all(g).value() ? 1 : 0;
    above += cut > operator_bound(g) ? 1 : 0;
    ++cases;
  }
  CHECK(2 * met > cases);
  CHECK(10 * above > cases);
}

TEST_CASE("cut_bound: says almost all of training steps") {
  for (std::int64_t const batch : {1, 64})
    for (auto const& g : {densenet_step({4, 4}, batch), unet_step(3, batch)}) {
      auto const bound = cut_bound(g, all_operators(g)), listed = evaluate_order(g, list_order(g, list_rule::net)).peak;
      CHECK(bound <= listed);
      CHECK(1000 * bound >= 999 * listed);
    }
}

TEST_CASE("cut_bound: a flow ends where its work does, within a phase too") {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const g = random_dag(600, 4, generator);
    auto const p = detail::order_lowering<>(g).lower();
    auto const spent = [&](std::uint64_t work) {
      ballast::search_budget budget({.work = work});
      detail::cut_bounds<> cuts(p);
      auto const bound = cuts.of(300, budget);
      return std::pair(budget.spent(), bound);
    };
    auto const [all, best] = spent(1'000'000'000);
    auto const once = spent(1).first;  // for the network alone
    for (std::uint64_t part = 1; part < 20; ++part) {
      auto const work = once + (all - once) * part / 20;
      auto const [used, bound] = spent(work);
      REQUIRE(used < work + once);
      REQUIRE(bound <= best);
    }
  }
}

TEST_CASE("cut_bound: limits, no operators, misuse") {
  splitmix64 generator(4);
  auto g = layered_graph(60, 6, generator);
  auto const whole = cut_bound(g, all_operators(g));
  CHECK(cut_bound(g, all_operators(g), {.work = 0}) < whole);
  CHECK(cut_bound(g, order{}) == 0);
  CHECK(operator_bound(graph{}) == 0);
  CHECK(refusal([&] { return cut_bound(g, order{3, 60}); }) == "operators[1] = 60, but there are 60 operators");
  g.tensors[7].bytes = -1;
  CHECK(refusal([&] { return cut_bound(g, order{0}); }) == "tensor 7 has a negative size, -1");
  CHECK(refusal([&] { return operator_bound(g); }) == "tensor 7 has a negative size, -1");
}

}  // namespace test_memory_order_bounds
