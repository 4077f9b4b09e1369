// SPDX-License-Identifier: Apache-2.0
// Items with a cost in each of three phases: all phases balanced together, beside longest processing time first on the sum of the costs.
#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/balance/phases.hpp>
#include <ballast/core/random.hpp>

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
costs_t samples(std::size_t count) {
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
  explicit batch(std::size_t count) : costs(samples(count)), items(count) {
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

}  // namespace
