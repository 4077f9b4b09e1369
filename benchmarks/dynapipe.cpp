// SPDX-License-Identifier: Apache-2.0
// DynaPipe (arXiv 2311.10418): the exact cut beside the published candidates, beside micro-batches of a fixed number of tokens, and the
// time to plan. Counters: micro-batches, and the objective over that of the exact cut.
#include "planning/distributions.hpp"

#include <ballast/methods/dynapipe.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace {

using namespace ballast;
using lengths_t = std::vector<std::int64_t>;

/// Conversations of up to 8,192 tokens; of two lengths, prompt and answer of requests.
struct batch {
  lengths_t source, target;
};
batch batch_of(std::string_view name, std::size_t samples) {
  auto const all = ballast_cli::distributions();
  auto const like = std::find_if(all.begin(), all.end(), [&](auto const& d) { return d.name == name; });
  auto const drawn = ballast_cli::draw(*like, 4 * samples, 1);
  auto const columns = like->columns.size();
  batch out;
  for (std::size_t i = 0; i < drawn.size() && out.source.size() < samples; i += columns) {
    if (drawn[i] > 8192 || drawn[i + columns - 1] > 8192) continue;
    out.source.push_back(drawn[i]);
    if (columns == 2) out.target.push_back(drawn[i + 1]);
  }
  return out;
}

/// Nanoseconds and tokens of a padded micro-batch: a fixed part, what is linear in the tokens, and attention.
std::int64_t time_of(dynapipe::padded const& b, std::uint64_t) {
  auto const of = [](std::int64_t l) { return 2000 * l + l * l / 8; };
  return 300'000 + static_cast<std::int64_t>(b.samples) * (of(b.longest) + of(b.longest_target));
}
std::int64_t memory_of(dynapipe::padded const& b, std::uint64_t) {
  return static_cast<std::int64_t>(b.samples) * (b.longest + b.longest_target);
}

dynapipe::plan<> planned(batch const& of, dynapipe::options const& o) {
  return of.target.empty() ? dynapipe::schedule(of.source, o, time_of, memory_of)
                           : dynapipe::schedule(of.source, of.target, o, time_of, memory_of);
}

/// Four stages, four replicas, 65,536 padded tokens in flight on a stage.
dynapipe::options shape() { return {.stages = 4, .replicas = 4, .memory = 65536}; }

/// The objective of micro-batches in the same order that are closed when the next sample would exceed `tokens`.
std::int64_t by_tokens(batch const& of, std::int64_t tokens) {
  auto sorted = of.source;
  std::sort(sorted.rbegin(), sorted.rend());
  std::int64_t slowest = 0, sum = 0;
  for (std::size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    dynapipe::padded b{0, sorted[begin], 0};
    while (end < sorted.size() && (b.samples == 0 || static_cast<std::int64_t>(b.samples + 1) * b.longest <= tokens)) ++b.samples, ++end;
    slowest = (std::max)(slowest, time_of(b, 0));
    sum += time_of(b, 0);
  }
  auto const o = shape();
  return static_cast<std::int64_t>((o.stages - 1) * o.replicas) * slowest + sum;
}

void plan(benchmark::State& state, std::string_view name, dynapipe::options const& o) {
  auto const of = batch_of(name, static_cast<std::size_t>(state.range(0)));
  dynapipe::plan<> result;
  for (auto _ : state) benchmark::DoNotOptimize(result = planned(of, o));
  auto const exact = planned(of, shape()).objective;
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["micro_batches"] = static_cast<double>(result.micro_batches.size());
  state.counters["over_exact"] = static_cast<double>(result.objective.value) / static_cast<double>(exact.value);
  state.counters["gap"] = result.objective.gap();
}
void exact(benchmark::State& state) { plan(state, "chat-sft", shape()); }
void exact_two_lengths(benchmark::State& state) { plan(state, "reasoning-rollouts", shape()); }
void bands_two_lengths(benchmark::State& state) {
  auto o = shape();
  o.order = dynapipe::sample_order::bands;
  plan(state, "reasoning-rollouts", o);
}
/// Candidates 5 ns, 5 us or 5 ms apart: the published 5 has the unit of the profiled times.
void published(benchmark::State& state) {
  auto o = shape();
  o.candidate_step = state.range(1);
  plan(state, "chat-sft", o);
}
void fixed_tokens(benchmark::State& state) {
  auto const of = batch_of("chat-sft", static_cast<std::size_t>(state.range(0)));
  auto best = by_tokens(of, 16384);
  for (auto _ : state)
    for (std::int64_t tokens = 1024; tokens <= 16384; tokens *= 2) benchmark::DoNotOptimize(best = (std::min)(best, by_tokens(of, tokens)));
  state.counters["over_exact"] = static_cast<double>(best) / static_cast<double>(planned(of, shape()).objective.value);
}

BENCHMARK(exact)->Arg(512)->Arg(2048)->Arg(10000)->Unit(benchmark::kMillisecond);
BENCHMARK(published)->Args({512, 5})->Args({512, 5'000})->Args({512, 5'000'000})->Unit(benchmark::kMillisecond);
BENCHMARK(fixed_tokens)->Arg(512)->Arg(2048)->Unit(benchmark::kMillisecond);
BENCHMARK(exact_two_lengths)->Arg(512)->Arg(2048)->Unit(benchmark::kMillisecond);
BENCHMARK(bands_two_lengths)->Arg(512)->Arg(2048)->Unit(benchmark::kMillisecond);

}  // namespace
