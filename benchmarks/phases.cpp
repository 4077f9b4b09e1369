// SPDX-License-Identifier: Apache-2.0
// Items with a cost in each of three phases: all phases balanced together, beside longest processing time first on the sum of the costs.
// A global batch of several micro-batches of an encoder and a language model with deferral, beside the same search without it and beside
// longest first on the sums. Steps of an epoch, beside plan_steps on the sum of the costs. A global batch planned phase by phase, beside
// samples that stay on the ranks of the language model.
#include <ballast/balance/defer_phases.hpp>
#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/balance/phases.hpp>
#include <ballast/batching/phase_steps.hpp>
#include <ballast/batching/plan_steps.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/sharding/phase_shards.hpp>
#include <ballast/sharding/plan_shards.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace {

using costs_t = std::vector<std::array<std::int64_t, 3>>;

/// Samples of text, of which half have one to eight images and a tenth have sound: microseconds in the vision encoder, the audio encoder
/// and the language model, which reads the tokens of all three.
/// `lengths` gets the tokens of each phase.
costs_t samples(std::size_t count, std::array<std::vector<std::int64_t>, 3>* lengths = nullptr) {
  ballast::splitmix64 draw(9);
  auto const between = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(high - low + 1));
  };
  costs_t out(count);
  for (auto& c : out) {
    auto const images = draw() % 2 == 0 ? between(1, 8) : 0, patches = images * between(256, 2048);
    auto const sound = draw() % 10 == 0 ? between(200, 3000) : 0, text = draw() % 10 == 0 ? between(2000, 16000) : between(50, 2000);
    auto const tokens = patches / 4 + sound / 4 + text;
    c = {8 * patches, 12 * sound, 10 * tokens + tokens * tokens / 4000};
    if (lengths == nullptr) continue;
    (*lengths)[0].push_back(patches);
    (*lengths)[1].push_back(sound);
    (*lengths)[2].push_back(tokens);
  }
  return out;
}

std::int64_t value_of(ballast::groups<> const& sets, costs_t const& costs) {
  std::int64_t sum = 0;
  for (std::size_t p = 0; p < 3; ++p) {
    std::int64_t largest = 0;
    for (auto const set : sets) {
      std::int64_t load = 0;
      for (auto const i : set) load += costs[i][p];
      largest = (std::max)(largest, load);
    }
    sum += largest;
  }
  return sum;
}

struct batch {
  costs_t costs;
  std::vector<std::uint32_t> items;
  std::vector<std::int64_t> sums;
  std::array<std::vector<std::int64_t>, 3> lengths;  // of each phase
  explicit batch(std::size_t count) : items(count) {
    costs = samples(count, &lengths);
    std::iota(items.begin(), items.end(), 0U);
    for (auto const& c : costs) sums.push_back(c[0] + c[1] + c[2]);
  }
  [[nodiscard]] auto of() const {
    return [this](std::int64_t i) { return costs[static_cast<std::size_t>(i)]; };
  }
};

void balance_phases(benchmark::State& state) {
  batch const b(static_cast<std::size_t>(state.range(0)));
  ballast::phase_options const options{.sets = static_cast<std::uint64_t>(state.range(1))};
  ballast::phase_sets<> plan;
  for (auto _ : state) benchmark::DoNotOptimize(plan = ballast::balance_phases(b.items, options, b.of()));
  state.counters["gap"] = plan.time.gap();
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
void longest_processing_time_on_sums(benchmark::State& state) {
  batch const b(static_cast<std::size_t>(state.range(0)));
  auto const sets = static_cast<std::uint64_t>(state.range(1));
  ballast::balanced_sets<> plan;
  for (auto _ : state) benchmark::DoNotOptimize(plan = ballast::longest_processing_time(b.sums, {.sets = sets}));
  auto const bound = ballast::balance_phases(b.items, {.sets = sets}, b.of()).time.lower_bound;
  state.counters["gap"] = ballast::certificate{value_of(plan.sets, b.costs), bound}.gap();
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void sizes(benchmark::internal::Benchmark* of) {
  of->Args({512, 8})->Args({512, 64})->Args({4096, 64})->Args({32768, 64})->Unit(benchmark::kMicrosecond);
}
BENCHMARK(balance_phases)->Apply(sizes);
BENCHMARK(longest_processing_time_on_sums)->Apply(sizes);

/// Encoders of vision and sound, and the language model: `ranks` times `micro_batches` micro-batches.
void defer_phases(benchmark::State& state) {
  batch const b(static_cast<std::size_t>(state.range(0)));
  auto const ranks = static_cast<std::size_t>(state.range(1)), micro_batches = static_cast<std::size_t>(state.range(2));
  auto const costs = [&](std::int64_t i) {
    auto const& c = b.costs[static_cast<std::size_t>(i)];
    return std::array{c[0] + c[1], c[2]};
  };
  auto const sizes = [&](std::int64_t i) {
    auto const k = static_cast<std::size_t>(i);
    return std::array{b.lengths[0][k] + b.lengths[1][k], b.lengths[2][k]};
  };
  ballast::deferred_phases<> plan;
  for (auto _ : state)
    benchmark::DoNotOptimize(
        plan = ballast::defer_phases(b.items, {.ranks = ranks, .micro_batches = micro_batches, .capacity = {32768, 32768}}, costs, sizes));
  state.counters["gap"] = plan.time.gap();
  state.counters["gap_undeferred"] = ballast::certificate{plan.undeferred, plan.time.lower_bound}.gap();
  state.counters["held"] = static_cast<double>(plan.held);
  // Longest first on the sums, in rows of micro-batches that cost alike.
  auto const dealt = ballast::longest_processing_time(b.sums, {.sets = ranks * micro_batches});
  std::vector<std::size_t> order(dealt.sets.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto x, auto y) {
    auto const load = [&](auto s) {
      std::int64_t sum = 0;
      for (auto const i : dealt.sets[s]) sum += b.sums[i];
      return sum;
    };
    auto const of_x = load(x), of_y = load(y);
    return of_x != of_y ? of_x > of_y : x < y;
  });
  std::int64_t naive = 0;
  for (std::size_t m = 0; m < micro_batches; ++m) {
    ballast::groups<> row;
    for (std::size_t r = 0; r < ranks; ++r) row.push_back(dealt.sets[order[m * ranks + r]]);
    auto both = b.costs;
    for (auto& c : both) c = {c[0] + c[1], 0, c[2]};
    naive += value_of(row, both);
  }
  state.counters["gap_of_sums"] = ballast::certificate{naive, plan.time.lower_bound}.gap();
}
void deferrals(benchmark::internal::Benchmark* of) {
  of->Args({256, 8, 4})->Args({256, 8, 16})->Args({512, 64, 4})->Args({2048, 64, 8})->Unit(benchmark::kMillisecond);
}
BENCHMARK(defer_phases)->Apply(deferrals);

ballast::batching_options shape_of_steps(benchmark::State& state) {
  return {
      .capacity = 32768, .ranks = static_cast<std::uint64_t>(state.range(1)), .micro_batches = static_cast<std::uint64_t>(state.range(2))};
}
void phase_steps(benchmark::State& state) {
  batch const b(static_cast<std::size_t>(state.range(0)));
  ballast::phase_batching<> plan;
  for (auto _ : state) benchmark::DoNotOptimize(plan = ballast::phase_steps(b.lengths[2], shape_of_steps(state), b.of()));
  state.counters["steps"] = static_cast<double>(plan.steps());
  state.counters["gap"] = plan.time.gap();
}
void plan_steps_on_sums(benchmark::State& state) {
  batch const b(static_cast<std::size_t>(state.range(0)));
  auto const options = shape_of_steps(state);
  auto const weighed = ballast::weigh(b.lengths[2], b.sums, options);
  ballast::batching<> plan;
  for (auto _ : state) benchmark::DoNotOptimize(plan = ballast::plan_steps(weighed, options));
  auto const phased = ballast::phase_steps(b.lengths[2], options, b.of());
  state.counters["steps"] = static_cast<double>(plan.steps());
  state.counters["gap"] = ballast::certificate{phased.time_of_sums, phased.time.lower_bound}.gap();
}

/// Vision, audio and language on the same ranks: picoseconds by length, and by the ranks that share a sample.
std::array<ballast::degree_cost, 3> const costs_of_phases{{{.linear = 8'000'000, .exchange = {0, 400'000}},
                                                           {.linear = 12'000'000, .exchange = {0, 400'000}},
                                                           {.linear = 10'000'000, .square = 250, .exchange = {0, 600'000}}}};
std::array<ballast::sharding_options, 3> shape_of_phases(benchmark::State& state) {
  ballast::sharding_options const one{.capacity = 32768, .ranks = static_cast<std::uint64_t>(state.range(1)), .cost_per_pass = 2'000'000};
  return {one, one, one};
}
void phase_shards(benchmark::State& state) {
  batch const b(static_cast<std::size_t>(state.range(0)));
  ballast::phased_shards<> plan;
  for (auto _ : state) benchmark::DoNotOptimize(plan = ballast::phase_shards(b.lengths, shape_of_phases(state), costs_of_phases));
  state.counters["gap"] = plan.time.gap();
  state.counters["gap_in_place"] = ballast::certificate{plan.time_in_place, plan.time.lower_bound}.gap();
  state.counters["moved"] = static_cast<double>(plan.moved[0] + plan.moved[1]);
  std::int64_t tokens = 0;
  for (std::size_t p = 0; p < 2; ++p) tokens = std::accumulate(b.lengths[p].begin(), b.lengths[p].end(), tokens);
  state.counters["tokens"] = static_cast<double>(tokens);
}
void samples_in_place(benchmark::State& state) {
  batch const b(static_cast<std::size_t>(state.range(0)));
  auto const shape = shape_of_phases(state);
  for (auto _ : state) {
    auto const last = ballast::plan_shards(b.lengths[2], shape[2], costs_of_phases[2]);
    for (std::size_t p = 0; p < 2; ++p) benchmark::DoNotOptimize(ballast::shards_like(last, b.lengths[p], shape[p]));
  }
}

void steps(benchmark::internal::Benchmark* of) {
  of->Args({32768, 8, 1})->Args({32768, 64, 1})->Args({32768, 64, 4})->Unit(benchmark::kMillisecond);
}
void batches(benchmark::internal::Benchmark* of) { of->Args({512, 8})->Args({512, 64})->Args({4096, 64})->Unit(benchmark::kMillisecond); }
BENCHMARK(phase_steps)->Apply(steps);
BENCHMARK(plan_steps_on_sums)->Apply(steps);
BENCHMARK(phase_shards)->Apply(batches);
BENCHMARK(samples_in_place)->Apply(batches);

}  // namespace
