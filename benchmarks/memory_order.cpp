// SPDX-License-Identifier: Apache-2.0
// Orders of operators of little memory (docs/memory-order.md).
//
// `family` orders twelve random graphs of a kind with the number of operators behind it: `solved` proven optimal; `states` and `ms`, the
// median and the most of sets of operators and of milliseconds of processor time; then means of peaks over the peak of the result: `peer`,
// the best of program order, LPMF, BFS and DFS (PyTorch's compiler tries the last three), `net` and `lists`, the least net change and the
// best of six lists. `gap` is the mean of peak / lower bound - 1.
//
// `transformer` (layers, tokens), `inception` (blocks, batch), `densenet` and `unet` order one training step with Adam; counters are peaks
// over the lower bound. `lists` times each list scheduler by the number of operators, `large` the whole planner under its default limits.
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/training_graph.hpp>
#include <ballast/memory/check_order.hpp>
#include <ballast/memory/list_orders.hpp>
#include <ballast/memory/order.hpp>
#include <ballast/memory/peak.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <numeric>
#include <vector>

#include "../tests/support/branching_graphs.hpp"
#include "../tests/support/graph_families.hpp"

namespace {

using namespace ballast;
using namespace ballast_test;
using order = std::vector<std::uint32_t>;

order program_order(graph const& g) {
  order out(g.size());
  std::iota(out.begin(), out.end(), 0U);
  return out;
}
std::int64_t peak_of(graph const& g, order const& steps) { return evaluate_order(g, steps).peak; }
std::int64_t peer_of(graph const& g) {
  return (std::min)({peak_of(g, program_order(g)), peak_of(g, list_order(g, list_rule::least_peak)),
                     peak_of(g, list_order(g, list_rule::breadth_first)), peak_of(g, list_order(g, list_rule::depth_first))});
}
double over(std::int64_t a, std::int64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

using maker = graph (*)(std::size_t, splitmix64&);
graph layered(std::size_t n, splitmix64& generator) { return layered_graph(n, 8, generator); }
graph four_inputs(std::size_t n, splitmix64& generator) { return random_dag(n, 4, generator); }

void family(benchmark::State& state, maker make) {
  auto const n = static_cast<std::size_t>(state.range(0));
  constexpr int count = 12;
  double solved = 0, peer = 0, net = 0, lists = 0, gap = 0;
  std::vector<double> states, ms;
  for (auto _ : state)
    for (std::uint64_t seed = 0; seed < count; ++seed) {
      splitmix64 generator(1000 * n + seed);
      auto const g = make(n, generator);
      auto const begin = std::clock();
      auto const found = order_operators(g, {}, {.work = 10'000'000'000});
      ms.push_back(1e3 * static_cast<double>(std::clock() - begin) / static_cast<double>(CLOCKS_PER_SEC));
      if (!check_order(g, found.order, found.peak).valid()) return state.SkipWithError("not a valid order");
      auto const baseline = peer_of(g), listed = peak_of(g, list_order(g, list_rule::net));
      if (found.peak.value > baseline) return state.SkipWithError("above a baseline");
      states.push_back(static_cast<double>(found.states));
      solved += found.peak.optimal() ? 1 : 0;
      gap += found.peak.gap() / count;
      peer += over(baseline, found.peak.value) / count;
      net += over(listed, found.peak.value) / count;
      lists += over((std::min)({baseline, listed, peak_of(g, list_order(g, list_rule::reverse_net))}), found.peak.value) / count;
    }
  std::sort(states.begin(), states.end());
  std::sort(ms.begin(), ms.end());
  state.counters["solved"] = solved;
  state.counters["states"] = states[count / 2];
  state.counters["states_max"] = states.back();
  state.counters["ms"] = ms[count / 2];
  state.counters["ms_max"] = ms.back();
  state.counters["peer"] = peer;
  state.counters["net"] = net;
  state.counters["lists"] = lists;
  state.counters["gap"] = gap;
}

void order_step(benchmark::State& state, graph const& g) {
  memory_order found;
  for (auto _ : state) found = order_operators(g);
  if (!check_order(g, found.order, found.peak).valid()) return state.SkipWithError("not a valid order");
  auto const ratio = [&](order const& steps) { return over(peak_of(g, steps), found.peak.lower_bound); };
  state.counters["operators"] = static_cast<double>(g.size());
  state.counters["states"] = static_cast<double>(found.states);
  state.counters["gap"] = found.peak.gap();
  state.counters["program"] = ratio(program_order(g));
  state.counters["LPMF"] = ratio(list_order(g, list_rule::least_peak));
  state.counters["BFS"] = ratio(list_order(g, list_rule::breadth_first));
  state.counters["DFS"] = ratio(list_order(g, list_rule::depth_first));
  state.counters["net"] = ratio(list_order(g, list_rule::net));
}
void transformer_step(benchmark::State& state, char const* preset) {
  auto model = transformer_preset(preset);
  model.layers = state.range(0);
  order_step(state, training_graph<std::int64_t>(model, 1, state.range(1)));
}
void inception(benchmark::State& state) { order_step(state, inception_step(state.range(0), state.range(1))); }
void densenet(benchmark::State& state) {
  order_step(state,
             densenet_step(state.range(0) == 2 ? std::vector<std::int64_t>{6, 12} : std::vector<std::int64_t>{6, 12, 20}, state.range(1)));
}
void unet(benchmark::State& state) { order_step(state, unet_step(state.range(0), state.range(1))); }

void lists(benchmark::State& state, list_rule rule, maker make) {
  splitmix64 generator(7);
  auto const g = make(static_cast<std::size_t>(state.range(0)), generator);
  for (auto _ : state) benchmark::DoNotOptimize(list_order(g, rule));
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetComplexityN(state.range(0));
}
void large(benchmark::State& state, maker make) {
  splitmix64 generator(7);
  auto const g = make(static_cast<std::size_t>(state.range(0)), generator);
  memory_order found;
  for (auto _ : state) found = order_operators(g);
  state.counters["gap"] = found.peak.gap();
  state.counters["peer"] = over(peer_of(g), found.peak.value);
}

#define FAMILY(make, ...) BENCHMARK_CAPTURE(family, make, make)->ArgsProduct({{__VA_ARGS__}})->Iterations(1)->Unit(benchmark::kMillisecond)
FAMILY(layered, 30, 60, 100, 200, 400);
FAMILY(series_parallel_graph, 60, 100, 200, 400);
FAMILY(nested_graph, 60, 100, 200, 400);
FAMILY(four_inputs, 30, 60, 100);
BENCHMARK_CAPTURE(transformer_step, gpt2, "gpt2-xl")->ArgsProduct({{2, 4, 8, 12, 24, 48, 96}, {128, 2048}})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(transformer_step, qwen2, "qwen2.5-7b")->ArgsProduct({{12, 96}, {128, 2048}})->Unit(benchmark::kMillisecond);
BENCHMARK(inception)->ArgsProduct({{4, 9, 20}, {1, 32}})->Unit(benchmark::kMillisecond);
BENCHMARK(densenet)->ArgsProduct({{2, 3}, {1, 32}})->Unit(benchmark::kMillisecond);
BENCHMARK(unet)->ArgsProduct({{4, 7}, {1, 32}})->Unit(benchmark::kMillisecond);
#define LIST(rule, make) \
  BENCHMARK_CAPTURE(lists, rule##_##make, list_rule::rule, make)->RangeMultiplier(10)->Range(1000, 100'000)->Unit(benchmark::kMillisecond)
#define LISTS(rule)    \
  LIST(rule, layered); \
  LIST(rule, nested_graph)
LISTS(net);
LISTS(reverse_net);
LISTS(least_peak);
LISTS(breadth_first);
LISTS(depth_first);
#define LARGE(make) BENCHMARK_CAPTURE(large, make, make)->Arg(1000)->Arg(10'000)->Arg(100'000)->Iterations(1)->Unit(benchmark::kMillisecond)
LARGE(layered);
LARGE(nested_graph);

}  // namespace
