// SPDX-License-Identifier: Apache-2.0
// What planning an epoch asks for beside `plan_steps`: calls of the cost, and memory.
//
// 200,000 generated lengths, one in sixteen up to 16 times as long; 16 ranks, 2 micro-batches of 16384 tokens. `calls` counts the cost's
// per sample, `bytes` what is allocated per byte of input. Before samples were weighed once, `plan_data`, the comparison and the limits of
// a plan were one call: 8.01 calls and 21.0 bytes.
#include <ballast/core/random.hpp>
#include <ballast/plan.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

namespace {

std::size_t allocated = 0;

}  // namespace

// Inlined, GCC 12 takes them for a mismatched pair.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  allocated += bytes;
  if (auto* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace ballast;

std::int64_t calls = 0;
struct counted_cost {
  std::int64_t operator()(std::int64_t length) const {
    ++calls;
    return length * (100'000 + length);
  }
};

std::vector<std::int64_t> const& lengths() {
  static auto const made = [] {
    std::vector<std::int64_t> out;
    splitmix64 draw(1);
    for (int i = 0; i < 200'000; ++i) {
      auto const sample = draw();
      out.push_back(static_cast<std::int64_t>(64 + sample % 900 * (draw() % 16 == 0 ? 16 : 1)));
    }
    return out;
  }();
  return made;
}
data_plan_options const options{.steps = {.capacity = 16384, .ranks = 16, .micro_batches = 2}};

template <class Plan>
void measure(benchmark::State& state, Plan const& plan) {
  auto const n = static_cast<double>(lengths().size());  // generated before anything is counted
  for (auto _ : state) {
    calls = 0;
    allocated = 0;
    benchmark::DoNotOptimize(plan());
  }
  state.counters["calls"] = static_cast<double>(calls) / n;
  state.counters["bytes"] = static_cast<double>(allocated) / (n * sizeof(std::int64_t));
}

BENCHMARK_CAPTURE(measure, plan_steps, [] { return plan_steps(lengths(), options.steps, counted_cost{}); })->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(measure, plan_data, [] { return plan_data(lengths(), options, counted_cost{}); })->Unit(benchmark::kMillisecond);

void after_plan(benchmark::State& state, bool compare) {
  auto const plan = plan_data(lengths(), options, counted_cost{});
  measure(state, [&]() -> double {
    if (compare) return compare_with_usual(plan, options, 1.0).usual.idle;
    return limits_of(plan.steps, plan.samples, options.steps).slowest_over_mean;
  });
}
BENCHMARK_CAPTURE(after_plan, compare_with_usual, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(after_plan, limits_of, false)->Unit(benchmark::kMillisecond);

}  // namespace
