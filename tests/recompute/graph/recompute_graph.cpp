// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/training_graph.hpp>
#include <ballast/graph/check.hpp>
#include <ballast/recompute/graph/check.hpp>
#include <ballast/recompute/graph/recompute_graph.hpp>

#include "graph_suite.hpp"
#include "support/catch.hpp"
#include "support/program_order_peak.hpp"
#include "support/progress_log.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace test_recompute_graph_recompute_graph {

using namespace ballast_test;
using namespace ballast;

namespace {

constexpr auto in_program_order = [](graph const& g) { return program_order_peak(g); };

/// The least time of all sets of candidates whose peak is within a budget; -1 if there is none.
template <class Cost>
std::int64_t least_time(std::vector<std::uint32_t> const& candidates, std::size_t tensors, std::int64_t budget, Cost&& cost_of) {
  std::int64_t best = -1;
  for (std::uint32_t set = 0; set < 1U << candidates.size(); ++set) {
    std::vector<std::uint8_t> dropped(tensors);
    for (std::size_t k = 0; k < candidates.size(); ++k) dropped[candidates[k]] = set >> k & 1U;
    auto const cost = cost_of(dropped);
    if (cost && cost->peak <= budget && (best < 0 || cost->time < best)) best = cost->time;
  }
  return best;
}

/// The least peak of all orders of a small graph, over all sets of operators that can have run.
std::int64_t optimal_order_peak(graph const& g) {
  auto const uses = uses_of(g);
  auto const n = g.size(), count = g.tensors.size();
  std::vector<std::uint32_t> needs(n), made(count), read(count);
  std::vector<bool> start(count), kept(count);
  for (std::uint32_t t = 0; t < count; ++t) {
    auto const root = uses.memory[t];
    if (uses.maker[t] == graph_uses::none)
      start[root] = true;
    else
      made[root] |= 1U << uses.maker[t];
    for (auto const v : uses.readers[t]) {
      read[root] |= 1U << v;
      if (uses.maker[t] != graph_uses::none) needs[v] |= 1U << uses.maker[t];
    }
    if (g.tensors[t].kept) kept[root] = true;
    if (g.tensors[t].in_place)  // all that others read of this memory before
      for (std::uint32_t x = 0; x < count; ++x)
        if (x != t && uses.memory[x] == root && uses.maker[x] <= uses.maker[t])
          for (auto const v : uses.readers[x])
            if (v < uses.maker[t]) needs[uses.maker[t]] |= 1U << v;
  }
  std::vector<std::int64_t> best(std::size_t{1} << n, std::numeric_limits<std::int64_t>::max());
  best[0] = 0;
  for (std::uint32_t done = 0; done + 1 < best.size(); ++done) {
    if (best[done] == std::numeric_limits<std::int64_t>::max()) continue;
    for (std::uint32_t v = 0; v < n; ++v) {
      if (done >> v & 1U || (needs[v] & ~done) != 0) continue;
      auto const with = done | 1U << v;
      std::int64_t held = g.operators[v].workspace;
      for (std::uint32_t t = 0; t < count; ++t) {
        if (uses.memory[t] != t) continue;
        auto const there = start[t] ? (read[t] != 0 || kept[t]) : (made[t] & with) != 0;
        auto const needed = kept[t] || (read[t] & ~done) != 0 || (made[t] & (1U << v)) != 0;
        if (there && needed) held += g.tensors[t].bytes;
      }
      best[with] = std::min(best[with], std::max(best[done], held));
    }
  }
  return best.back();
}

}  // namespace

TEST_CASE("recompute_graph: a chain of nine layers, down to its checkpoints") {
  auto const g = chain_graph(9, 100, 7);
  CHECK(recompute_candidates(g) == std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(program_order_peak(g) == 1100);  // ten tensors and a gradient
  auto const free = recompute_graph(g, 1100, in_program_order);
  CHECK(free.time == certificate{0, 0});
  CHECK(free.rewritten == g);
  std::vector<std::int64_t> layers_again;
  for (std::int64_t budget = 1000; budget >= 300; budget -= 100) {
    auto const plan = recompute_graph(g, budget, in_program_order);
    if (plan.status != status::feasible) break;
    CHECK(plan.time.optimal());
    CHECK(plan.peak <= budget);
    layers_again.push_back(plan.time.value / 7);
  }
  CHECK(layers_again == std::vector<std::int64_t>{1, 2, 3, 4, 5});
  auto const tight = recompute_graph(g, 500, in_program_order);
  CHECK(tight.status == status::infeasible);  // once again at most, for each operator
  CHECK(tight.lower_peak <= 500);
  auto const none = recompute_graph(g, 299, in_program_order);
  CHECK(none.status == status::infeasible);
  CHECK(none.lower_peak > 299);
  CHECK(none.rewritten == graph{});
}

TEST_CASE("recompute_graph: names, kinds and places of what runs again") {
  auto const g = chain_graph(3, 100, 7);
  auto const plan = recompute_graph(g, program_order_peak(g) - 1, in_program_order);
  REQUIRE(plan.status == status::feasible);
  CHECK(plan.dropped.size() == 1);
  std::string names;
  for (auto const& o : plan.rewritten.operators) names += o.name + (o.kind == operator_kind::backward ? "* " : " ");
  CHECK(names == "layer 0 layer 1 layer 2 loss* backward 2* layer 0 (again)* backward 1* backward 0* ");
  CHECK(plan.rewritten.tensors[plan.rewritten.tensors.size() - 2].name == "layer 0 (done)");
  CHECK(plan.rewritten.tensors.back().name == "x1 (again)");
}

TEST_CASE("recompute_graph: on few candidates the least time of all sets, by another simulation") {
  int found = 0, none = 0, heuristic = 0, proven = 0;
  for (std::uint64_t seed = 0; seed < 400; seed += round_step) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const g = random_training_graph(2 + static_cast<int>(uniform_below(9, generator)), generator);
    REQUIRE(describe(check_graph(g), g) == "valid");
    auto const candidates = recompute_candidates(g);
    if (candidates.empty() || candidates.size() > 8) continue;
    simulated_recompute simulation(g);
    auto const nothing = simulation.run(std::vector<std::uint8_t>(g.tensors.size()));
    REQUIRE(nothing->peak == program_order_peak(g));
    auto const budget =
        nothing->peak - 1 - static_cast<std::int64_t>(uniform_below(1 + static_cast<std::uint64_t>(nothing->peak) / 8, generator));
    if (budget < 0) continue;
    auto const expected = least_time(candidates, g.tensors.size(), budget, [&](auto const& dropped) { return simulation.run(dropped); });
    auto const plan = recompute_graph(g, budget, in_program_order);
    REQUIRE(describe(check_graph_recompute(plan, g, budget, in_program_order)) == "valid");
    REQUIRE(plan.status == (expected < 0 ? status::infeasible : status::feasible));
    REQUIRE(plan.complete);
    if (expected >= 0) REQUIRE(plan.time == certificate{expected, expected});
    // Without the search: a lower bound, and often the optimum.
    auto const quick = recompute_graph(g, budget, in_program_order, {}, {.exact = 0});
    REQUIRE(describe(check_graph_recompute(quick, g, budget, in_program_order)) == "valid");
    if (expected < 0) {
      REQUIRE(quick.status != status::feasible);
      ++none;
      continue;
    }
    ++found;
    REQUIRE(quick.time.lower_bound <= expected);
    if (quick.status != status::feasible) continue;
    REQUIRE(quick.time.value >= expected);
    heuristic += quick.time.value == expected ? 1 : 0;
    proven += quick.time.optimal() ? 1 : 0;
  }
  UNSCOPED_INFO(found << " feasible, " << none << " not; quick choice optimal in " << heuristic << ", proven in " << proven);
  CHECK(10 * none > found);
  if (round_step == 1) CHECK(10 * heuristic > 9 * found);
  if (round_step == 1) CHECK(8 * proven > found);
}

TEST_CASE("recompute_graph: the bound holds for optimal orders too") {
  int cases = 0;
  for (std::uint64_t seed = 0; seed < 400; seed += round_step) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const g = random_training_graph(2 + static_cast<int>(uniform_below(4, generator)), generator);
    auto const candidates = recompute_candidates(g);
    if (candidates.empty() || candidates.size() > 4 || g.size() > 9) continue;
    auto const peak = [](graph const& h) { return optimal_order_peak(h); };
    REQUIRE(peak(g) <= program_order_peak(g));
    auto const budget = peak(g) - 1;
    if (budget < 0) continue;
    detail::graph_rewriter<> const rewriter(g);
    auto const expected = least_time(candidates, g.tensors.size(), budget, [&](auto const& dropped) -> std::optional<recompute_cost> {
      auto const again = rewriter.repeated(dropped);
      if (!again) return std::nullopt;
      return recompute_cost{rewriter.time_of(*again), peak(rewriter.rewrite(dropped, *again, false).changed)};
    });
    for (std::uint64_t const exact : {0U, 12U}) {
      auto const plan = recompute_graph(g, budget, peak, {}, {.exact = exact});
      REQUIRE(describe(check_graph_recompute(plan, g, budget, peak)) == "valid");
      if (expected < 0) {
        REQUIRE(plan.status != status::feasible);
        continue;
      }
      REQUIRE(plan.lower_peak <= budget);
      REQUIRE(plan.time.lower_bound <= expected);
      if (exact == 12) REQUIRE(plan.time == certificate{expected, expected});
      ++cases;
    }
  }
  if (round_step == 1) CHECK(cases > 60);  // of few rounds, none may be feasible
}

TEST_CASE("recompute_graph: larger graphs within the budget, above the bound, the same twice") {
  int feasible = 0;
  for (std::uint64_t seed = 0; seed < 40; seed += round_step) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const g = random_training_graph(20 + static_cast<int>(uniform_below(60, generator)), generator);
    auto const budget = program_order_peak(g) * static_cast<std::int64_t>(60 + uniform_below(40, generator)) / 100;
    auto const plan = recompute_graph(g, budget, in_program_order);
    REQUIRE(describe(check_graph_recompute(plan, g, budget, in_program_order)) == "valid");
    REQUIRE(plan.evaluations <= 20'000);
    auto const again = recompute_graph(g, budget, in_program_order);
    REQUIRE(again.dropped == plan.dropped);
    REQUIRE(again.rewritten == plan.rewritten);
    feasible += plan.status == status::feasible ? 1 : 0;
    // With more evaluations never a longer time, and never more of them than allowed.
    std::int64_t time = -1;
    for (std::uint64_t const evaluations : {1U, 10U, 100U}) {
      auto const some = recompute_graph(g, budget, in_program_order, {}, {.evaluations = evaluations});
      REQUIRE(some.evaluations <= evaluations);
      REQUIRE(describe(check_graph_recompute(some, g, budget, in_program_order)) == "valid");
      if (some.status != status::feasible) continue;
      REQUIRE((time < 0 || some.time.value <= time));
      time = some.time.value;
    }
  }
  CHECK(2 * feasible > 40 / round_step);
}

TEST_CASE("recompute_graph: a transformer, within a tenth of the lower bound") {
  auto model = transformer_preset("gpt2-xl");
  model.layers = 4;
  auto const g = training_graph<std::int64_t>(model, 8, 1024, {.scores = true});
  auto const peak = program_order_peak(g);
  for (std::int64_t const percent : {95, 85, 75}) {
    auto const plan = recompute_graph(g, peak * percent / 100, in_program_order);
    REQUIRE(plan.status == status::feasible);
    CHECK(describe(check_graph_recompute(plan, g, peak * percent / 100, in_program_order)) == "valid");
    CHECK(plan.time.gap() < 0.1);
  }
}

TEST_CASE("recompute_graph: a requested stop, and a bound apart from the peak") {
  auto const g = chain_graph(9, 100, 7);
  auto const stop = std::make_unique<std::stop_source>();
  stop->request_stop();
  auto const stopped = recompute_graph(g, 800, in_program_order, {.stop = stop->get_token()});
  CHECK(!stopped.complete);
  CHECK(stopped.status == status::unknown);
  ballast_test::progress_log told;
  (void)recompute_graph(g, 800, in_program_order, {.progress = told}, {.evaluations = 100});
  CHECK((told.sound && told.calls > 4));
  auto const nothing_known = [](graph const&) { return std::int64_t{0}; };
  auto const plan = recompute_graph(g, 800, in_program_order, nothing_known);
  CHECK(plan.time.optimal());
  CHECK(plan.lower_peak == 0);
  auto const quick = recompute_graph(g, 800, in_program_order, nothing_known, {}, {.exact = 0});
  CHECK(quick.time == certificate{21, 0});
}

TEST_CASE("recompute_graph: refuses what is no problem") {
  auto g = chain_graph(2, 100, 7);
  CHECK(refusal([&] { return recompute_graph(g, -1, in_program_order).peak; }) == "budget = -1 must not be negative");
  CHECK(refusal([&] { return recompute_graph(g, 5, in_program_order, {}, {.evaluations = 0}).peak; }) == "evaluations must be at least 1");
  g.tensors[0].bytes = std::int64_t{1} << 61;
  CHECK(refusal([&] { return recompute_graph(g, 5, in_program_order).peak; }) == "all bytes and all times must be below 2^61");
  g.tensors[0].bytes = -1;
  CHECK(refusal([&] { return recompute_graph(g, 5, in_program_order).peak; }) == "tensor 0 (input) has a negative size, -1");
}

}  // namespace test_recompute_graph_recompute_graph
