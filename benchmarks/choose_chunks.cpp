// SPDX-License-Identifier: Apache-2.0
// The (ChunkSize, K) search: 20 batches of 256 conversations of at most 256K tokens (`chat-sft`), 16 batches of 128 documents (`wlb`), on
// pipelines of 4 stages, or on one. A stage has room for the activations of 64K or 128K tokens, keys and values take a fiftieth of that.
// The fixed time of a chunk is given in tokens: the time of a forward of that many tokens without attention. Times are modelled.
// Counters: `published_setting` compares the three settings of ChunkFlow, `ratio` is the time over that of (8K, 4); `search` compares the
// setting found with (8K, 4), or with K = 1 and the largest chunk that fits, which is ChunkFlow's rule without a pipeline.
#include "planning/distributions.hpp"

#include <ballast/chunks/choose_chunks.hpp>
#include <ballast/cost/polynomial.hpp>

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

/// Batches without samples above `longest`.
std::vector<lengths_t> batches_of(std::string_view name, std::size_t batches, std::size_t samples, std::int64_t longest) {
  auto const all = ballast_cli::distributions();
  auto const like = std::find_if(all.begin(), all.end(), [&](auto const& d) { return d.name == name; });
  std::vector<lengths_t> out(batches);
  for (std::size_t b = 0; b < batches; ++b)
    for (auto const l : ballast_cli::draw(*like, 2 * samples, b + 1))
      if (l <= longest && out[b].size() < samples) out[b].push_back(l);
  return out;
}

std::vector<lengths_t> data(bool conversations) {
  return conversations ? batches_of("chat-sft", 20, 256, 262144) : batches_of("wlb", 16, 128, 131072);
}

chunk_choice_options options_of(std::uint64_t stages, std::int64_t room, std::int64_t fixed_tokens) {
  return {.stages = stages,
          .capacity = 50 * room * 1024,
          .work = {.per_chunk = dense_4096_cost.linear * fixed_tokens, .per_token = {.activations = 50, .keys_values = 1}}};
}

void published_setting(benchmark::State& state, bool conversations, std::int64_t room, std::int64_t fixed, std::size_t which) {
  auto o = options_of(4, room, fixed);
  o.settings = {{8192, 4}, {2048, 16}, {32768, 1}};
  double mine = 0, best = 0, peak = 0, infeasible = 0;
  auto const batches = data(conversations);
  for (auto const& lengths : batches) {
    auto const choice = choose_chunks(lengths, o, dense_4096_cost);
    auto const& one = choice.tried[which];
    if (one.status != status::feasible || choice.tried[0].status != status::feasible) {
      ++infeasible;
      continue;
    }
    mine += static_cast<double>(one.time.value);
    best += static_cast<double>(choice.tried[0].time.value);
    peak = (std::max)(peak, static_cast<double>(one.peak) / 50 / 1024);
  }
  std::size_t at = 0;
  for (auto _ : state) benchmark::DoNotOptimize(choose_chunks(batches[at++ % batches.size()], o, dense_4096_cost));
  state.counters["ratio"] = mine / best;
  state.counters["peak_k_tokens"] = peak;
  state.counters["infeasible"] = infeasible;
}

void search(benchmark::State& state, bool conversations, std::uint64_t stages, std::int64_t room, std::int64_t fixed) {
  auto const o = options_of(stages, room, fixed);
  double mine = 0, bound = 0, theirs = 0, size = 0, retained = 0, infeasible = 0;
  auto const batches = data(conversations);
  for (auto const& lengths : batches) {
    auto const choice = choose_chunks(lengths, o, dense_4096_cost);
    auto one = o;
    auto const extent = extent_of(lengths);
    auto const largest = (std::min)(extent.tokens, largest_chunk(extent.longest, o.capacity, o.work.per_token));
    one.settings = {stages == 1 ? chunk_setting{largest, 1} : chunk_setting{8192, 4}};
    auto const published = choose_chunks(lengths, one, dense_4096_cost);
    if (choice.status != status::feasible || published.status != status::feasible) {
      ++infeasible;
      continue;
    }
    mine += static_cast<double>(choice.time.value);
    bound += static_cast<double>(choice.time.lower_bound);
    theirs += static_cast<double>(published.time.value);
    size += static_cast<double>(choice.setting.size) / 1024;
    retained += static_cast<double>(choice.setting.retained);
  }
  std::size_t at = 0;
  for (auto _ : state) benchmark::DoNotOptimize(choose_chunks(batches[at++ % batches.size()], o, dense_4096_cost));
  auto const count = static_cast<double>(batches.size());
  state.counters["over_published"] = mine / theirs;
  state.counters["over_bound"] = mine / bound;
  state.counters["mean_size_k"] = size / count;
  state.counters["mean_retained"] = retained / count;
  state.counters["infeasible"] = infeasible;
}

int const registered = [] {
  for (auto const conversations : {true, false}) {
    auto const name = std::string(conversations ? "chat-sft" : "wlb");
    for (std::int64_t const room : {64, 128})
      for (std::int64_t const fixed : {1, 1024, 1152, 2048, 4096}) {
        auto const at = "/room:" + std::to_string(room) + "K/fixed:" + std::to_string(fixed);
        for (std::size_t which = 0; which < 3; ++which)
          benchmark::RegisterBenchmark(("published_setting/" + name + at +
                                        (which == 0   ? "/8K,4"
                                         : which == 1 ? "/2K,16"
                                                      : "/32K,1"))
                                           .c_str(),
                                       published_setting, conversations, room, fixed, which);
        for (std::uint64_t const stages : {std::uint64_t{1}, std::uint64_t{4}})
          benchmark::RegisterBenchmark(("search/" + name + "/stages:" + std::to_string(stages) + at).c_str(), search, conversations, stages,
                                       room, fixed);
      }
  }
  return 0;
}();

}  // namespace
