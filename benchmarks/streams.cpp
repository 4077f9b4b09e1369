// SPDX-License-Identifier: Apache-2.0
// Steps of balanced work from a stream: outliers that wait for others like them up to a deadline, beside no delay, repacked windows and
// WLB-LLM's queues (arXiv 2503.17924), whose published point is an imbalance of 1.05 at half a step. 300 blocks of about 118K tokens for
// each micro-batch, context 128K, attention and the rest of a 7B model equal at 36K tokens. Imbalance of steps and of time, mean and
// longest delay in steps, time of a step beside longest processing time first on the same samples. Sets are generators of `ballast
// generate` and, in the folder BALLAST_TRACES, Mooncake's trace.
#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/methods/wlb.hpp>
#include <ballast/methods/wlb_replay.hpp>
#include <ballast/streams/outlier_stream.hpp>
#include <ballast/streams/stream_step.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "long_batches.hpp"
#include "planning/distributions.hpp"

namespace {

using namespace ballast;

constexpr std::size_t blocks = 300;
constexpr std::int64_t context = 131072, tokens_each = 118'000;
constexpr std::int64_t capacity = 262144;  // most tokens of a micro-batch
constexpr quadratic_cost work{.linear = 35873, .quadratic = 1};

/// Lengths of a set, at most the context; empty if a trace is not there.
std::vector<std::int64_t> drawn(std::string_view name, std::int64_t tokens) {
  auto const samples = static_cast<std::size_t>(tokens / (name == "wikipedia-chinese" ? 300 : 2000));
  if (name == "mooncake") {
    auto const like = std::find_if(long_batches::sets.begin(), long_batches::sets.end(), [&](auto const& s) { return s.name == name; });
    auto out = long_batches::draw(*like, 1, samples, context);
    return out.empty() ? std::vector<std::int64_t>() : out[0];
  }
  auto const all = ballast_cli::distributions();
  auto const like = std::find_if(all.begin(), all.end(), [&](auto const& d) { return d.name == name; });
  auto out = ballast_cli::draw(*like, samples, 7);
  for (auto& length : out) length = (std::min)(length, context);
  return out;
}
/// The stream of a set for steps of so many micro-batches.
stream_blocks const& stream_of(std::string_view name, std::int64_t micro_batches, std::size_t count = blocks) {
  static std::vector<std::pair<std::string, stream_blocks>> known;
  auto const key = std::string(name) + std::to_string(micro_batches);
  for (auto const& [of, data] : known)
    if (of == key) return data;
  stream_blocks data;
  std::int64_t tokens = 0;
  for (auto const length : drawn(name, micro_batches * tokens_each * static_cast<std::int64_t>(count + 1))) {
    if (data.empty() || tokens >= micro_batches * tokens_each) {
      if (data.size() == count) break;
      data.emplace_back();
      tokens = 0;
    }
    data.back().push_back(length);
    tokens += length;
  }
  return known.emplace_back(key, std::move(data)).second;
}

using policy_t = std::function<stream_replay(stream_blocks const&, std::int64_t)>;

void per_step(benchmark::State& state, std::size_t steps) {
  state.counters["seconds_per_step"] =
      benchmark::Counter(static_cast<double>(steps), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void replay_policy(benchmark::State& state, std::string_view name, std::int64_t micro_batches, policy_t const& policy) {
  auto const& data = stream_of(name, micro_batches);
  if (data.empty()) return state.SkipWithError("set BALLAST_TRACES");
  auto const run = policy(data, micro_batches);
  for (auto _ : state) benchmark::DoNotOptimize(policy(data, micro_batches));
  state.counters["imbalance"] = static_cast<double>(run.imbalance()) / 1e6;
  state.counters["delay"] = static_cast<double>(run.delay()) / 1e6;
  state.counters["longest_delay"] = static_cast<double>(run.longest_delay());
  state.counters["time_imbalance"] = static_cast<double>(run.time_imbalance()) / 1e6;
  per_step(state, data.size());
}

outlier_options outliers(std::int64_t micro_batches, std::uint64_t deadline) {
  return {.micro_batches = static_cast<std::uint64_t>(micro_batches), .capacity = {capacity}, .deadline = deadline};
}
wlb::options queues(std::int64_t micro_batches, std::vector<std::int64_t> thresholds) {
  return {.micro_batches = static_cast<std::uint64_t>(micro_batches), .capacity = capacity, .thresholds = std::move(thresholds)};
}

/// A stream of steps with about as many samples as the name says, and the same steps by longest processing time first alone.
void planning(benchmark::State& state, std::int64_t micro_batches, bool plain) {
  auto const& data = stream_of("wlb", micro_batches, 40);
  auto const run = replay_stream(data, outlier_stream(outliers(micro_batches, 16), work));
  std::size_t samples = 0;
  for (auto const& s : run.steps) samples += s.delays.size();
  balance_options const sets{.sets = static_cast<std::uint64_t>(micro_batches)};
  for (auto _ : state)
    if (plain)
      for (auto const& s : run.steps) benchmark::DoNotOptimize(longest_processing_time(s.lengths, sets, work));
    else
      benchmark::DoNotOptimize(replay_stream(data, outlier_stream(outliers(micro_batches, 16), work)));
  state.counters["samples"] = static_cast<double>(samples) / static_cast<double>(run.steps.size());
  per_step(state, data.size());
}

int const registered = [] {
  for (auto const* name : {"wlb", "mooncake", "wikipedia-chinese", "prolong"})
    for (std::int64_t const m : {8, 32}) {
      auto const add = [&](std::string const& row, policy_t const& policy) {
        benchmark::RegisterBenchmark((std::string(name) + "/micro_batches:" + std::to_string(m) + "/" + row).c_str(), replay_policy, name,
                                     m, policy)
            ->Unit(benchmark::kMillisecond);
      };
      for (auto const window : {std::size_t{1}, std::size_t{2}, std::size_t{4}})
        add("window:" + std::to_string(window),
            [=](auto const& data, auto of) { return wlb::repack_windows(data, queues(of, {}), work, window); });
      for (auto const& thresholds : {std::vector<std::int64_t>{65536}, {32768, 81920}, {24576, 57344, 98304}}) {
        std::string row = "queues";
        for (auto const t : thresholds) row += ":" + std::to_string(t / 1024) + "K";
        add(row, [=](auto const& data, auto of) { return wlb::replay(data, queues(of, thresholds), work); });
      }
      for (auto const deadline : {0, 1, 2, 4, 8, 16, 64})
        add("deadline:" + std::to_string(deadline), [=](auto const& data, auto of) {
          return replay_stream(data, outlier_stream(outliers(of, static_cast<std::uint64_t>(deadline)), work));
        });
    }
  for (std::int64_t const price : {50, 100, 150, 225, 300, 400})  // what an earlier step is worth
    for (std::int64_t const m : {8, 32})
      benchmark::RegisterBenchmark(("price:" + std::to_string(price) + "/micro_batches:" + std::to_string(m)).c_str(), replay_policy, "wlb",
                                   m,
                                   [=](auto const& data, auto of) {
                                     auto o = outliers(of, 16);
                                     o.tuning.delay_price = price;
                                     return replay_stream(data, outlier_stream(o, work));
                                   })
          ->Unit(benchmark::kMillisecond);
  for (auto const* name : {"wlb", "mooncake"})  // little room: one and a half times the context
    for (std::int64_t const m : {8, 32})
      benchmark::RegisterBenchmark((std::string(name) + "/micro_batches:" + std::to_string(m) + "/capacity:192K").c_str(), replay_policy,
                                   name, m,
                                   [=](auto const& data, auto of) {
                                     auto o = outliers(of, 16);
                                     o.capacity = {196608};
                                     return replay_stream(data, outlier_stream(o, work));
                                   })
          ->Unit(benchmark::kMillisecond);
  for (std::int64_t const m : {8, 32, 375})
    for (auto const plain : {true, false})
      benchmark::RegisterBenchmark(("planning/micro_batches:" + std::to_string(m) + (plain ? "/lpt_alone" : "/outlier_stream")).c_str(),
                                   planning, m, plain)
          ->Unit(benchmark::kMillisecond);
  return 0;
}();

}  // namespace
