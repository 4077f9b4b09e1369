// SPDX-License-Identifier: Apache-2.0
// Skrull (arXiv 2505.19609): modelled ratios beside those of its tables, what memory and batch size do, and the time to plan.
#include "planning/distributions.hpp"

#include <ballast/methods/skrull.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace ballast;
using lengths_t = std::vector<std::int64_t>;

constexpr std::uint64_t batches = 50;  // global batches of each case

/// Global batches of a distribution, without samples above `longest`.
std::vector<lengths_t> batches_of(std::string_view name, std::size_t samples, std::int64_t longest) {
  auto const all = ballast_cli::distributions();
  auto const like = std::find_if(all.begin(), all.end(), [&](auto const& d) { return d.name == name; });
  std::vector<lengths_t> out(batches);
  for (std::uint64_t b = 0; b < batches; ++b)
    for (auto const l : ballast_cli::draw(*like, 2 * samples, b + 1))
      if (l <= longest && out[b].size() < samples) out[b].push_back(l);
  return out;
}

enum class method { skrull, share_more, round_robin, deepspeed, sorted, packed, no_roll_back };

group_schedule<> scheduled(method by, lengths_t const& lengths, skrull::run run) {
  if (by == method::deepspeed) return skrull::share_all(lengths, run, skrull::baseline::deepspeed);
  if (by == method::packed) return skrull::share_all(lengths, run, skrull::baseline::deepspeed, lengths.size());
  if (by == method::sorted) return skrull::share_all(lengths, run, skrull::baseline::sorted);
  if (by == method::round_robin) {
    run.local = local_rank::emptiest;
    run.order = placing_order::as_given;
  }
  if (by == method::share_more) run.share_more = true;
  if (by == method::no_roll_back) run.roll_back = rolling_back::none;
  return skrull::schedule(lengths, run);
}

/// The smallest and the largest rank by its fullest pass, in tokens.
std::pair<std::int64_t, std::int64_t> peaks(shards<> const& plan) {
  std::vector<std::int64_t> peak(plan.ranks(), 0);
  for (std::size_t r = 0; r < plan.ranks(); ++r)
    for (std::size_t p = 0; p < plan.passes(r); ++p) {
      std::int64_t tokens = 0;
      for (auto const& held : plan(r, p)) tokens += held.end - held.begin;
      peak[r] = (std::max)(peak[r], tokens);
    }
  auto const [least, most] = std::minmax_element(peak.begin(), peak.end());
  return {*least, *most};
}

/// Plans all batches; the ratio is that of the modelled times of all batches to DeepSpeed's.
void compare(benchmark::State& state, method by, skrull::run const& run, std::vector<lengths_t> const& data) {
  std::int64_t time = 0, theirs = 0, least = 0, most = 0, micro_batches = 0, bound = 0;
  for (auto const& lengths : data) {
    auto const plan = scheduled(by, lengths, run);
    time += plan.overlapped.value;
    bound += plan.overlapped.lower_bound;
    theirs += scheduled(method::deepspeed, lengths, run).overlapped.value;
    micro_batches += static_cast<std::int64_t>(*std::max_element(plan.micro_batches.begin(), plan.micro_batches.end()));
    auto const [low, high] = peaks(plan.shards);
    least += low;
    most += high;
  }
  std::size_t at = 0;
  for (auto _ : state) benchmark::DoNotOptimize(scheduled(by, data[at++ % data.size()], run));
  auto const mean = [](std::int64_t sum) { return static_cast<double>(sum) / static_cast<double>(batches); };
  state.counters["speed_up"] = static_cast<double>(theirs) / static_cast<double>(time);
  state.counters["over_bound"] = static_cast<double>(time) / static_cast<double>(bound);
  state.counters["ms"] = mean(time) / 1e6;
  state.counters["micro_batches"] = mean(micro_batches);
  state.counters["least_peak_tokens"] = mean(least);
  state.counters["most_peak_tokens"] = mean(most);
}

struct named {
  char const* name;
  method by;
};
constexpr named methods[] = {{"deepspeed", method::deepspeed},     {"sorted", method::sorted}, {"packed", method::packed},
                             {"round_robin", method::round_robin}, {"skrull", method::skrull}, {"share_more", method::share_more}};

skrull::run run_of(std::string_view model, std::uint64_t groups, std::uint64_t ranks, std::int64_t fixed_ms = 0) {
  return {.model = skrull::shape_named(model), .groups = groups, .ranks = ranks, .cost_per_micro_batch = 1'000'000 * fixed_ms};
}

void table_3(benchmark::State& state, method by, std::int64_t fixed_ms) {
  auto const run = run_of("qwen2.5-0.5b", 1, 8, fixed_ms);
  compare(state, by, run, batches_of("long-context-sft", 64, 8 * run.model.capacity));
}
void figure_cell(benchmark::State& state, method by, std::string_view model, std::string_view data, std::int64_t fixed_ms) {
  auto const run = run_of(model, 4, 8, fixed_ms);
  compare(state, by, run, batches_of(data, 256, 8 * run.model.capacity));
}
void batch_size(benchmark::State& state) {
  auto const run = run_of("qwen2.5-0.5b", 1, 8);
  compare(state, method::skrull, run, batches_of("long-context-sft", static_cast<std::size_t>(state.range(0)), 8 * run.model.capacity));
}
void capacity(benchmark::State& state) {
  auto run = run_of("qwen2.5-0.5b", 1, 8);
  run.model.capacity = 1024 * state.range(0);
  compare(state, method::skrull, run, batches_of("long-context-sft", 64, 8 * 8192));
}
/// Batches in which no plan exists with the fewest micro-batches that memory allows.
void without_roll_back(benchmark::State& state) {
  auto const run = run_of("qwen2.5-0.5b", 1, 8);
  auto const data = batches_of("long-context-sft", 64, 8 * run.model.capacity);
  std::int64_t same = 0, rolled_back = 0;
  for (auto const& lengths : data) {
    auto const with = scheduled(method::skrull, lengths, run), without = scheduled(method::no_roll_back, lengths, run);
    same += without.status == status::feasible && without.micro_batches == with.micro_batches;
    rolled_back += static_cast<std::int64_t>(with.rolled_back);
  }
  for (auto _ : state) benchmark::DoNotOptimize(scheduled(method::no_roll_back, data[0], run));
  state.counters["same_micro_batches"] = static_cast<double>(same) / static_cast<double>(batches);
  state.counters["rolled_back"] = static_cast<double>(rolled_back) / static_cast<double>(batches);
}
/// 512 samples on 64 ranks: the placement alone, and with the pieces and their times.
void plan_512(benchmark::State& state, std::uint64_t groups, bool pieces) {
  auto run = run_of("qwen2.5-7b", groups, 64 / groups);
  run.pieces = pieces;
  auto const data = batches_of("long-context-sft", 512, 64 / static_cast<std::int64_t>(groups) * run.model.capacity);
  std::size_t at = 0;
  for (auto _ : state) benchmark::DoNotOptimize(skrull::schedule(data[at++ % data.size()], run));
}

int const registered = [] {
  for (auto const& m : methods) {
    for (std::int64_t const fixed : {0, 5})
      benchmark::RegisterBenchmark(("table_3/" + std::string(m.name) + "/fixed_ms:" + std::to_string(fixed)).c_str(), table_3, m.by, fixed);
    for (auto const* model : {"qwen2.5-0.5b", "qwen2.5-7b"})
      for (auto const* data : {"chat-sft", "long-context-sft"})
        for (std::int64_t const fixed : {0, 5})
          benchmark::RegisterBenchmark(
              ("cell/" + std::string(model) + "/" + data + "/" + m.name + "/fixed_ms:" + std::to_string(fixed)).c_str(), figure_cell, m.by,
              model, data, fixed);
  }
  for (auto const groups : {std::uint64_t{1}, std::uint64_t{8}})
    for (auto const pieces : {false, true})
      benchmark::RegisterBenchmark(("plan_512_on_64/groups:" + std::to_string(groups) + (pieces ? "/pieces" : "/placement")).c_str(),
                                   plan_512, groups, pieces);
  return 0;
}();

BENCHMARK(batch_size)->Arg(8)->Arg(16)->Arg(24)->Arg(32)->Arg(40)->Arg(48)->Arg(54);
BENCHMARK(capacity)->Arg(8)->Arg(12)->Arg(16)->Arg(20)->Arg(24)->Arg(28)->Arg(32);
BENCHMARK(without_roll_back);

}  // namespace
