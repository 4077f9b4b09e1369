// SPDX-License-Identifier: Apache-2.0
// What to compute again in the graph of a training step, beside three usual choices at the budget that each of them needs: `all` keeps
// nothing that the forward pass makes, `sqrt` keeps every k-th candidate for k the root of their number (Chen et al., 2016), and `layers`
// keeps the tensors that enter a layer (full recomputation in Megatron-LM). Then budgets between the least peak of any choice (0 %) and the
// peak of the graph as it is (100 %). Peaks are those of program order. Times are in percent of the forward pass: `theirs`, `time` of ours
// and `bound`, its lower bound; `dropped` of `candidates` tensors; a choice that does not exist has a time of -1.
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/training_graph.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/recompute/graph/recompute_graph.hpp>

#include "../tests/recompute/graph/graph_suite.hpp"
#include "../tests/support/program_order_peak.hpp"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

constexpr auto peak = [](ballast::graph const& g) { return ballast_test::program_order_peak(g); };

ballast::graph graph_of(std::int64_t which) {
  if (which == 0) return ballast::training_graph<std::int64_t>(ballast::transformer_preset("gpt2-xl"), 8, 1024, {.scores = true});
  if (which == 1) return ballast::training_graph<std::int64_t>(ballast::transformer_preset("gpt2-xl"), 8, 1024);
  if (which == 2) return ballast::training_graph<std::int64_t>(ballast::transformer_preset("llama-3.1-8b"), 4, 8192);
  return ballast_test::chain_graph(100, 100, 7);
}
char const* name_of(std::int64_t which) {
  constexpr char const* names[] = {"gpt2-xl, scores in memory", "gpt2-xl", "llama-3.1-8b", "chain of 100"};
  return names[which];
}

double percent_of_forward(ballast::graph const& g, std::int64_t time) {
  std::int64_t forward = 0;
  for (auto const& o : g.operators) forward += o.kind == ballast::operator_kind::forward ? o.time : 0;
  return 100 * static_cast<double>(time) / static_cast<double>(forward);
}

ballast::graph_recompute plan(benchmark::State& state, ballast::graph const& g, std::int64_t budget) {
  ballast::graph_recompute result;
  for (auto _ : state) result = ballast::recompute_graph(g, budget, peak);
  auto const feasible = result.status == ballast::status::feasible;
  state.counters["time"] = feasible ? percent_of_forward(g, result.time.value) : -1;
  state.counters["bound"] = feasible ? percent_of_forward(g, result.time.lower_bound) : -1;
  state.counters["dropped"] = static_cast<double>(result.dropped.size());
  state.counters["evaluations"] = static_cast<double>(result.evaluations);
  state.counters["candidates"] = static_cast<double>(ballast::recompute_candidates(g).size());
  return result;
}

void beside(benchmark::State& state) {
  auto const g = graph_of(state.range(0));
  auto const candidates = ballast::recompute_candidates(g);
  std::size_t every = 1;
  while (every * every < candidates.size()) ++every;
  std::vector<std::uint8_t> dropped(g.tensors.size());
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    auto const& name = g.tensors[candidates[k]].name;
    auto const enters = name.find("feed-forward sum") != std::string::npos || name.find("positions") != std::string::npos;
    dropped[candidates[k]] = state.range(1) == 0 || (state.range(1) == 1 ? (k + 1) % every != 0 : !enters) ? 1 : 0;
  }
  ballast::detail::graph_rewriter<> const rewriter(g);
  auto const repeated = *rewriter.repeated(dropped);
  constexpr char const* names[] = {"all", "sqrt", "layers"};
  auto const budget = peak(rewriter.rewrite(dropped, repeated, false).changed);
  state.SetLabel(std::string(name_of(state.range(0))) + ", " + names[state.range(1)]);
  state.counters["theirs"] = percent_of_forward(g, rewriter.time_of(repeated));
  state.counters["peak"] = 100 * static_cast<double>(budget) / static_cast<double>(peak(g));
  plan(state, g, budget);
}

void budgets(benchmark::State& state) {
  auto const g = graph_of(state.range(0));
  auto const least = ballast::recompute_graph(g, 0, peak).lower_peak, most = peak(g);
  state.SetLabel(name_of(state.range(0)));
  plan(state, g, least + (most - least) / 100 * state.range(1));
}

BENCHMARK(beside)
    ->ArgNames({"graph", "choice"})
    ->ArgsProduct({{0, 1, 2}, {0, 1, 2}})
    ->Args({3, 0})
    ->Args({3, 1})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(budgets)->ArgNames({"graph", "budget"})->ArgsProduct({{0, 1, 2, 3}, {90, 70, 50, 30, 20, 10, 5}})->Unit(benchmark::kMillisecond);

}  // namespace
