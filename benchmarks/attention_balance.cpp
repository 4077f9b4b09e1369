// SPDX-License-Identifier: Apache-2.0
// Attention as work that can be divided: DistCA's filling of servers (arXiv 2510.18121) beside two-sided filling and whole documents,
// WLB-LLM's table 2 (arXiv 2503.17924) and its two ways to cut a micro-batch. Loads over the mean, bytes, moves, and the time to plan.
#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/methods/distca.hpp>
#include <ballast/methods/wlb.hpp>
#include <ballast/methods/wlb_replay.hpp>
#include <ballast/methods/wlb_shards.hpp>

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

namespace {

using namespace ballast;
using lengths_t = std::vector<std::int64_t>;

constexpr std::size_t batches = 20;
constexpr std::int64_t context = 131072;

/// Batches of `servers` times 128K tokens, or a little more. Empty if a trace is not there.
std::vector<lengths_t> const& batches_of(std::string_view name, std::size_t servers) {
  static std::vector<std::pair<std::string, std::vector<lengths_t>>> known;
  auto const key = std::string(name) + std::to_string(servers);
  for (auto const& [of, data] : known)
    if (of == key) return data;
  auto const like = std::find_if(long_batches::sets.begin(), long_batches::sets.end(), [&](auto const& s) { return s.name == name; });
  auto data = long_batches::draw(*like, batches, servers * 200, context);
  for (auto& lengths : data) {
    std::int64_t tokens = 0;
    std::size_t n = 0;
    while (n < lengths.size() && tokens < static_cast<std::int64_t>(servers) * context) tokens += lengths[n++];
    lengths.resize(n);
  }
  return known.emplace_back(key, std::move(data)).second;
}

/// Whole documents, each on the server with the fewest tokens so far.
std::vector<attention_task<>> dealt_by_tokens(lengths_t const& lengths, std::size_t servers) {
  std::vector<std::int64_t> tokens(servers, 0);
  std::vector<attention_task<>> out;
  for (std::uint32_t i = 0; i < lengths.size(); ++i) {
    auto const least = static_cast<std::size_t>(std::min_element(tokens.begin(), tokens.end()) - tokens.begin());
    tokens[least] += lengths[i];
    out.push_back({i, static_cast<std::uint32_t>(least), 0, lengths[i], 0, 0});
  }
  return out;
}

double over(std::int64_t a, std::int64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

/// Documents dealt by tokens, their attention balanced.
void fill(benchmark::State& state, std::string_view name, std::size_t servers, filling how, attention_cut cut, std::int64_t tolerance) {
  auto const& data = batches_of(name, servers);
  if (data.empty()) return state.SkipWithError("set BALLAST_TRACES");
  auto options = distca::run_of(transformer_preset("llama-3.1-8b"), servers).servers;
  options.filling = how;
  options.cut = cut;
  options.tolerance = tolerance;
  std::vector<std::vector<attention_task<>>> given;
  double before = 0, after = 0, worst = 0, bytes = 0, moves = 0, documents = 0;
  for (auto const& lengths : data) {
    given.push_back(dealt_by_tokens(lengths, servers));
    std::vector<std::int64_t> load(servers, 0);
    for (auto const& t : given.back()) load[t.home] += t.pairs();
    auto const plan = water_filling(given.back(), options);
    before += over(*std::max_element(load.begin(), load.end()), plan.load.lower_bound) / batches;
    after += over(plan.load.value, plan.load.lower_bound) / batches;
    worst = (std::max)(worst, over(plan.load.value, plan.load.lower_bound));
    bytes += static_cast<double>(plan.bytes_moved) / 1e9 / batches;
    moves += static_cast<double>(plan.moves) / batches;
    documents += static_cast<double>(lengths.size()) / batches;
  }
  std::size_t at = 0;
  for (auto _ : state) benchmark::DoNotOptimize(water_filling(given[at++ % given.size()], options));
  state.counters["before"] = before;
  state.counters["max_over_mean"] = after;
  state.counters["worst"] = worst;
  state.counters["GB"] = bytes;
  state.counters["moves"] = moves;
  state.counters["documents"] = documents;
}
/// The best that whole documents can do: longest processing time first, by pairs.
void whole_documents(benchmark::State& state, std::string_view name, std::size_t servers) {
  auto const& data = batches_of(name, servers);
  if (data.empty()) return state.SkipWithError("set BALLAST_TRACES");
  balance_options const options{.sets = servers};
  double after = 0;
  for (auto const& lengths : data) {
    std::int64_t pairs = 0;
    for (auto const l : lengths) pairs += causal_pairs{}(l);
    after +=
        over(longest_processing_time(lengths, options, causal_pairs{}).load.value, pairs / static_cast<std::int64_t>(servers)) / batches;
  }
  std::size_t at = 0;
  for (auto _ : state) benchmark::DoNotOptimize(longest_processing_time(data[at++ % data.size()], options, causal_pairs{}));
  state.counters["max_over_mean"] = after;
}

/// DistCA as a whole: the slowest server over the bound, with all attention at home and balanced.
void step_time(benchmark::State& state, std::string_view name, std::size_t servers, bool published, std::int64_t tolerance,
               distca::placement placement) {
  auto const& data = batches_of(name, servers);
  if (data.empty()) return state.SkipWithError("set BALLAST_TRACES");
  auto by = distca::run_of(transformer_preset("llama-3.1-8b"), servers);
  if (published) by = distca::published(by);
  by.servers.tolerance = tolerance;
  by.placement = placement;
  double home = 0, after = 0, bytes = 0;
  for (auto const& lengths : data) {
    auto const plan = distca::plan(lengths, by);
    home += over(plan.shards.time.value, plan.time.lower_bound) / batches;
    after += over(plan.time.value, plan.time.lower_bound) / batches;
    bytes += static_cast<double>(plan.attention.bytes_moved) / 1e9 / batches;
  }
  std::size_t at = 0;
  for (auto _ : state) benchmark::DoNotOptimize(distca::plan(data[at++ % data.size()], by));
  state.counters["home_over_bound"] = home;
  state.counters["time_over_bound"] = after;
  state.counters["GB"] = bytes;
}

constexpr quadratic_cost work{.linear = 35873, .quadratic = 1};  // FlexSP's 7B on A100

/// Global batches for four micro-batches of about 117K tokens, as published (7B, 128K, four stages).
wlb::global_batches const& stream(std::string_view name) {
  static std::vector<std::pair<std::string, wlb::global_batches>> known;
  for (auto const& [of, data] : known)
    if (of == name) return data;
  auto const like = std::find_if(long_batches::sets.begin(), long_batches::sets.end(), [&](auto const& s) { return s.name == name; });
  auto data = long_batches::draw(*like, 304, 1200, context);
  for (auto& lengths : data) {
    std::int64_t tokens = 0;
    std::size_t n = 0;
    while (n < lengths.size() && tokens < 4 * 117'000) tokens += lengths[n++];
    lengths.resize(n);
  }
  return known.emplace_back(name, std::move(data)).second;
}
void table_2(benchmark::State& state, std::string_view name, std::function<wlb::replayed(wlb::global_batches const&)> const& packer) {
  auto const& data = stream(name);
  if (data.empty()) return state.SkipWithError("set BALLAST_TRACES");
  auto const run = packer(data);
  for (auto _ : state) benchmark::DoNotOptimize(packer(data));
  state.counters["imbalance"] = static_cast<double>(run.imbalance()) / 1e6;
  state.counters["delay"] = static_cast<double>(run.delay()) / 1e6;
  state.counters["longest_delay"] = static_cast<double>(run.longest_delay());
  state.counters["seconds_per_batch"] =
      benchmark::Counter(static_cast<double>(data.size()), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

/// Micro-batches of WLB-LLM on eight context-parallel ranks: the slowest rank over the bound, for both cuts and the choice.
void cuts(benchmark::State& state, std::string_view name) {
  auto const run = wlb::replay(stream(name), {.micro_batches = 4, .capacity = 196608, .thresholds = {32768, 81920}}, work);
  stepped_tile_time const tile_time{.slow = 5, .fast = 4};
  document_share_options const options{.ranks = 8};
  double by_document = 0, by_sequence = 0, chosen = 0, bound = 0, documents = 0;
  std::vector<lengths_t> micro_batches;
  for (auto const& s : run.steps)
    for (std::size_t m = 0; m < 4; ++m) {
      auto const first = s.lengths.begin() + static_cast<std::ptrdiff_t>(s.micro_batches.offsets[m]);
      micro_batches.emplace_back(first, first + static_cast<std::ptrdiff_t>(s.micro_batches[m].size()));
      auto const cut = document_shares(micro_batches.back(), options, tile_time);
      by_document += static_cast<double>(cut.per_document);
      by_sequence += static_cast<double>(cut.per_sequence);
      chosen += static_cast<double>(cut.shards.time.value);
      bound += static_cast<double>(cut.shards.time.lower_bound);
      documents += cut.chosen == share_cut::per_document;
    }
  std::size_t at = 0;
  for (auto _ : state) benchmark::DoNotOptimize(document_shares(micro_batches[at++ % micro_batches.size()], options, tile_time));
  state.counters["per_document"] = by_document / bound;
  state.counters["per_sequence"] = by_sequence / bound;
  state.counters["chosen"] = chosen / bound;
  state.counters["cut_per_document"] = documents / static_cast<double>(micro_batches.size());
}

int const registered = [] {
  for (auto const* name : {"wlb", "mooncake", "prolong", "wiki"})
    for (auto const servers : {std::size_t{64}, std::size_t{256}}) {
      auto const of = std::string(name) + "/servers:" + std::to_string(servers);
      benchmark::RegisterBenchmark(("filling/" + of + "/whole_documents").c_str(), whole_documents, name, servers);
      benchmark::RegisterBenchmark(("filling/" + of + "/published/tolerance:100").c_str(), fill, name, servers, filling::one_sided,
                                   attention_cut::head_and_tail, 100);
      for (auto const cut : {attention_cut::head_and_tail, attention_cut::window})
        for (std::int64_t const tolerance : {100, 10, 5, 0})
          benchmark::RegisterBenchmark(
              ("filling/" + of + (cut == attention_cut::window ? "/windows" : "/ends") + "/tolerance:" + std::to_string(tolerance)).c_str(),
              fill, name, servers, filling::two_sided, cut, tolerance);
      for (auto const placement : {distca::placement::head_and_tail, distca::placement::in_order})
        for (auto const published : {true, false})
          benchmark::RegisterBenchmark(("distca/" + of + (placement == distca::placement::in_order ? "/in_order" : "/head_and_tail") +
                                        (published ? "/published/tolerance:100" : "/two_sided/tolerance:5"))
                                           .c_str(),
                                       step_time, name, servers, published, published ? 100 : 5, placement);
    }
  for (auto const published : {true, false})  // what a tolerance saves and costs
    for (std::int64_t const tolerance : {0, 5, 50, 100, 150, 200})
      benchmark::RegisterBenchmark(((published ? "tolerance/published:" : "tolerance/two_sided:") + std::to_string(tolerance)).c_str(),
                                   step_time, "wlb", 64, published, tolerance, distca::placement::head_and_tail);
  wlb::options const fixed{.micro_batches = 4, .capacity = context, .thresholds = {}};
  auto const add = [](std::string const& row, std::function<wlb::replayed(wlb::global_batches const&)> const& packer) {
    for (auto const* name : {"wlb", "mooncake"})
      benchmark::RegisterBenchmark(("table_2/" + std::string(name) + "/" + row).c_str(), table_2, name, packer)
          ->Unit(benchmark::kMillisecond);
  };
  add("original", [=](auto const& data) { return pack_in_order(data, fixed, work); });
  for (auto const window : {std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{8}})
    add("window:" + std::to_string(window), [=](auto const& data) { return repack_windows(data, fixed, work, window); });
  for (auto const& thresholds : {std::vector<std::int64_t>{16384}, {65536}, {32768, 81920}, {24576, 57344, 98304}}) {
    std::string name = "queues";
    for (auto const t : thresholds) name += ":" + std::to_string(t / 1024) + "K";
    add(name,
        [=](auto const& data) { return wlb::replay(data, {.micro_batches = 4, .capacity = 196608, .thresholds = thresholds}, work); });
  }
  for (auto const* name : {"wlb", "mooncake"}) benchmark::RegisterBenchmark(("cuts/" + std::string(name)).c_str(), cuts, name);
  return 0;
}();

}  // namespace
