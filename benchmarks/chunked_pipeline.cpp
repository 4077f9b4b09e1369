// SPDX-License-Identifier: Apache-2.0
// The order of chunks on a pipeline (docs/pipeline.md, "Searching the order"): five batches of 128 samples of each set of long_batches.hpp
// (the trace only where BALLAST_TRACES names its folder), the times of FlexSP's fitted 7B model over the stages, chunks of 8K or 32K tokens
// of which a chain retains 32K tokens (K = 4 or 1). Counters are modelled makespans over that of the published chunks under a
// work-conserving list 1F1B, as geometric means: `strict` the published order, `equal` chunks of equal time, `search_60` and `search_600` a
// search with so many simulations, `both_60` and `both_600` the search with chunks of equal time, `either_600` the better of two searches
// with 300 simulations, one for each kind of chunks. `bound` is the lower bound of `both`, `simple_bound` the one that knows no chains, and
// `search_bound` the lower bound of the published chunks. Time is that of one search with 600 simulations.
#include <ballast/chunks/chunk_work.hpp>
#include <ballast/chunks/equal_time_chunks.hpp>
#include <ballast/chunks/make_chunks.hpp>
#include <ballast/pipeline/bounds.hpp>
#include <ballast/pipeline/chunked_order.hpp>
#include <ballast/pipeline/search_order.hpp>
#include <ballast/pipeline/simulate.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "long_batches.hpp"

namespace {

using namespace ballast;

constexpr std::int64_t context = 131072, retained_tokens = 32768;

/// A batch in chunks on a pipeline.
struct chunked {
  std::uint64_t stages;
  chunking<> chunks;
  chunk_works work;

  [[nodiscard]] std::int64_t listed() const { return list_schedule(chunks.chains, {.stages = stages}, work).timeline.makespan.value; }
  [[nodiscard]] certificate searched(std::uint64_t simulations) const {
    return search_order(chunks.chains, {.stages = stages}, work, {.simulations = simulations}).timeline.makespan;
  }
};

void table(benchmark::State& state, std::string_view name) {
  auto const stages = static_cast<std::uint64_t>(state.range(0));
  auto const size = state.range(1);
  auto const set = std::find_if(long_batches::sets.begin(), long_batches::sets.end(), [&](auto const& s) { return s.name == name; });
  auto const batches = long_batches::draw(*set, 5, 128, context);
  if (batches.empty()) return state.SkipWithError("BALLAST_TRACES does not name the folder of the traces");
  // A third of the time of a complete sample is forward, two thirds are backward; a stage has its share of both.
  auto const model = [cost = long_batches::models[0].cost, parts = 3 * static_cast<std::int64_t>(stages)](std::int64_t tokens) {
    return cost(tokens, 1) / parts;
  };
  auto const on_pipeline = [&](chunking<> chunks) {
    auto work = chunk_work(chunks, {.retained = static_cast<std::uint64_t>(retained_tokens / size)}, model);
    return chunked{stages, std::move(chunks), std::move(work)};
  };
  std::map<std::string, double> logs;
  std::vector<chunked> equal;
  for (auto const& lengths : batches) {
    auto const published = on_pipeline(make_chunks(lengths, {.size = size}));
    auto const& both = equal.emplace_back(on_pipeline(equal_time_chunks(lengths, {.size = size}, model)));
    auto const one = static_cast<double>(published.listed());
    auto const add = [&](char const* column, std::int64_t makespan) { logs[column] += std::log(static_cast<double>(makespan) / one); };
    add("strict", simulate_order(chunked_order(stages, published.chunks.chains), published.work).makespan.value);
    add("equal", both.listed());
    add("search_60", published.searched(60).value);
    auto const alone = published.searched(600);
    add("search_600", alone.value);
    add("search_bound", alone.lower_bound);
    add("both_60", both.searched(60).value);
    auto const best = both.searched(600);
    add("both_600", best.value);
    add("bound", best.lower_bound);
    add("either_600", (std::min)(published.searched(300).value, both.searched(300).value));
    std::vector<std::uint32_t> stage_of(stages);
    std::iota(stage_of.begin(), stage_of.end(), 0U);
    add("simple_bound", pipeline_lower_bound(stage_of, both.chunks.size(), false, both.work).time);
  }
  auto const count = static_cast<double>(batches.size());
  for (auto const& [column, sum] : logs) state.counters[column] = std::exp(sum / count);
  std::size_t at = 0;
  for (auto _ : state) benchmark::DoNotOptimize(equal[at++ % equal.size()].searched(600));
}

void rows(benchmark::internal::Benchmark* b) {
  b->ArgNames({"stages", "chunk"})->ArgsProduct({{4, 8}, {8192, 32768}})->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(table, wiki, "wiki")->Apply(rows);
BENCHMARK_CAPTURE(table, wlb, "wlb")->Apply(rows);
BENCHMARK_CAPTURE(table, prolong, "prolong")->Apply(rows);
BENCHMARK_CAPTURE(table, mooncake, "mooncake")->Apply(rows);

}  // namespace
