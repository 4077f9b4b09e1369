// SPDX-License-Identifier: Apache-2.0
// Planning a million samples into steps, and one global batch into micro-batches. Counters: `slow` is the cost of the slowest ranks over
// the mean, `bound` the least it could be for the same steps, `fill` the share of the places that holds tokens.
//
// Lengths: floor of a lognormal (mu 6.5, sigma 1.4), clipped to 16 … 131072; 64 ranks, capacity 131072.
#include <ballast/batching.hpp>
#include <ballast/core/executor.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using options = ballast::batching_options;

std::vector<std::int32_t> draw_lengths(std::int64_t n) {
  std::mt19937_64 generator(20240720);
  std::lognormal_distribution<double> draw(6.5, 1.4);
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(n));
  for (auto& l : lengths) l = static_cast<std::int32_t>(std::clamp(draw(generator), 16.0, 131072.0));
  return lengths;
}

/// A line of /proc/self/status in bytes, or 0 where there is none.
[[nodiscard]] double memory_of(std::string const& line) {
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;)
    if (double kib = 0; word == line && in >> kib) return 1024 * kib;
  return 0;
}

template <class Make>
void measure(benchmark::State& state, std::int64_t capacity, Make const& make) {
  ballast::batching<> plan;
  for (auto _ : state) {
    plan = make();
    benchmark::DoNotOptimize(plan.table.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["slow"] = plan.slowest_over_mean();
  state.counters["bound"] =
      plan.slowest_over_mean() * static_cast<double>(plan.slowest.lower_bound) / static_cast<double>(plan.slowest.value);
  state.counters["fill"] = plan.fill(capacity);
}

template <class Make>
void of_packs(benchmark::State& state, Make const& make) {
  auto const lengths = draw_lengths(state.range(0));
  options const o{.capacity = 131072, .ranks = 64};
  auto const packs = ballast::best_fit_shuffled(lengths, {.capacity = o.capacity}).packs;
  measure(state, o.capacity, [&] { return make(packs, lengths, o); });
}
void random_deal(benchmark::State& state) {
  of_packs(state, [](auto const& packs, auto const& lengths, options const& o) {
    return ballast::deal_steps(packs, lengths, o, ballast::dense_4096_cost, {.how = ballast::dealing::random});
  });
}
void sorted(benchmark::State& state) {
  of_packs(state, [](auto const& packs, auto const& lengths, options const& o) {
    return ballast::deal_steps(packs, lengths, o, ballast::dense_4096_cost);
  });
}
void windows(benchmark::State& state) {
  of_packs(state, [](auto const& packs, auto const& lengths, options const& o) {
    return ballast::deal_steps(packs, lengths, o, ballast::dense_4096_cost, {.window = 64});
  });
}
void windows_redealt(benchmark::State& state) {
  of_packs(state, [](auto const& packs, auto const& lengths, options const& o) {
    return ballast::deal_steps(packs, lengths, o, ballast::dense_4096_cost, {.window = 64, .redeal = true});
  });
}

// Arguments: samples, micro-batches, where ranks wait.
void plan(benchmark::State& state) {
  auto const lengths = draw_lengths(state.range(0));
  options const o{.capacity = 131072,
                  .ranks = 64,
                  .micro_batches = static_cast<std::uint64_t>(state.range(1)),
                  .synchronisation = static_cast<ballast::synchronisation>(state.range(2)),
                  .stages = 4};
  measure(state, o.capacity, [&] { return ballast::plan_steps(lengths, o, ballast::dense_4096_cost); });
}

// Many samples that nearly fill a micro-batch, so that the longest ones must share steps: the time should grow with the samples.
void plan_outliers(benchmark::State& state) {
  auto lengths = draw_lengths(state.range(0));
  for (auto& l : lengths) l = (std::min)(4 * l, 32768);
  options const o{.capacity = 32768, .ranks = 64};
  measure(state, o.capacity, [&] { return ballast::plan_steps(lengths, o, ballast::dense_4096_cost); });
}

// Many ranks, whose few steps wait for their longest samples.
void plan_few_steps(benchmark::State& state) {
  auto const lengths = draw_lengths(state.range(0));
  options const o{.capacity = 131072, .ranks = static_cast<std::uint64_t>(state.range(1))};
  measure(state, o.capacity, [&] { return ballast::plan_steps(lengths, o, ballast::dense_4096_cost); });
}

// Short micro-batches, whose steps need packs that are made first and sorted in windows; and the same by every method that `plan_steps` may
// try, each used for all samples, as a planner without trials on a part would have to.
constexpr options short_packs{.capacity = 8192, .ranks = 64};
std::vector<std::int32_t> short_lengths(std::int64_t n) {
  auto lengths = draw_lengths(n);
  for (auto& l : lengths) l = (std::min)(l, 8192);
  return lengths;
}
void plan_short(benchmark::State& state) {
  auto const lengths = short_lengths(state.range(0));
  auto o = short_packs;
  o.ranks = static_cast<std::uint64_t>(state.range(1));
  measure(state, o.capacity, [&] { return ballast::plan_steps(lengths, o, ballast::dense_4096_cost); });
}
// Several still shorter micro-batches on many ranks.
void plan_short_several(benchmark::State& state) {
  auto lengths = draw_lengths(state.range(0));
  for (auto& l : lengths) l = (std::min)(2 * l, 2048);
  options const o{.capacity = 2048, .ranks = 3000, .micro_batches = 4};
  measure(state, o.capacity, [&] { return ballast::plan_steps(lengths, o, ballast::dense_4096_cost); });
}
// One rank, where more outliers are gathered than steps have room for.
void gather_alone(benchmark::State& state) {
  auto lengths = draw_lengths(state.range(0));
  for (auto& l : lengths) l = (std::min)(l, 2048);
  options const o{.capacity = 2048};
  auto const samples = ballast::weigh(lengths, o, ballast::dense_4096_cost);
  measure(state, o.capacity, [&] { return ballast::stream_steps(samples, o, {.tuning = {.fill = 990}}); });
}
void plan_short_in_full(benchmark::State& state) {
  auto const lengths = short_lengths(state.range(0));
  measure(state, short_packs.capacity, [&] {
    auto const samples = ballast::weigh(lengths, short_packs, ballast::dense_4096_cost);
    ballast::batching<> best;
    auto const offer = [&](ballast::batching<> plan) {
      if (best.table.empty() || plan.slowest.value < best.slowest.value) best = std::move(plan);
    };
    for (auto const& [fill, threshold] : {std::pair{990U, 350U}, {990U, 200U}, {1000U, 250U}})
      offer(ballast::stream_steps(samples, short_packs, {.tuning = {.fill = fill, .threshold = threshold}}));
    auto const packs = ballast::best_fit_shuffled(lengths, {.capacity = short_packs.capacity}).packs;
    for (std::uint64_t const window : {1U, 4U, 8U, 16U})
      offer(ballast::deal_steps(packs, samples, short_packs, {.window = window, .redeal = true}));
    return best;
  });
}

// An epoch of many samples, planned in blocks on all threads, and on one. `bytes` is the memory that planning takes at most above that of
// the lengths, for each sample (Linux only). 10^8 samples take gigabytes, and are planned only if BALLAST_LARGE is set.
void plan_many(benchmark::State& state) {
  if (state.range(0) > 10'000'000 && std::getenv("BALLAST_LARGE") == nullptr) {
    state.SkipWithError("needs 3 GB of memory: set BALLAST_LARGE=1");
    return;
  }
  auto const lengths = draw_lengths(state.range(0));
  options const o{.capacity = 131072, .ranks = 64, .micro_batches = 4};
  ballast::threads const execute{static_cast<std::size_t>(state.range(1))};
  std::ofstream("/proc/self/clear_refs") << 5;  // the largest memory so far is that of now
  auto const before = memory_of("VmRSS:");
  measure(state, o.capacity, [&] { return ballast::plan_steps(lengths, o, ballast::dense_4096_cost, {}, {}, execute); });
  state.counters["bytes"] = (memory_of("VmHWM:") - before) / static_cast<double>(lengths.size());
}

// Steps of 16,384 places, many of which only split packs can fill: half of the samples fill a place, half are of 10 tokens.
void many_places(benchmark::State& state) {
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(state.range(0)), 10);
  std::fill_n(lengths.begin(), state.range(0) / 2, 9000);
  options const o{.capacity = 9000, .ranks = 512, .micro_batches = 32};
  measure(state, o.capacity, [&] { return ballast::plan_steps(lengths, o, ballast::dense_4096_cost); });
}

// Samples of image tokens and of all tokens, six in ten without an image, where only the tokens fill a pack. Balanced by the cost of tokens
// alone, by the order of packs (`ballast pack --ranks`), and by each measure (`ballast plan`). `images` and `tokens` say how far ranks are
// apart in each, `idle` by the cost.
struct text_cost {
  std::int64_t operator()(std::span<std::int64_t const> of) const { return of[1] * (20'000 + of[1]); }
};
template <class Make>
void measures(benchmark::State& state, Make const& make) {
  std::mt19937_64 generator(20240720);
  std::lognormal_distribution<double> draw(5.5, 1.2);
  std::vector<std::int64_t> images, tokens;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    auto const tiles = generator() % 10 < 6 ? 0 : 1 + static_cast<std::int64_t>(generator() % (generator() % 5 == 0 ? 20 : 4));
    images.push_back(256 * tiles);
    tokens.push_back(256 * tiles + static_cast<std::int64_t>(std::clamp(draw(generator), 10.0, 6000.0)));
  }
  ballast::sample_measures const samples({images, tokens});
  ballast::vector_batching_options const o{.steps = {.capacity = 16384, .ranks = 16}, .others = {16384}};
  ballast::vector_batching<> plan;
  for (auto _ : state) {
    plan = make(samples, o);
    benchmark::DoNotOptimize(plan.table.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["images"] = plan.balance[0].mean_ratio;
  state.counters["tokens"] = plan.balance[1].mean_ratio;
  state.counters["idle"] = plan.cost_balance.idle();
}
void measures_by_cost(benchmark::State& state) {
  measures(state, [](auto const& samples, auto o) {
    o.weights = {0, 0};
    return ballast::plan_steps(samples, o, text_cost{});
  });
}
void measures_in_order(benchmark::State& state) {
  measures(state, [](auto const& samples, auto const& o) { return ballast::plan_steps(samples, o); });
}
void measures_balanced(benchmark::State& state) {
  measures(state, [](auto const& samples, auto const& o) { return ballast::balanced_steps(samples, o, text_cost{}); });
}

// Arguments: samples, ranks.
void one_global_batch(benchmark::State& state) {
  auto const lengths = draw_lengths(state.range(0));
  options const o{.capacity = 131072, .ranks = static_cast<std::uint64_t>(state.range(1))};
  measure(state, o.capacity, [&] { return ballast::micro_batches(lengths, o, ballast::dense_4096_cost); });
}

BENCHMARK(random_deal)->Arg(1000000)->Unit(benchmark::kMillisecond);
BENCHMARK(sorted)->Arg(1000000)->Unit(benchmark::kMillisecond);
BENCHMARK(windows)->Arg(1000000)->Unit(benchmark::kMillisecond);
BENCHMARK(windows_redealt)->Arg(1000000)->Unit(benchmark::kMillisecond);
BENCHMARK(many_places)->Arg(100000)->Unit(benchmark::kMillisecond);
BENCHMARK(plan)
    ->ArgNames({"", "micro", "wait"})
    ->Args({1000000, 1, 0})
    ->Args({1000000, 4, 0})
    ->Args({1000000, 16, 0})
    ->Args({1000000, 16, 1})
    ->Args({1000000, 16, 2})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(plan_outliers)->Arg(100000)->Arg(1000000)->Unit(benchmark::kMillisecond);
BENCHMARK(plan_few_steps)
    ->ArgNames({"", "ranks"})
    ->Args({1000000, 64})
    ->Args({1000000, 1024})
    ->Args({1000000, 4096})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(plan_short)
    ->ArgNames({"", "ranks"})
    ->Args({100000, 64})
    ->Args({1000000, 64})
    ->Args({1000000, 256})
    ->Args({1000000, 1024})
    ->Args({1000000, 3000})
    ->Args({1000000, 4096})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(plan_short_several)->Arg(1000000)->Unit(benchmark::kMillisecond);
BENCHMARK(gather_alone)->Arg(100000)->Arg(200000)->Unit(benchmark::kMillisecond);
BENCHMARK(plan_short_in_full)->Arg(100000)->Arg(1000000)->Unit(benchmark::kMillisecond);
BENCHMARK(plan_many)
    ->ArgNames({"", "threads"})
    ->Args({1000000, 1})
    ->Args({10000000, 1})
    ->Args({10000000, 0})
    ->Args({100000000, 0})
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(measures_by_cost)->Arg(20000)->Unit(benchmark::kMillisecond);
BENCHMARK(measures_in_order)->Arg(20000)->Unit(benchmark::kMillisecond);
BENCHMARK(measures_balanced)->Arg(20000)->Arg(200000)->Unit(benchmark::kMillisecond);
BENCHMARK(one_global_batch)->ArgNames({"", "ranks"})->Args({512, 64})->Args({4096, 64})->Args({4096, 8})->Unit(benchmark::kMillisecond);

}  // namespace
