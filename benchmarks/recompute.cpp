// SPDX-License-Identifier: Apache-2.0
// What to keep of 50 to 4,000 saved tensors: speed; `saved` = recomputation spared over the exact optimum; `over` = memory above the
// budget, as a share of it. Baselines are those of recompute_baselines.hpp in the same run.
//
// `layers` cuts the room of a vision-language stage from 10 % to 90 % of what keeping all takes: `lost` is the mean of time recomputed over
// the exact optimum, `over` the largest excess of memory. `chain` plans 97 layers in 500 units; `ratio` is its time over that of storing
// the square root of them evenly, at that one's peak.
#include <ballast/core/random.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/recompute.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "recompute_baselines.hpp"

namespace {

using namespace ballast_benchmark;
enum kind : std::int64_t { transformer, lognormal, correlated, long_tail };

tensors make(std::int64_t kind, std::int64_t n) {
  // ten operators of a layer; the two residual additions are one class, so that there are nine
  constexpr std::array<std::int64_t, 10> sizes{16, 48, 16, 16, 112, 112, 56, 16, 24, 16},
      times{15, 4100, 700, 3000, 9000, 60, 5200, 120, 33, 15};
  std::mt19937_64 draw(static_cast<std::uint64_t>(7 * kind + n));
  std::lognormal_distribution<double> normal(0, 1);
  tensors out;
  for (std::int64_t i = 0; i < n; ++i) {
    auto const j = static_cast<std::size_t>(i % 10);
    auto const size = static_cast<std::int64_t>(1e4 * normal(draw)) + 1, time = static_cast<std::int64_t>(1e4 * normal(draw)) + 1;
    auto const few = draw() % 20 == 0 ? 200 + static_cast<std::int64_t>(draw() % 1801) : 1 + static_cast<std::int64_t>(draw() % 3);
    if (kind == transformer) out.push_back({.bytes = sizes[j], .time = times[j]});
    if (kind == lognormal) out.push_back({.bytes = size, .time = time});
    if (kind == correlated) out.push_back({.bytes = size, .time = size + static_cast<std::int64_t>(draw() % 2000)});
    if (kind == long_tail) out.push_back({.bytes = few, .time = few * (1 + static_cast<std::int64_t>(draw() % 5))});
  }
  return out;
}

struct problem {
  tensors all;
  std::int64_t bytes = 0, time = 0, budget = 0;
  double share;
  explicit problem(benchmark::State const& state)
      : all(make(state.range(0), state.range(1))), share(static_cast<double>(state.range(2)) / 100) {
    for (auto const& t : all) {
      bytes += t.bytes;
      time += t.time;
    }
    budget = bytes * state.range(2) / 100;
  }
  void report(benchmark::State& state, std::int64_t memory, std::int64_t saved) const {
    auto const best = ballast::keep_tensors(all, budget);
    state.counters["saved"] = static_cast<double>(saved) / static_cast<double>(time - best.time.value);
    state.counters["over"] = static_cast<double>((std::max)(memory - budget, std::int64_t{0})) / static_cast<double>(budget);
  }
};

template <class Keep>
void keep(benchmark::State& state, Keep const& planner) {
  problem const p(state);
  ballast::kept_tensors plan;
  for (auto _ : state) {
    plan = planner(p.all, p.budget);
    benchmark::DoNotOptimize(plan);
  }
  p.report(state, plan.memory, p.time - plan.time.value);
  state.counters["gap"] = plan.time.gap();
}
template <class Keep>
void baseline(benchmark::State& state, Keep const& planner) {
  problem const p(state);
  kept_flags kept;
  for (auto _ : state) {
    kept = planner(p.all, p.share);
    benchmark::DoNotOptimize(kept);
  }
  std::int64_t memory = 0, saved = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    memory += kept[i] != 0 ? p.all[i].bytes : 0;
    saved += kept[i] != 0 ? p.all[i].time : 0;
  }
  p.report(state, memory, saved);
}

void sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"kind", "n", "budget"})->ArgsProduct({{0, 1, 2, 3}, {50, 1000, 4000}, {10, 30}})->Unit(benchmark::kMicrosecond);
}
BENCHMARK_CAPTURE(keep, exact, [](auto const& all, auto budget) { return ballast::keep_tensors(all, budget); }) -> Apply(sizes);
BENCHMARK_CAPTURE(baseline, pytorch_greedy, pytorch_greedy)->Apply(sizes);
BENCHMARK_CAPTURE(baseline, pytorch_dp, [](auto const& all, double share) { return pytorch_dp(all, share); }) -> Apply(sizes);
BENCHMARK_CAPTURE(baseline, dp_rounded_up, [](auto const& all, double share) { return pytorch_dp(all, share, true); }) -> Apply(sizes);
BENCHMARK_CAPTURE(baseline, pytorch_hirschberg, pytorch_hirschberg)->Apply(sizes);

/// The stage of InternVL-Chat-1.5 around its projector: some vision layers, some language layers, 9 tiles and 4096 tokens.
two_kinds stage(std::int64_t vision, std::int64_t language) {
  auto const chain = ballast::layers_of(ballast::vision_language_preset("internvl-chat-1.5"));
  ballast::batch_shape const batch{.tokens = 4096, .squares = std::int64_t{4096} * 1024, .tiles = 9};
  auto const &v = chain[1], &l = chain[48];
  auto const freed = [&](auto const& of) { return of.options.front().bytes(batch) - of.options.back().bytes(batch); };
  return {vision, language, freed(v), freed(l), v.forward(batch), l.forward(batch)};
}
template <class Rule>
void layers(benchmark::State& state, Rule const& rule) {
  auto const k = stage(state.range(0), state.range(1));
  auto const all = k.vision_layers * k.vision_bytes + k.language_layers * k.language_bytes;
  double lost = 0, over = 0;
  int cases = 0;
  for (auto _ : state) {
    lost = over = 0;
    cases = 0;
    for (std::int64_t percent = 10; percent <= 90; percent += 5, ++cases) {
      auto const room = all / 100 * percent;
      tensors const kinds{{.bytes = k.vision_bytes, .time = k.vision_time, .count = static_cast<std::uint64_t>(k.vision_layers)},
                          {.bytes = k.language_bytes, .time = k.language_time, .count = static_cast<std::uint64_t>(k.language_layers)}};
      auto const best = ballast::keep_tensors(kinds, room).time.value;
      auto const kept = rule(k, room, kinds);
      auto const time = (k.vision_layers - kept.vision) * k.vision_time + (k.language_layers - kept.language) * k.language_time;
      auto const memory = kept.vision * k.vision_bytes + kept.language * k.language_bytes;
      lost += static_cast<double>(time) / static_cast<double>(best);
      over = (std::max)(over, static_cast<double>(memory - room) / static_cast<double>(room));
    }
  }
  state.counters["lost"] = lost / cases;
  state.counters["over"] = (std::max)(over, 0.0);
}
void stages(benchmark::internal::Benchmark* b) { b->ArgNames({"vision", "language"})->Args({45, 3})->Args({20, 8})->Args({10, 12}); }
BENCHMARK_CAPTURE(layers, exact, [](two_kinds const&, std::int64_t room, tensors const& kinds) {
  auto const plan = ballast::keep_tensors(kinds, room);
  return kept_layers{static_cast<std::int64_t>(plan.kept[0]), static_cast<std::int64_t>(plan.kept[1])};
})->Apply(stages);
BENCHMARK_CAPTURE(layers, omnibal, [](two_kinds const& k, std::int64_t room, tensors const&) {
  return omnibal_rule(k, room);
})->Apply(stages);
BENCHMARK_CAPTURE(layers, hbp, [](two_kinds const& k, std::int64_t room, tensors const&) { return hbp_rule(k, room); })->Apply(stages);

void chain(benchmark::State& state) {
  auto const model = ballast::layers_of(ballast::vision_language_preset("internvl-chat-1.5"));
  ballast::batch_shape const batch{.tokens = 4096, .squares = std::int64_t{4096} * 1024, .tiles = 9};
  std::vector<ballast::chain_block> blocks;
  for (auto const& c : model)
    blocks.push_back({.forward = c.forward(batch) / 1000000,
                      .backward = c.backward(batch) / 1000000,
                      .output = c.boundary(batch),
                      .saved = c.options.front().bytes(batch) + c.boundary(batch),
                      .gradient = c.boundary(batch)});
  // every root-th layer's input is kept; a segment is saved when its turn comes
  std::vector<ballast::chain_step> even;
  auto const n = static_cast<std::uint32_t>(blocks.size()), root = static_cast<std::uint32_t>(std::sqrt(n));
  using enum ballast::chain_action;
  auto const last = (n - 1) / root * root;
  for (std::uint32_t i = 0; i < last; ++i) {
    even.push_back({forward, i});
    if (i % root != 0) even.push_back({drop, i - 1});
  }
  for (auto begin = last;; begin -= root) {
    auto const end = (std::min)(begin + root, n);
    if (begin != last) even.push_back({drop, end - 1});
    for (auto i = begin; i < end; ++i) even.push_back({save, i});
    for (auto i = end; i-- > begin;) even.push_back({ballast::chain_action::backward, i});
    if (begin == 0) break;
  }
  auto const figures = ballast::chain_peak(blocks, 0, even);
  if (!figures) return state.SkipWithError("the even schedule cannot be run");
  ballast::chain_schedule plan;
  for (auto _ : state) {
    plan = ballast::checkpoint_chain(blocks, {.budget = figures->peak});
    benchmark::DoNotOptimize(plan);
  }
  std::int64_t once = 0;
  for (auto const& s : blocks) once += s.forward + s.backward;
  state.counters["ratio"] = static_cast<double>(plan.time.value) / static_cast<double>(figures->time);
  state.counters["even_over_once"] = static_cast<double>(figures->time) / static_cast<double>(once);
  state.counters["gap"] = plan.time.gap();
}
BENCHMARK(chain)->Unit(benchmark::kMillisecond);

}  // namespace
