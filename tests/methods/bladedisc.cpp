// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/footprint/training_graph.hpp>
#include <ballast/methods/bladedisc.hpp>
#include <ballast/recompute/graph/check_eviction.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"
#include "support/symbolic_graphs.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace test_methods_bladedisc {

using namespace ballast;
using ballast_test::refusal;

namespace {
auto const batch = symbolic::of(0), length = symbolic::of(1), blocks = symbolic::of(2);
std::vector<dimension> const declared{{"batch", 1, 16}, {"length", 12, 3000}, {"blocks", 1, 4096}};
std::vector<dimension_equality> const related{{length, 12 * blocks}};

basic_graph<symbolic> step() {
  transformer const model{.layers = 2, .hidden = 64, .query_heads = 4, .kv_heads = 2, .head_width = 16, .ffn = 96, .vocabulary = 256};
  return training_graph(model, batch, length, {.scores = true});
}
}  // namespace

TEST_CASE("bladedisc: a step is compiled once, and every batch keeps its limit or hears why not") {
  auto const g = step();
  auto const compiled = bladedisc::compile(g, declared, related);
  REQUIRE(compiled.status == status::feasible);
  CHECK(compiled.basis.basis == std::vector<std::uint32_t>{0, 2});
  CHECK(compiled.evictions.size() == compiled.orders.orders.size());
  int feasible = 0, infeasible = 0, decided = 0, batches = 0;
  for (std::uint64_t seed = 0; seed < 60; seed += ballast_test::round_step) {
    splitmix64 draw(seed);
    auto const b = 1 + static_cast<std::int64_t>(uniform_below(16, draw)), s = 1 + static_cast<std::int64_t>(uniform_below(250, draw));
    std::array const at{b, 12 * s, s};
    auto const numbers = graph_at(g, at);
    auto const own = ballast_test::net_list(numbers);
    auto const peak = ballast_test::live_peak(numbers, own);
    for (auto const percent : {100, 80, 50}) {
      evict_options const evicting{.limit = peak * percent / 100, .time_per_megabyte = 1000000};
      auto const made = bladedisc::run(compiled, at, evicting);
      CAPTURE(seed, b, s, percent);
      if (made.order.decided) CHECK(compiled.orders.orders[made.order.order] == own);
      decided += made.order.decided ? 1 : 0;
      ++batches;
      feasible += made.run.status == status::feasible ? 1 : 0;
      infeasible += made.run.status == status::infeasible ? 1 : 0;
      if (made.run.status == status::feasible) CHECK(check_eviction(numbers, made.run.events, evicting.limit).valid());
      if (percent == 100 && made.order.decided) CHECK(made.run.time.value == 0);
    }
  }
  CHECK(decided * 10 > batches * 8);
  CHECK(feasible * 2 > batches);
  CHECK(infeasible > 0);
  CHECK(refusal([&] { return bladedisc::run(compiled, std::array<std::int64_t, 3>{1, 25, 2}, {}).order; }) ==
        "equalities[0] does not hold: 1 length = 25 and 12 blocks = 24");
}

TEST_CASE("bladedisc: equalities that contradict each other are an answer") {
  auto impossible = related;
  impossible.push_back({blocks, length + 1});
  auto const compiled = bladedisc::compile(step(), declared, impossible);
  CHECK(compiled.status == status::infeasible);
  CHECK(compiled.basis.contradiction == 1);
}

}  // namespace test_methods_bladedisc
