// SPDX-License-Identifier: Apache-2.0
// Cutting chains of layers into stages: speed, and `over` = bottleneck over the exact optimum. Baselines are those of
// partition_baselines.hpp in the same run. `x_faster` is the time of DeepSpeed's present dynamic programme (here in C++) over that of the
// exact cut; `vs_dp` that of the textbook dynamic programme.
//
// `quality` prints, for random chains, the mean and the largest `over` of each baseline and the share of chains that it cuts best
// (`best`). `vision_language` does the same for forward FLOPs of InternVL-Chat-1.5 by images, text and stages.
#include <ballast/cost/presets.hpp>
#include <ballast/partition.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <random>
#include <utility>
#include <vector>

#include "partition_baselines.hpp"

namespace {

using namespace ballast_benchmark;
enum shape : std::int64_t { uniform, lognormal, pareto };

costs random_chain(std::int64_t n, std::int64_t kind, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::lognormal_distribution<double> normal(0, 1);
  costs layers(static_cast<std::size_t>(n));
  for (auto& x : layers) {
    auto const u = (static_cast<double>(generator() >> 11) + 1) * 0x1p-53;
    x = static_cast<std::int64_t>(1e6 * (kind == uniform     ? u
                                         : kind == lognormal ? normal(generator)
                                                             : (std::min)(std::pow(u, -1 / 1.2), 1e6)));
    x = (std::max)(x, std::int64_t{1});
  }
  return layers;
}

costs vision_language_chain(std::int64_t tiles, std::int64_t text) {
  auto const& m = ballast::vision_language_preset("internvl-chat-1.5");
  auto const vision = ballast::layer_flops(m.vision.body, 0)(m.vision.tokens());
  auto const tokens = tiles * m.projector.tokens + text;
  costs chain{tiles * (ballast::tile_flops(m.vision) - m.vision.body.layers * vision)};
  chain.insert(chain.end(), static_cast<std::size_t>(m.vision.body.layers), tiles * vision);
  chain.push_back(tiles * ballast::tile_flops(m.projector));
  chain.push_back(0);
  chain.insert(chain.end(), static_cast<std::size_t>(m.language.layers), ballast::layer_flops(m.language, 0)(tokens));
  chain.push_back(ballast::head_flops_per_token(m.language) * tokens);
  return chain;
}

/// CPU time of a call, over as many as the clock's resolution asks for.
template <class Call>
double seconds(Call const& call) {
  auto const start = std::clock();
  std::clock_t passed = 0;
  std::int64_t calls = 0;
  for (; passed < CLOCKS_PER_SEC / 200; passed = std::clock() - start, ++calls) call();
  return static_cast<double>(passed) / static_cast<double>(CLOCKS_PER_SEC) / static_cast<double>(calls);
}

void exact(benchmark::State& state) {
  auto const layers = random_chain(state.range(0), state.range(2), 7);
  auto const stages = static_cast<std::size_t>(state.range(1));
  ballast::partition_options const options{.stages = stages};
  ballast::partition_workspace workspace;
  ballast::staged<> plan;
  for (auto _ : state) ballast::min_max_partition(layers, options, ballast::token_cost{}, workspace, plan);
  if (state.range(0) <= 4096 && !check_partition(plan, layers, options).valid()) return state.SkipWithError("not a valid plan");
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["over"] = 1 + plan.bottleneck.gap();
  if (state.range(0) > 1024) return;
  auto const own = seconds([&] { ballast::min_max_partition(layers, options, ballast::token_cost{}, workspace, plan); });
  cuts at;
  state.counters["x_faster"] = seconds([&] { at = deepspeed_max_min(layers, stages); }) / own;
  state.counters["vs_dp"] = seconds([&] { at = plain_dynamic_programme(layers, stages); }) / own;
  if (bottleneck_of(layers, at) != plan.bottleneck.value) state.SkipWithError("the dynamic programme finds another optimum");
}

void least_squares(benchmark::State& state) {
  auto const layers = random_chain(state.range(0), state.range(2), 7);
  ballast::partition_options const options{.stages = static_cast<std::uint64_t>(state.range(1))};
  for (auto _ : state) benchmark::DoNotOptimize(ballast::least_squares_partition(layers, options));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
/// Two chunks a device: the gap that the certificate leaves.
void two_chunks(benchmark::State& state) {
  auto const layers = random_chain(state.range(0), state.range(2), 7);
  ballast::staged<> plan;
  for (auto _ : state)
    plan = ballast::virtual_stages(layers, {.devices = static_cast<std::uint64_t>(state.range(1)), .chunks = 2, .work = 100'000});
  state.counters["over"] = 1 + plan.bottleneck.gap();
  auto const sums = prefix_sums(layers);
  auto const chain = ballast::min_max_partition(layers, {.stages = static_cast<std::uint64_t>(2 * state.range(1))});
  std::vector<std::int64_t> load(static_cast<std::size_t>(state.range(1)));
  for (std::size_t c = 0; c + 1 < chain.boundaries.size(); ++c)
    load[c % load.size()] += sums[chain.boundaries[c + 1]] - sums[chain.boundaries[c]];
  state.counters["chain_over"] =
      static_cast<double>(*std::max_element(load.begin(), load.end())) / static_cast<double>(plan.bottleneck.lower_bound);
}

using partitioner = cuts (*)(costs const&, std::size_t);

void quality(benchmark::State& state, partitioner cut) {
  auto const stages = static_cast<std::size_t>(state.range(1));
  double sum = 0, worst = 0;
  std::int64_t best = 0, chains = 0;
  for (auto _ : state)
    for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(state.range(3)); ++seed) {
      auto const layers = random_chain(state.range(0), state.range(2), 1000 + seed);
      auto const optimum = ballast::min_max_partition(layers, {.stages = stages}).bottleneck.value;
      auto const over = static_cast<double>(bottleneck_of(layers, cut(layers, stages))) / static_cast<double>(optimum);
      sum += over;
      worst = (std::max)(worst, over);
      best += over == 1 ? 1 : 0;
      ++chains;
    }
  state.counters["over"] = sum / static_cast<double>(chains);
  state.counters["worst"] = worst;
  state.counters["best"] = static_cast<double>(best) / static_cast<double>(chains);
}
void vision_language(benchmark::State& state, partitioner cut) {
  auto const layers = vision_language_chain(state.range(0), state.range(1));
  auto const stages = static_cast<std::size_t>(state.range(2));
  cuts at;
  for (auto _ : state) at = cut(layers, stages);
  auto const optimum = ballast::min_max_partition(layers, {.stages = stages}).bottleneck.value;
  state.counters["over"] = static_cast<double>(bottleneck_of(layers, at)) / static_cast<double>(optimum);
}
/// Old DeepSpeed on layer times in seconds: its tolerance is absolute.
cuts deepspeed_in_seconds(costs const& layers, std::size_t stages) { return deepspeed_bisection(layers, stages, 1e-9); }
cuts deepspeed_old(costs const& layers, std::size_t stages) { return deepspeed_bisection(layers, stages); }

/// Ten layers and far more stages, which may be empty: the time is that of writing the boundaries.
void empty_stages(benchmark::State& state) {
  auto const layers = random_chain(10, uniform, 1);
  ballast::partition_workspace workspace;
  ballast::staged<> plan;
  for (auto _ : state)
    ballast::min_max_partition(layers, {.stages = static_cast<std::uint64_t>(state.range(0)), .min_layers = 0}, ballast::token_cost{},
                               workspace, plan);
  state.counters["boundaries"] = static_cast<double>(plan.boundaries.size());
}

void sizes(benchmark::internal::Benchmark* b) {
  for (std::int64_t kind : {uniform, lognormal, pareto})
    for (auto const& [n, p] :
         {std::pair<std::int64_t, std::int64_t>{97, 8}, {256, 32}, {1024, 16}, {1024, 64}, {4096, 64}, {1'000'000, 1024}})
      b->Args({n, p, kind});
  b->ArgNames({"n", "p", "kind"})->Unit(benchmark::kMicrosecond);
}
void layers_of_models(benchmark::internal::Benchmark* b) {
  for (std::int64_t kind : {uniform, lognormal}) b->Args({97, 8, kind});
  b->ArgNames({"n", "p", "kind"})->Unit(benchmark::kMicrosecond);
}
void random_chains(benchmark::internal::Benchmark* b) {
  b->Args({32, 8, uniform, 300})->Args({96, 16, uniform, 80})->Args({32, 8, lognormal, 300})->Args({64, 8, lognormal, 200});
  b->Args({96, 16, lognormal, 80})->Args({32, 4, pareto, 300})->Args({64, 8, pareto, 200});
  b->ArgNames({"n", "p", "kind", "runs"})->Unit(benchmark::kMillisecond)->Iterations(1);
}
void vision_language_mixes(benchmark::internal::Benchmark* b) {
  b->Args({1, 512, 8})->Args({1, 4096, 8})->Args({4, 1024, 16})->Args({7, 512, 16})->Args({7, 512, 24})->Args({12, 512, 16});
  b->ArgNames({"tiles", "text", "p"})->Unit(benchmark::kMicrosecond);
}

BENCHMARK(exact)->Apply(sizes);
BENCHMARK(empty_stages)->ArgName("p")->Arg(10)->Arg(1'000'000)->Arg(10'000'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(least_squares)->Apply(layers_of_models)->Args({4096, 64, lognormal});
BENCHMARK(two_chunks)->Apply(layers_of_models);

#define BALLAST_BASELINE(name)                                  \
  BENCHMARK_CAPTURE(quality, name, name)->Apply(random_chains); \
  BENCHMARK_CAPTURE(vision_language, name, name)->Apply(vision_language_mixes)
BALLAST_BASELINE(deepspeed_max_min);
BALLAST_BASELINE(deepspeed_old);
BALLAST_BASELINE(block_partition);
BALLAST_BASELINE(nearest_cut);
BALLAST_BASELINE(recursive_bisection);
BALLAST_BASELINE(growing_bucket);
BALLAST_BASELINE(equal_count);
#undef BALLAST_BASELINE
BENCHMARK_CAPTURE(quality, deepspeed_in_seconds, deepspeed_in_seconds)->Apply(random_chains);

}  // namespace
