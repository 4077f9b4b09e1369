// SPDX-License-Identifier: Apache-2.0
// Ordering a million steps of two and of five levels, each order beside `std::shuffle` of the same steps. Counters: `off` is the most steps
// by which a level is ahead of or behind its share at any point, `switches` how often a step has another setting than the one before.
#include <ballast/curriculum.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace {

std::vector<ballast::curriculum_source> draw_sources(std::int64_t levels) {
  std::vector<ballast::curriculum_source> sources{{.setting = {16384, 1, 28}, .steps = 792401},
                                                  {.setting = {131072, 8, 29}, .steps = 207599}};
  if (levels == 5)
    sources = {{.setting = {8192, 1, 8}, .steps = 400009},
               {.setting = {16384, 1, 28}, .steps = 300007},
               {.setting = {32768, 4, 23}, .steps = 200003},
               {.setting = {65536, 4, 28}, .steps = 90001},
               {.setting = {131072, 8, 29}, .steps = 9980}};
  ballast::splitmix64 draw(20240720);
  for (auto& source : sources) {
    source.keys.resize(static_cast<std::size_t>(source.steps));
    for (auto& key : source.keys)
      key = static_cast<std::int64_t>(ballast::uniform_below(static_cast<std::uint64_t>(source.setting.capacity), draw));
  }
  return sources;
}

void report(benchmark::State& state, ballast::curriculum_plan const& plan) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(plan.size()));
  state.counters["off"] = plan.discrepancy();
  state.counters["switches"] = static_cast<double>(plan.switches());
}

// What a trainer does that knows nothing of levels: all steps in one list, shuffled.
void std_shuffle(benchmark::State& state) {
  auto const sources = draw_sources(state.range(0));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> steps;
  for (auto _ : state) {
    steps.clear();
    for (std::uint32_t s = 0; s < sources.size(); ++s)
      for (std::uint32_t i = 0; i < sources[s].steps; ++i) steps.emplace_back(s, i);
    std::shuffle(steps.begin(), steps.end(), std::mt19937_64(1));
    benchmark::DoNotOptimize(steps.data());
  }
  ballast::curriculum_plan plan;
  for (auto const& source : sources) plan.settings.push_back(source.setting);
  for (auto [source, index] : steps) {
    plan.source.push_back(source);
    plan.index.push_back(index);
  }
  report(state, plan);
}

template <ballast::curriculum_order Order>
void plan(benchmark::State& state) {
  auto const sources = draw_sources(state.range(0));
  ballast::curriculum_plan plan;
  for (auto _ : state) {
    plan = ballast::plan_curriculum(sources, {.order = Order, .warm_up = 500, .seed = 1});
    benchmark::DoNotOptimize(plan.source.data());
  }
  report(state, plan);
}

BENCHMARK(std_shuffle)->ArgName("levels")->Arg(2)->Arg(5)->Unit(benchmark::kMillisecond);
BENCHMARK(plan<ballast::curriculum_order::interleaved>)->ArgName("levels")->Arg(2)->Arg(5)->Unit(benchmark::kMillisecond);
BENCHMARK(plan<ballast::curriculum_order::random>)->ArgName("levels")->Arg(2)->Arg(5)->Unit(benchmark::kMillisecond);
BENCHMARK(plan<ballast::curriculum_order::ascending>)->ArgName("levels")->Arg(2)->Arg(5)->Unit(benchmark::kMillisecond);
BENCHMARK(plan<ballast::curriculum_order::ascending_buckets>)->ArgName("levels")->Arg(2)->Arg(5)->Unit(benchmark::kMillisecond);
BENCHMARK(plan<ballast::curriculum_order::shuffled_buckets>)->ArgName("levels")->Arg(2)->Arg(5)->Unit(benchmark::kMillisecond);

}  // namespace
