// SPDX-License-Identifier: Apache-2.0
// What planning an epoch asks for beside `plan_steps`: calls of the cost, and memory.
//
// 200,000 generated lengths, one in sixteen up to 16 times as long; 16 ranks, 2 micro-batches of 16384 tokens. `calls` counts the cost's
// per sample, `bytes` what is allocated per byte of input. Before samples were weighed once, `plan_data`, the comparison and the limits of
// a plan were one call: 8.01 calls and 21.0 bytes.
//
// `rest` is about times that feed back: a device is slower than the model in one way, and times of the first third of the steps are
// observed, with noise of 2 %, three slow first steps and a save in every 25th. `idle` and `seconds` are those of the other steps on the
// device, for the first plan (the baseline), for the rest planned anew under the cost found, and for that under the device's own cost.
#include <ballast/core/random.hpp>
#include <ballast/plan.hpp>
#include <ballast/plan/observe.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
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
    return report_balance(plan.steps, plan.samples, options.steps).slowest_over_mean;
  });
}
BENCHMARK_CAPTURE(after_plan, compare_with_usual, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(after_plan, report_balance, false)->Unit(benchmark::kMillisecond);

// 150,000 lengths with a long tail up to 33,334 tokens, on 32 ranks that train one micro-batch of 131072 tokens a step.
std::vector<std::int64_t> const& long_tailed() {
  static auto const made = [] {
    std::vector<std::int64_t> out;
    splitmix64 draw(1);
    while (out.size() < 150'000) out.push_back(200'000 / static_cast<std::int64_t>(6 + draw() % 1000));
    return out;
  }();
  return made;
}

enum class choice { keep, anew, knowing };

void rest(benchmark::State& state, quadratic_cost model, quadratic_cost device, std::uint64_t micro_batches, synchronisation where,
          choice what) {
  data_plan_options const o{.steps = {.capacity = 131072 / static_cast<std::int64_t>(micro_batches),
                                      .ranks = 32,
                                      .micro_batches = micro_batches,
                                      .synchronisation = where}};
  auto truly = o;
  truly.steps.cost_per_step = 30'000'000;  // nanoseconds
  auto const plan = plan_data(long_tailed(), o, model);
  auto const done = plan.steps.steps() / 3;
  step_observer observer(o.steps, {}, model);
  splitmix64 draw(2);
  for (std::size_t s = 0; s < done; ++s) {
    std::vector<double> ms;
    for (std::size_t r = 0; r < 32; ++r) {
      double sum = 30;
      for (auto const pack : plan.steps.packs_of(s, r))
        for (auto const i : pack) sum += 1e-6 * static_cast<double>(device(plan.samples.tokens[i]));
      auto const noise = 0.02 * (static_cast<double>(draw() >> 11) / 4503599627370496.0 - 1);
      ms.push_back(sum * (1 + noise) * (s < 3 ? 5 : s % 25 == 24 ? 1.8 : 1));
    }
    observer.observe(plan, s, ms);
  }
  data_plan<> next;
  for (auto _ : state) {
    if (what == choice::keep) {
      next = keep_rest(plan, done, o, model);
    } else if (what == choice::anew) {
      auto const found = observer.recalibrate();
      next = plan_rest(plan, done, found.options_of(o), found.cost).plan;
    } else {
      next = plan_rest(plan, done, truly, device).plan;
    }
    benchmark::DoNotOptimize(next);
  }
  auto const on_device = keep_rest(next, 0, truly, device);
  auto const figures = figures_of(on_device.steps, on_device.samples, truly.steps, 1e-6);
  state.counters["idle"] = figures.idle;
  state.counters["seconds"] = 1e-3 * figures.modelled_total_ms;
}
constexpr quadratic_cost modelled{.linear = 57'257, .quadratic = 1}, tokens{.linear = 1, .quadratic = 0};
constexpr quadratic_cost twice{.linear = 57'257, .quadratic = 2}, four{.linear = 57'257, .quadratic = 4};
constexpr auto per_step = synchronisation::per_step, per_micro_batch = synchronisation::per_micro_batch;
#define BALLAST_REST(name, ...)                                                                   \
  BENCHMARK_CAPTURE(rest, name##_keep, __VA_ARGS__, choice::keep)->Unit(benchmark::kMillisecond); \
  BENCHMARK_CAPTURE(rest, name##_anew, __VA_ARGS__, choice::anew)->Unit(benchmark::kMillisecond); \
  BENCHMARK_CAPTURE(rest, name##_knowing, __VA_ARGS__, choice::knowing)->Unit(benchmark::kMillisecond)
BALLAST_REST(attention_twice, modelled, twice, 1, per_step);
BALLAST_REST(attention_four_times, modelled, four, 1, per_step);
BALLAST_REST(planned_by_tokens, tokens, modelled, 1, per_step);
BALLAST_REST(planned_by_tokens_fsdp, tokens, modelled, 2, per_micro_batch);
#undef BALLAST_REST

}  // namespace
