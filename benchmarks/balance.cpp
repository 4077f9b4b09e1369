// SPDX-License-Identifier: Apache-2.0
// One global batch over the ranks: speed, and `over` = largest load over the lower bound max(mean, largest item, …), 1 where the plan is
// proven best. Where a benchmark has a counter `x_faster`, it is the time of the plain restatement of Karmarkar-Karp below over its own, on
// the same input.
//
// Lengths: floor of a lognormal (mu 6.5, sigma 1.4), clipped to 16 … 131072 ("heavy": one sample dominates) or 16 … 2048 ("even"). Cost:
// 24576 l + l^2. With BALLAST_TRACES set, `traces` deals consecutive batches of 1,024 samples of a trace over 64 sets; counters are means
// over the batches.
#include <ballast/balance.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr ballast::quadratic_cost cost{.linear = 24576, .quadratic = 1};
constexpr ballast::token_cost size;
enum shape : std::int64_t { heavy, even };

std::vector<std::int64_t> const& lengths_for(std::int64_t n, std::int64_t kind) {
  static std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>> cache;
  auto& lengths = cache[{n, kind}];
  if (lengths.empty()) {
    std::mt19937_64 generator(20240720);
    std::lognormal_distribution<double> draw(6.5, 1.4);
    lengths.resize(static_cast<std::size_t>(n));
    for (auto& l : lengths) l = static_cast<std::int64_t>(std::clamp(draw(generator), 16.0, kind == heavy ? 131072.0 : 2048.0));
  }
  return lengths;
}

// The method from its definition: every plan is k sums with their items; the two of largest spread are found by looking at all, and all
// sums sorted again.
namespace plain {
struct set {
  std::int64_t sum = 0;
  std::vector<std::uint32_t> items;
};
using plan = std::vector<set>;

plan join(plan const& a, plan const& b) {
  auto out = a;
  for (std::size_t s = 0; s < a.size(); ++s) {
    auto const& other = b[b.size() - 1 - s];
    out[s].sum += other.sum;
    out[s].items.insert(out[s].items.end(), other.items.begin(), other.items.end());
  }
  std::sort(out.begin(), out.end(), [](set const& x, set const& y) { return x.sum > y.sum; });
  return out;
}
plan karmarkar_karp(std::vector<std::int64_t> const& lengths, std::size_t k) {
  std::vector<plan> plans;
  for (std::uint32_t i = 0; i < lengths.size(); ++i) {
    plans.emplace_back(k);
    plans.back()[0] = {cost(lengths[i]), {i}};
  }
  auto const spread = [](plan const& p) { return p.front().sum - p.back().sum; };
  auto const take = [&] {
    auto const at = std::max_element(plans.begin(), plans.end(), [&](plan const& a, plan const& b) { return spread(a) < spread(b); });
    auto out = std::move(*at);
    plans.erase(at);
    return out;
  };
  while (plans.size() > 1) {
    auto const a = take();
    plans.push_back(join(a, take()));
  }
  return plans.front();
}
}  // namespace plain

template <class Call>
double seconds(Call const& call) {
  auto const start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double plain_seconds(std::int64_t n, std::int64_t k, std::int64_t kind) {
  static std::map<std::vector<std::int64_t>, double> cache;
  auto& time = cache[{n, k, kind}];
  if (time == 0)
    time = seconds([&] { benchmark::DoNotOptimize(plain::karmarkar_karp(lengths_for(n, kind), static_cast<std::size_t>(k))); });
  return time;
}
void plain_karmarkar_karp(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(plain::karmarkar_karp(lengths_for(state.range(0), state.range(2)), static_cast<std::size_t>(state.range(1))));
}

using workspace = ballast::balance_workspace<>;
using plan = ballast::balanced_sets<>;
using balancer = std::function<void(std::vector<std::int64_t> const&, ballast::balance_options const&, workspace&, plan&)>;

void lpt(std::vector<std::int64_t> const& l, ballast::balance_options const& o, workspace& ws, plan& p) {
  ballast::longest_processing_time(l, o, cost, size, ws, p);
}
void kk(std::vector<std::int64_t> const& l, ballast::balance_options const& o, workspace& ws, plan& p) {
  ballast::karmarkar_karp(l, o, cost, size, ws, p);
}
void snake(std::vector<std::int64_t> const& l, ballast::balance_options const& o, workspace& ws, plan& p) {
  ballast::snake(l, o, cost, size, ws, p);
}
void rate(std::vector<std::int64_t> const& l, ballast::balance_options const& o, workspace& ws, plan& p) {
  ballast::rate_matching(l, o, cost, ballast::quadratic_cost{.linear = 0, .quadratic = 1}, size, ws, p);
}
void lpt_refined(std::vector<std::int64_t> const& l, ballast::balance_options const& o, workspace& ws, plan& p) {
  lpt(l, o, ws, p);
  ballast::refine(l, o, cost, size, ws, p);
}
void kk_refined(std::vector<std::int64_t> const& l, ballast::balance_options const& o, workspace& ws, plan& p) {
  kk(l, o, ws, p);
  ballast::refine(l, o, cost, size, ws, p);
}

void best(std::vector<std::int64_t> const& l, ballast::balance_options const& o, workspace& ws, plan& p) {
  ballast::balance(l, o, cost, size, ws, p);
}

void one_batch(benchmark::State& state, balancer const& deal, bool equal = false) {
  auto const& lengths = lengths_for(state.range(0), state.range(2));
  ballast::balance_options const options{.sets = static_cast<std::uint64_t>(state.range(1)), .equal_counts = equal};
  workspace ws;
  plan p;
  deal(lengths, options, ws, p);
  if (!ballast::check_balance(p, lengths, options, cost).valid()) return state.SkipWithError("not a valid plan");
  double best = 1e9;
  for (auto _ : state) best = (std::min)(best, seconds([&] { deal(lengths, options, ws, p); }));
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["over"] = 1 + p.load.gap();
  if (state.range(0) <= 4096) state.counters["x_faster"] = plain_seconds(state.range(0), state.range(1), state.range(2)) / best;
}

void bulk(benchmark::State& state) {
  auto const& lengths = lengths_for(state.range(0), state.range(2));
  ballast::bulk_balance_workspace ws;
  ballast::balance_runs runs;
  plan p;
  for (auto _ : state) ballast::bulk_longest_processing_time(lengths, static_cast<std::uint64_t>(state.range(1)), cost, ws, runs, p);
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["over"] = 1 + p.load.gap();
}
void bulk_plan_alone(benchmark::State& state) {
  auto const classes = ballast::fold(lengths_for(state.range(0), state.range(2)));
  ballast::bulk_balance_workspace ws;
  ballast::balance_runs runs;
  for (auto _ : state) ballast::bulk_longest_processing_time(classes, static_cast<std::uint64_t>(state.range(1)), cost, ws, runs);
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["runs"] = static_cast<double>(runs.runs.size());
}

// Consecutive batches of a trace in file order; a line is summed over its columns.
std::vector<std::int64_t> read_trace(std::string const& name, std::size_t columns) {
  auto const* const folder = std::getenv("BALLAST_TRACES");
  std::vector<std::int64_t> lengths;
  if (folder == nullptr) return lengths;
  std::ifstream in(std::string(folder) + "/" + name);
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::int64_t sum = 0, value = 0;
    for (std::size_t c = 0; c < columns && fields >> value; ++c) sum += value;
    if (sum > 0) lengths.push_back(sum);
  }
  return lengths;
}
void traces(benchmark::State& state, std::string const& file, std::size_t columns, balancer const& deal, bool equal) {
  auto const lengths = read_trace(file, columns);
  if (lengths.empty()) return state.SkipWithError("BALLAST_TRACES does not name the folder of the traces");
  ballast::balance_options const options{.sets = 64, .equal_counts = equal};
  workspace ws;
  plan p;
  double over = 0, over_mean = 0;
  std::int64_t batches = 0, optimal = 0;
  for (auto _ : state)
    for (std::size_t at = 0; at + 1024 <= lengths.size() && at < 12 * 1024; at += 1024) {
      std::vector<std::int64_t> const batch(lengths.begin() + static_cast<std::ptrdiff_t>(at),
                                            lengths.begin() + static_cast<std::ptrdiff_t>(at) + 1024);
      deal(batch, options, ws, p);
      double total = 0;
      for (auto l : batch) total += static_cast<double>(cost(l));
      over_mean += static_cast<double>(p.load.value) * 64 / total;
      over += 1 + p.load.gap();
      optimal += p.load.optimal() ? 1 : 0;
      ++batches;
    }
  state.SetItemsProcessed(batches * 1024);
  state.counters["over"] = over / static_cast<double>(batches);
  state.counters["over_mean"] = over_mean / static_cast<double>(batches);
  state.counters["optimal"] = static_cast<double>(optimal) / static_cast<double>(batches);
}

void batches(benchmark::internal::Benchmark* b) {
  for (std::int64_t kind : {heavy, even})
    for (std::int64_t n : {512, 1024, 4096}) b->Args({n, 64, kind});
  b->ArgNames({"n", "k", "even"})->Unit(benchmark::kMicrosecond);
}
void millions(benchmark::internal::Benchmark* b) {
  b->Args({1'000'000, 64, heavy})->Args({1'000'000, 1024, heavy})->ArgNames({"n", "k", "even"})->Unit(benchmark::kMillisecond);
}

BENCHMARK(plain_karmarkar_karp)
    ->Args({512, 64, heavy})
    ->Args({1024, 64, heavy})
    ->Args({1024, 64, even})
    ->ArgNames({"n", "k", "even"})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(one_batch, balance, best)->Apply(batches);
BENCHMARK_CAPTURE(one_batch, balance_equal, best, true)->Apply(batches);
BENCHMARK_CAPTURE(one_batch, karmarkar_karp, kk)->Apply(batches);
BENCHMARK_CAPTURE(one_batch, karmarkar_karp_equal, kk, true)->Apply(batches);
BENCHMARK_CAPTURE(one_batch, karmarkar_karp_refined, kk_refined)->Apply(batches);
BENCHMARK_CAPTURE(one_batch, lpt, lpt)->Apply(batches)->Apply(millions);
BENCHMARK_CAPTURE(one_batch, lpt_refined, lpt_refined)->Apply(batches);
BENCHMARK_CAPTURE(one_batch, lpt_equal_refined, lpt_refined, true)->Apply(batches);
BENCHMARK_CAPTURE(one_batch, rate_matching, rate)->Apply(batches);
BENCHMARK_CAPTURE(one_batch, snake, snake)->Apply(batches);
BENCHMARK(bulk)->Apply(millions);
BENCHMARK(bulk_plan_alone)->Apply(millions);

#define BALLAST_TRACE_BENCHMARKS(name, file, columns)                                    \
  BENCHMARK_CAPTURE(traces, name##_balance, file, columns, best, false);                 \
  BENCHMARK_CAPTURE(traces, name##_kk_refined, file, columns, kk_refined, false);        \
  BENCHMARK_CAPTURE(traces, name##_rate, file, columns, rate, false);                    \
  BENCHMARK_CAPTURE(traces, name##_balance_equal, file, columns, best, true);            \
  BENCHMARK_CAPTURE(traces, name##_kk, file, columns, kk, false);                        \
  BENCHMARK_CAPTURE(traces, name##_lpt, file, columns, lpt, false);                      \
  BENCHMARK_CAPTURE(traces, name##_lpt_refined, file, columns, lpt_refined, false);      \
  BENCHMARK_CAPTURE(traces, name##_kk_equal, file, columns, kk, true);                   \
  BENCHMARK_CAPTURE(traces, name##_lpt_equal_refined, file, columns, lpt_refined, true); \
  BENCHMARK_CAPTURE(traces, name##_kk_equal_refined, file, columns, kk_refined, true)
BALLAST_TRACE_BENCHMARKS(mooncake, "mooncake_fast25_conversation.txt", 2);
BALLAST_TRACE_BENCHMARKS(omnibal, "omnibal_vlm_sft.txt", 1);
BALLAST_TRACE_BENCHMARKS(deepseek_r1, "servegen_deepseek_r1_sampled.txt", 2);
BALLAST_TRACE_BENCHMARKS(source_files, "repo_source_files_approx.txt", 1);
#undef BALLAST_TRACE_BENCHMARKS

}  // namespace
