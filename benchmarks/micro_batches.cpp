// SPDX-License-Identifier: Apache-2.0
// One global batch into micro-batches. `traces` splits the first 20 batches of a shuffled trace (BALLAST_TRACES): `number` is the sum of
// micro-batches of a rank, `bound` what is proven, `tokens` what the tokens alone need, `over` the cost of the slowest rank over its bound;
// `verl` is the number that trainers start from, the tokens over the cap, dealt by Karmarkar-Karp, and how many of these micro-batches
// break the cap. `half` has samples of which no two share a micro-batch.
#include <ballast/balance/karmarkar_karp.hpp>
#include <ballast/batching.hpp>
#include <ballast/core/random.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using lengths = std::vector<std::int64_t>;

/// A trace whose lines are summed over their columns and cut to the capacity, in a random order.
lengths read_trace(std::string const& name, std::size_t columns, std::int64_t capacity) {
  auto const* const folder = std::getenv("BALLAST_TRACES");
  lengths out;
  if (folder == nullptr) return out;
  std::ifstream in(std::string(folder) + "/" + name);
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::int64_t sum = 0, value = 0;
    for (std::size_t c = 0; c < columns && fields >> value; ++c) sum += value;
    if (sum > 0) out.push_back((std::min)(sum, capacity));
  }
  ballast::splitmix64 draw(1);
  for (auto i = out.size(); i > 1; --i) std::swap(out[i - 1], out[static_cast<std::size_t>(ballast::uniform_below(i, draw))]);
  return out;
}

// Arguments: capacity, samples of a batch, ranks, whether counts are equal.
void traces(benchmark::State& state, std::string const& file, std::size_t columns) {
  auto const all = read_trace(file, columns, state.range(0));
  if (all.empty()) return state.SkipWithError("BALLAST_TRACES does not name the folder of the traces");
  ballast::batching_options const o{.capacity = state.range(0), .ranks = static_cast<std::uint64_t>(state.range(2))};
  ballast::micro_batch_constraints const c{.equal_counts = state.range(3) != 0};
  auto const size = static_cast<std::size_t>(state.range(1));
  std::vector<lengths> batches;
  for (std::size_t at = 0; at + size <= all.size() && batches.size() < 20; at += size)
    batches.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at), all.begin() + static_cast<std::ptrdiff_t>(at + size));
  std::vector<ballast::micro_batching<>> plans(batches.size());
  for (auto _ : state)
    for (std::size_t b = 0; b < batches.size(); ++b) plans[b] = ballast::micro_batches(batches[b], o, ballast::dense_4096_cost, c);
  double number = 0, bound = 0, tokens = 0, over = 0, broken = 0;
  for (std::size_t b = 0; b < batches.size(); ++b) {
    if (!check_micro_batches(plans[b], batches[b], o, ballast::dense_4096_cost, c).valid()) return state.SkipWithError("not a valid plan");
    number += static_cast<double>(plans[b].count.value);
    bound += static_cast<double>(plans[b].count.lower_bound);
    over += 1 + plans[b].slowest.gap();
    auto const room = o.capacity * static_cast<std::int64_t>(o.ranks);
    auto const need = (plans[b].tokens + room - 1) / room;
    tokens += static_cast<double>(need);
    auto const dealt = ballast::karmarkar_karp(
        batches[b], {.sets = static_cast<std::uint64_t>(need) * o.ranks, .equal_counts = c.equal_counts}, ballast::dense_4096_cost);
    for (auto const set : dealt.sets) {
      std::int64_t held = 0;
      for (auto i : set) held += batches[b][i];
      broken += held > o.capacity ? 1 : 0;
    }
  }
  auto const count = static_cast<double>(batches.size());
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(batches.size()) * state.range(1));
  state.counters["number"] = number;
  state.counters["bound"] = bound;
  state.counters["tokens"] = tokens;
  state.counters["over"] = over / count;
  state.counters["kk_over_the_cap"] = broken;
  state.counters["batches"] = count;
}
void shapes(benchmark::internal::Benchmark* b, std::int64_t capacity) {
  b->ArgNames({"capacity", "samples", "ranks", "equal"})->Unit(benchmark::kMillisecond);
  for (std::int64_t const ranks : {1, 8}) b->Args({capacity, 256, ranks, 0});
  b->Args({capacity, 1024, 8, 0})->Args({capacity, 256, 8, 1});
}
void short_packs(benchmark::internal::Benchmark* b) { shapes(b, 4096); }
void middle_packs(benchmark::internal::Benchmark* b) { shapes(b, 16384); }
void long_packs(benchmark::internal::Benchmark* b) { shapes(b, 131072); }

// Arguments: samples, ranks, whether counts are equal.
void half(benchmark::State& state) {
  lengths const all(static_cast<std::size_t>(state.range(0)), 2049);
  ballast::batching_options const o{.capacity = 4096, .ranks = static_cast<std::uint64_t>(state.range(1))};
  ballast::micro_batch_constraints const c{.equal_counts = state.range(2) != 0};
  ballast::micro_batching<> plan;
  for (auto _ : state) plan = ballast::micro_batches(all, o, ballast::dense_4096_cost, c);
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["number"] = static_cast<double>(plan.count.value);
  state.counters["bound"] = static_cast<double>(plan.count.lower_bound);
}

BENCHMARK_CAPTURE(traces, omnibal, "omnibal_vlm_sft.txt", 1)->Apply(short_packs)->Apply(middle_packs);
BENCHMARK_CAPTURE(traces, deepseek_r1, "servegen_deepseek_r1_sampled.txt", 2)->Apply(long_packs);
BENCHMARK_CAPTURE(traces, mooncake, "mooncake_fast25_conversation.txt", 2)->Apply(long_packs);
BENCHMARK(half)
    ->ArgNames({"samples", "ranks", "equal"})
    ->ArgsProduct({{1024, 4000, 20000}, {1, 8}, {0}})
    ->Args({1024, 1, 1})
    ->Args({1024, 8, 1})
    ->Unit(benchmark::kMillisecond);

}  // namespace
