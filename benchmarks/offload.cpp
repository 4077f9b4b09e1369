// SPDX-License-Identifier: Apache-2.0
// Plans of what is in host memory, for equal layers of llama-3.1-8b's size (218 million parameters, 18 bytes each): time of planning, and
// the modelled step in ms as counters, -1 where a plan does not fit: `planned`, the lower bound of every plan (`bound`), and the baselines
// `everything`, `first` and `stride` (all three states of as few layers as fit), and `best_rule`, the fastest of the four rules over all
// choices of states. The device has a percentage of the states, the link 6, 25 or 100 GB/s each way, the host updates 20 GB/s.
// `all_different` has layers of which no two have the same states. `simulate` is the timeline of one placement alone.
#include <ballast/pipeline/prefetch.hpp>
#include <ballast/staging/offload.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

constexpr std::int64_t giga = 1'000'000'000;

struct problem {
  std::vector<ballast::offload_layer> layers;
  ballast::offload_options options;
};

problem made(std::int64_t layers, std::int64_t percent, std::int64_t link) {
  constexpr std::int64_t parameters = 218'112'000;
  problem p;
  p.layers.assign(static_cast<std::size_t>(layers), {.forward = 30'000'000,
                                                     .backward = 60'000'000,
                                                     .device_update = 2'000'000,
                                                     .states = {2 * parameters, 4 * parameters, 12 * parameters}});
  auto const all = 18 * parameters * layers;
  p.options = {.device_memory = all * percent / 100, .host_memory = 2 * all, .rates = {link * giga, link * giga, 20 * giga}};
  return p;
}

double ms(ballast::offload_plan const& plan) {
  return plan.status == ballast::status::feasible ? static_cast<double>(plan.time.value) / 1e6 : -1;
}

void plan(benchmark::State& state) {
  auto const p = made(state.range(0), state.range(1), state.range(2));
  ballast::offload_plan plan;
  for (auto _ : state) {
    plan = ballast::plan_offload(p.layers, p.options);
    benchmark::DoNotOptimize(plan);
  }
  using enum ballast::offload_rule;
  state.counters["planned"] = ms(plan);
  state.counters["bound"] = static_cast<double>(plan.time.lower_bound) / 1e6;
  double best = -1;
  for (auto const rule : {everything, first, last, stride})
    for (std::size_t c = 0; c < ballast::hosted_choices; ++c) {
      auto const time = ms(ballast::offload_by_rule(p.layers, rule, p.options, static_cast<ballast::hosted>(c)));
      if (time >= 0 && (best < 0 || time < best)) best = time;
    }
  state.counters["everything"] = ms(ballast::offload_by_rule(p.layers, everything, p.options));
  state.counters["first"] = ms(ballast::offload_by_rule(p.layers, first, p.options));
  state.counters["stride"] = ms(ballast::offload_by_rule(p.layers, stride, p.options));
  state.counters["best_rule"] = best;
}
BENCHMARK(plan)->ArgsProduct({{32, 80, 1000}, {10, 25, 40, 60, 80}, {6, 25, 100}})->Unit(benchmark::kMillisecond);

/// Layers of which no two have the same states.
void all_different(benchmark::State& state) {
  auto p = made(state.range(0), 40, 25);
  for (std::size_t i = 0; i < p.layers.size(); ++i) {
    auto& states = p.layers[i].states;
    states.parameter -= 2000 * static_cast<std::int64_t>(i);
    states.gradient = 2 * states.parameter;
    states.optimizer = 6 * states.parameter;
  }
  ballast::offload_plan plan;
  for (auto _ : state) {
    plan = ballast::plan_offload(p.layers, p.options);
    benchmark::DoNotOptimize(plan);
  }
  state.counters["planned"] = ms(plan);
  state.counters["bound"] = static_cast<double>(plan.time.lower_bound) / 1e6;
}
BENCHMARK(all_different)->Arg(80)->Arg(1000)->Unit(benchmark::kMillisecond);

void simulate(benchmark::State& state) {
  auto const p = made(state.range(0), 40, 25);
  std::vector<ballast::prefetch_layer> layers;
  for (auto const& l : p.layers) layers.push_back(ballast::prefetch_layer_of(l, ballast::hosted::all, p.options.rates));
  for (auto _ : state) benchmark::DoNotOptimize(ballast::simulate_prefetch(layers, 2));
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(simulate)->RangeMultiplier(10)->Range(100, 100'000)->Complexity();

}  // namespace
