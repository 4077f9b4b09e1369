// SPDX-License-Identifier: Apache-2.0
// Batches in chunks (docs/chunks.md): the time to cut a batch beside packing it, ChunkFlow's published iterations, chunks of equal time,
// and ranks with whole chains against ranks that take chains in turn.
#include "../tests/support/measured_memory.hpp"
#include "planning/distributions.hpp"

#include <ballast/chunks/equal_time_chunks.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/methods/chunkflow.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/pipeline/list_schedule.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace ballast;
using lengths_t = std::vector<std::int64_t>;

lengths_t lengths_like(std::string_view name, std::size_t samples, std::int64_t longest, std::uint64_t seed) {
  auto const all = ballast_cli::distributions();
  auto const like = std::find_if(all.begin(), all.end(), [&](auto const& d) { return d.name == name; });
  auto out = ballast_cli::draw(*like, samples, seed);
  for (auto& l : out) l = (std::min)(l, longest);
  return out;
}

/// The time of a model on one stage; a chunk takes as long as 1,000 tokens more.
auto const cost = sample_cost(transformer_preset("qwen2.5-7b"));
std::int64_t const per_chunk = 1000 * cost(1);
constexpr std::int64_t context = 262144;
constexpr std::uint64_t batches = 40;

template <class Call>
double best_seconds(Call const& call) {
  double best = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    auto const start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(call());
    best = (std::min)(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

/// `over_packing`: the time over that of best-fit decreasing for the same samples, the long ones cut to a chunk.
void chunks_of_a_million(benchmark::State& state) {
  auto const size = state.range(0);
  auto const lengths = lengths_like("chat-sft", 1'000'000, context, 1);
  auto cut = lengths;
  for (auto& l : cut) l = (std::min)(l, size);
  chunking_workspace<> workspace;
  chunking<> plan;
  packing_workspace<> packer;
  packing<> packs;
  for (auto _ : state) make_chunks(lengths, {.size = size}, workspace, plan);
  auto const mine = best_seconds([&] { return make_chunks(lengths, {.size = size}, workspace, plan), plan.size(); });
  auto const packed =
      best_seconds([&] { return best_fit_decreasing(cut, {.capacity = size}, token_cost{}, packer, packs), packs.packs.size(); });
  state.counters["over_packing"] = mine / packed;
  state.counters["chunks"] = static_cast<double>(plan.size());
  state.counters["gap"] = plan.count.gap();
  state.SetItemsProcessed(state.iterations() * 1'000'000);
}
BENCHMARK(chunks_of_a_million)->Arg(2048)->Arg(8192)->Arg(32768)->Unit(benchmark::kMillisecond);

/// The published settings with K x ChunkSize = 32K: 256 samples, four stages. `relative` is to 8K; `list` is the list schedule of the same
/// chunks; `tokens` are most in flight on a stage.
void published_iterations(benchmark::State& state) {
  auto const size = state.range(0);
  auto const fixed = state.range(1) * cost(1);
  auto const setting_for = [&](std::int64_t chunk) {
    return chunkflow::setting{
        .chunk_size = chunk, .stages = 4, .work = {.retained = static_cast<std::uint64_t>(32768 / chunk), .per_chunk = fixed}};
  };
  double time = 0, reference = 0, list = 0, bound = 0, bubble = 0;
  std::int64_t tokens = 0;
  for (std::uint64_t b = 0; b < batches; ++b) {
    auto const lengths = lengths_like("chat-sft", 256, context, b + 1);
    auto const by = setting_for(size);
    auto const plan = chunkflow::plan_iteration(lengths, by, cost);
    time += static_cast<double>(plan.time.value);
    bound += static_cast<double>(plan.time.lower_bound);
    bubble += plan.bubble() / static_cast<double>(batches);
    tokens = (std::max)(tokens, plan.peak);
    reference += static_cast<double>(chunkflow::plan_iteration(lengths, setting_for(8192), cost).time.value);
    auto const works = chunk_work(plan.chunks, by.work, cost);
    list += static_cast<double>(list_schedule(plan.chunks.chains, {.stages = 4}, works).timeline.makespan.value);
  }
  auto const lengths = lengths_like("chat-sft", 256, context, 1);
  for (auto _ : state) benchmark::DoNotOptimize(chunkflow::plan_iteration(lengths, setting_for(size), cost).time.value);
  state.counters["relative"] = time / reference;
  state.counters["list"] = list / reference;
  state.counters["over_bound"] = time / bound;
  state.counters["bubble"] = bubble;
  state.counters["tokens"] = static_cast<double>(tokens);
}
BENCHMARK(published_iterations)
    ->ArgNames({"size", "per_chunk"})
    ->ArgsProduct({{2048, 8192, 32768}, {0, 1000}})
    ->Unit(benchmark::kMicrosecond);

/// Makespans with chunks of equal time over those with `make_chunks`, under the published order and the list schedule. A batch has 128
/// samples; K x chunk = 32K.
void equal_times(benchmark::State& state, char const* name) {
  auto const stages = static_cast<std::uint64_t>(state.range(0));
  auto const size = state.range(1);
  chunk_work_options const work{.retained = static_cast<std::uint64_t>(32768 / size), .per_chunk = per_chunk};
  double published = 0, published_before = 0, list = 0, list_before = 0;
  for (std::uint64_t b = 0; b < batches; ++b) {
    auto const lengths = lengths_like(name, 128, 131072, b + 1);
    auto const makespans = [&](chunking<> const& plan, double& strict, double& free) {
      auto const works = chunk_work(plan, work, cost);
      strict += static_cast<double>(simulate_order(chunked_order(stages, plan.chains), works).makespan.value);
      free += static_cast<double>(list_schedule(plan.chains, {.stages = stages}, works).timeline.makespan.value);
    };
    makespans(make_chunks(lengths, {.size = size}), published_before, list_before);
    makespans(equal_time_chunks(lengths, {.size = size}, cost), published, list);
  }
  auto const lengths = lengths_like(name, 128, 131072, 1);
  for (auto _ : state) benchmark::DoNotOptimize(equal_time_chunks(lengths, {.size = size}, cost));
  state.counters["published"] = published / published_before;
  state.counters["list"] = list / list_before;
}
BENCHMARK_CAPTURE(equal_times, chat, "chat-sft")->ArgNames({"stages", "size"})->ArgsProduct({{4, 8}, {8192, 32768}});
BENCHMARK_CAPTURE(equal_times, documents, "pretraining-documents")->ArgNames({"stages", "size"})->ArgsProduct({{4, 8}, {8192, 32768}});
BENCHMARK_CAPTURE(equal_times, long_context, "long-context-sft")->ArgNames({"stages", "size"})->ArgsProduct({{4, 8}, {8192, 32768}});

/// Largest load of a rank over the mean: chains dealt by `deal_chunks`, and in turn.
void dealing(benchmark::State& state, char const* name) {
  auto const ranks = static_cast<std::uint64_t>(state.range(0));
  double dealt = 0, turn = 0, bound = 0, mean = 0;
  for (std::uint64_t b = 0; b < batches; ++b) {
    auto const plan = make_chunks(lengths_like(name, 256, 131072, b + 1), {.size = 8192});
    auto const times = chunk_times(plan, cost, per_chunk);
    auto const out = deal_chunks(plan, {.sets = ranks}, times);
    lengths_t load(ranks, 0);
    for (std::size_t c = 0; c < plan.chains.size(); ++c)
      for (auto const k : plan.chains[c]) load[c % ranks] += times[k];
    std::int64_t all = 0;
    for (auto const l : load) all += l;
    turn += static_cast<double>(*std::max_element(load.begin(), load.end()));
    mean += static_cast<double>(all) / static_cast<double>(ranks);
    dealt += static_cast<double>(out.load.value);
    bound += static_cast<double>(out.load.lower_bound);
  }
  auto const plan = make_chunks(lengths_like(name, 256, 131072, 1), {.size = 8192});
  auto const times = chunk_times(plan, cost, per_chunk);
  for (auto _ : state) benchmark::DoNotOptimize(deal_chunks(plan, {.sets = ranks}, times));
  state.counters["in_turn"] = turn / mean;
  state.counters["dealt"] = dealt / mean;
  state.counters["over_bound"] = dealt / bound;
}
BENCHMARK_CAPTURE(dealing, documents, "pretraining-documents")->ArgName("ranks")->Arg(4)->Arg(8);
BENCHMARK_CAPTURE(dealing, long_context, "long-context-sft")->ArgName("ranks")->Arg(4)->Arg(8);

/// Peak GiB of Qwen2.5-7B on four devices with K = 1, by the size of a chunk and the context: keys and values without and with their
/// gradients.
void peak_memory(benchmark::State& state) {
  auto const rows = ballast_test::chunkflow_rows();
  auto const row = *std::find_if(rows.begin(), rows.end(), [&](auto const& r) { return r.tokens == state.range(0); });
  auto bytes = chunkflow::token_bytes(row.model, row.by);
  lengths_t const chunks(static_cast<std::size_t>(state.range(1) / row.tokens), row.tokens);
  auto const of = ballast_test::computed(row);
  auto const gib = [&] {
    return static_cast<double>(of.states + of.working + of.fixed + retained_peak(chunks, 1, bytes)) / ballast_test::gib;
  };
  state.counters["with_gradients"] = gib();
  bytes.key_gradients = 0;
  for (auto _ : state) benchmark::DoNotOptimize(retained_peak(chunks, 1, bytes));
  state.counters["without"] = gib();
}
BENCHMARK(peak_memory)->ArgNames({"size", "context"})->ArgsProduct({{2048, 4096, 8192}, {32768, 262144}});

/// Percent of the samples, each a micro-batch of its own, that need less than some GB (10^9 bytes) on the same devices; context 32K.
void micro_batches_below(benchmark::State& state) {
  auto const row = ballast_test::chunkflow_rows().front();
  auto const of = ballast_test::computed(row);
  auto const per_token = static_cast<double>(of.kept + of.working) / static_cast<double>(row.tokens);
  auto const fits = (1e9 * static_cast<double>(state.range(0)) - static_cast<double>(of.states + of.fixed)) / per_token;
  auto const lengths = lengths_like("chat-sft", 1'000'000, 32768, 1);
  auto const below = [&] { return std::count_if(lengths.begin(), lengths.end(), [&](auto l) { return static_cast<double>(l) < fits; }); };
  for (auto _ : state) benchmark::DoNotOptimize(below());
  state.counters["percent"] = 1e-4 * static_cast<double>(below());
  state.counters["tokens"] = fits;
  state.counters["longest_gb"] = 1e-9 * (static_cast<double>(of.states + of.fixed) + 32768 * per_token);
}
BENCHMARK(micro_batches_below)->Arg(45)->Arg(75);

}  // namespace
