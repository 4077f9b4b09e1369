// SPDX-License-Identifier: Apache-2.0
// Packing speed beside the item-by-item algorithm in the three forms that compiled peers use (item_by_item.hpp), in one run. Where a
// benchmark has a counter `x_faster`, it is the time of the fastest baseline on the same input over its own; the packs were compared member
// by member before.
//
// Lengths: floor of a lognormal (mu 6.5, sigma 1.4), clipped to 16 … 131072, then to the capacity.
#include "item_by_item.hpp"

#include <ballast/packing/best_fit.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/expand.hpp>
#include <ballast/packing/first_fit.hpp>
#include <ballast/packing/first_fit_decreasing.hpp>
#include <ballast/packing/next_fit.hpp>
#include <ballast/packing/run_length.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace {

std::vector<std::int32_t> const& lengths_for(std::int64_t n, std::int64_t capacity) {
  static std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int32_t>> cache;
  auto& lengths = cache[{n, capacity}];
  if (lengths.empty()) {
    std::mt19937_64 generator(20240720);
    std::lognormal_distribution<double> draw(6.5, 1.4);
    lengths.resize(static_cast<std::size_t>(n));
    for (auto& l : lengths)
      l = static_cast<std::int32_t>(std::clamp(draw(generator), 16.0, static_cast<double>((std::min)(capacity, std::int64_t{131072}))));
  }
  return lengths;
}

template <class Call>
double seconds(Call const& call) {
  auto const start = std::chrono::steady_clock::now();
  benchmark::DoNotOptimize(call());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The fastest baseline's least time of three, or of more where samples are few.
double baseline_seconds(std::int64_t n, std::int64_t capacity) {
  static std::map<std::pair<std::int64_t, std::int64_t>, double> cache;
  auto& best = cache[{n, capacity}];
  if (best == 0) {
    auto const& lengths = lengths_for(n, capacity);
    auto const c = static_cast<std::int32_t>(capacity);
    best = 1e9;
    for (std::int64_t repeat = 0; repeat < 3 + 200'000 / n; ++repeat) {
      if (n < 100'000) best = (std::min)(best, seconds([&] { return baseline::tree_bfd(lengths, c).size(); }));
      if (repeat >= 100) continue;
      best = (std::min)(best, seconds([&] { return baseline::multiset_bfd(lengths, c).size(); }));
      best = (std::min)(best, seconds([&] { return baseline::segment_tree_bfd(lengths, c).size(); }));
    }
  }
  return best;
}

void report(benchmark::State& state, std::size_t packs) {
  auto const& lengths = lengths_for(state.range(0), state.range(1));
  std::int64_t tokens = 0;
  for (auto l : lengths) tokens += l;
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["packs"] = static_cast<double>(packs);
  state.counters["fill"] = static_cast<double>(tokens) / (static_cast<double>(state.range(1)) * static_cast<double>(packs));
}

template <class Call>
void timed(benchmark::State& state, bool against_baseline, Call const& call) {
  double best = 1e9;
  for (auto _ : state) best = (std::min)(best, seconds(call));
  report(state, static_cast<std::size_t>(call()));
  if (against_baseline) state.counters["x_faster"] = baseline_seconds(state.range(0), state.range(1)) / best;
}

void baseline_multiset(benchmark::State& state) {
  auto const& lengths = lengths_for(state.range(0), state.range(1));
  timed(state, false, [&] { return baseline::multiset_bfd(lengths, static_cast<std::int32_t>(state.range(1))).size(); });
}
void baseline_tree(benchmark::State& state) {
  auto const& lengths = lengths_for(state.range(0), state.range(1));
  timed(state, false, [&] { return baseline::tree_bfd(lengths, static_cast<std::int32_t>(state.range(1))).size(); });
}
void baseline_segment_tree(benchmark::State& state) {
  auto const& lengths = lengths_for(state.range(0), state.range(1));
  timed(state, false, [&] { return baseline::segment_tree_bfd(lengths, static_cast<std::int32_t>(state.range(1))).size(); });
}

// Offsets and members written, in memory that is kept between calls.
void item_map(benchmark::State& state) {
  auto const& lengths = lengths_for(state.range(0), state.range(1));
  ballast::packing_options const options{.capacity = state.range(1)};
  ballast::packing_workspace<> workspace;
  ballast::packing<> plan;
  ballast::best_fit_decreasing(lengths, options, ballast::token_cost{}, workspace, plan);
  if (plan.packs != baseline::multiset_bfd(lengths, static_cast<std::int32_t>(state.range(1))))
    return state.SkipWithError("differs from item-by-item");
  timed(state, true, [&] {
    ballast::best_fit_decreasing(lengths, options, ballast::token_cost{}, workspace, plan);
    return plan.packs.size();
  });
}
// The same with everything allocated in the call.
void item_map_cold(benchmark::State& state) {
  auto const& lengths = lengths_for(state.range(0), state.range(1));
  timed(state, true, [&] { return ballast::best_fit_decreasing(lengths, {.capacity = state.range(1)}).packs.size(); });
}
void item_map_two_threads(benchmark::State& state) {
  auto const& lengths = lengths_for(state.range(0), state.range(1));
  ballast::packing_workspace<> workspace;
  ballast::packing<> plan;
  timed(state, true, [&] {
    ballast::best_fit_decreasing(lengths, {.capacity = state.range(1)}, ballast::token_cost{}, workspace, plan, ballast::threads{2});
    return plan.packs.size();
  });
}
// The histogram pass and the plan, without naming samples.
void plan_alone(benchmark::State& state) {
  auto const& lengths = lengths_for(state.range(0), state.range(1));
  ballast::histogram classes;
  ballast::fold_workspace folds;
  ballast::plan_workspace workspace;
  ballast::pack_runs plan;
  timed(state, true, [&] {
    ballast::fold(lengths, classes, folds);
    ballast::plan_best_fit_decreasing(classes, {.capacity = state.range(1)}, workspace, plan);
    return plan.packs;
  });
}

// Up to a billion samples, from their histogram: the shape of 10^7 draws, each counted n / 10^7 times.
void count_only(benchmark::State& state) {
  auto histogram = ballast::fold(lengths_for(10'000'000, state.range(1)));
  for (auto& c : histogram.counts) c *= static_cast<std::uint64_t>(state.range(0) / 10'000'000);
  std::int64_t packs = 0, bound = 0;
  for (auto _ : state) {
    auto const tally = ballast::count_packs(histogram, {.capacity = state.range(1)});
    packs = tally.count.value;
    bound = tally.count.lower_bound;
    benchmark::DoNotOptimize(packs);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["packs"] = static_cast<double>(packs);
  state.counters["bound"] = static_cast<double>(bound);
}

template <class Packer>
void packer(benchmark::State& state, Packer const& pack) {
  auto const& lengths = lengths_for(state.range(0), state.range(1));
  timed(state, false, [&] { return pack(lengths, ballast::packing_options{.capacity = state.range(1)}).packs.size(); });
}

void sizes(benchmark::internal::Benchmark* b) {
  for (std::int64_t capacity : {8192, 131072})
    for (std::int64_t n : {100'000, 1'000'000, 10'000'000}) b->Args({n, capacity});
  b->Unit(benchmark::kMillisecond);
}
void one_million(benchmark::internal::Benchmark* b) {
  b->Args({1'000'000, 8192})->Args({1'000'000, 131072})->Unit(benchmark::kMillisecond);
}

BENCHMARK(baseline_multiset)->Apply(sizes);
BENCHMARK(baseline_segment_tree)->Apply(sizes);
void few(benchmark::internal::Benchmark* b) {
  for (std::int64_t capacity : {512, 8192, 131072})
    for (std::int64_t n : {20, 50, 100, 200, 500, 1000, 2000, 5000, 10000}) b->Args({n, capacity});
  b->Unit(benchmark::kMicrosecond);
}
BENCHMARK(baseline_tree)->Apply(few);

BENCHMARK(item_map)->Args({512, 8192})->Args({4096, 8192})->Apply(sizes);
BENCHMARK(item_map_cold)->Apply(few)->Apply(sizes);
BENCHMARK(item_map_two_threads)->Apply(sizes)->UseRealTime();
BENCHMARK(plan_alone)->Apply(sizes);
BENCHMARK(count_only)->Args({1'000'000'000, 8192})->Args({1'000'000'000, 131072})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(packer, next_fit, [](auto const& l, auto const& o) { return ballast::next_fit(l, o); }) -> Apply(one_million);
BENCHMARK_CAPTURE(packer, first_fit, [](auto const& l, auto const& o) { return ballast::first_fit(l, o); }) -> Apply(one_million);
BENCHMARK_CAPTURE(packer, first_fit_decreasing, [](auto const& l, auto const& o) { return ballast::first_fit_decreasing(l, o); })
    -> Apply(one_million);
BENCHMARK_CAPTURE(packer, best_fit, [](auto const& l, auto const& o) { return ballast::best_fit(l, o); }) -> Apply(one_million);

}  // namespace
