// SPDX-License-Identifier: Apache-2.0
// Online dynamic batching (ODB, arXiv 2606.19989) beside fixed batches and packing, on the same lengths: 8 ranks, batches of at most 16K
// tokens, longer samples cut to 16K. Counters: `padding` is the share of tokens that are padding, `fill` the real tokens over 16K for each
// rank and step, `slow` the cost of the slowest rank of each step over the mean (a model of hidden size 4096; an idle rank counts),
// `peak` the largest batch over 16K, `steps` per thousand samples, `delay` the largest number of rounds that a sample waited.
#include "planning/distributions.hpp"

#include <ballast/batching/plan_steps.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/methods/odb_stream.hpp>
#include <ballast/packing/windowed.hpp>

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

constexpr std::uint64_t ranks = 8, buffer = 256;
constexpr std::int64_t budget = 16384;
constexpr std::size_t samples = 100'000;

lengths_t lengths_of(std::string_view name) {
  auto const all = ballast_cli::distributions();
  auto const like = std::find_if(all.begin(), all.end(), [&](auto const& d) { return d.name == name; });
  auto const rows = ballast_cli::draw(*like, samples, 1);
  lengths_t lengths;
  for (std::size_t i = 0; i < rows.size(); i += like->columns.size()) lengths.push_back((std::min)(rows[i], budget));
  return lengths;
}

/// Batches in the order of step, then rank.
void report(benchmark::State& state, groups<> const& batches, lengths_t const& lengths, bool padded) {
  std::int64_t real = 0, with_padding = 0, peak = 0;
  double slowest = 0, cost = 0;
  for (std::size_t first = 0; first < batches.size(); first += ranks) {
    double slow = 0;
    for (auto b = first; b < (std::min)(first + ranks, batches.size()); ++b) {
      std::int64_t tokens = 0, longest = 0;
      double price = 0;
      for (auto const i : batches[b]) {
        tokens += lengths[i];
        longest = (std::max)(longest, lengths[i]);
        price += static_cast<double>(dense_4096_cost(lengths[i]));
      }
      auto const count = static_cast<std::int64_t>(batches[b].size()), held = padded ? longest * count : tokens;
      if (padded) price = static_cast<double>(count) * static_cast<double>(dense_4096_cost(longest));
      real += tokens;
      with_padding += held;
      peak = (std::max)(peak, held);
      slow = (std::max)(slow, price);
      cost += price;
    }
    slowest += slow;
  }
  auto const steps = static_cast<double>((batches.size() + ranks - 1) / ranks);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(lengths.size()));
  state.counters["padding"] = 1 - static_cast<double>(real) / static_cast<double>(with_padding);
  state.counters["fill"] = static_cast<double>(real) / (steps * static_cast<double>(ranks) * static_cast<double>(budget));
  state.counters["slow"] = slowest * static_cast<double>(ranks) / cost;
  state.counters["peak"] = static_cast<double>(peak) / static_cast<double>(budget);
  state.counters["steps"] = steps * 1000 / static_cast<double>(lengths.size());
}

/// Batches of `each` samples in the order of the data.
void fixed(benchmark::State& state, char const* name, std::size_t each) {
  auto const lengths = lengths_of(name);
  groups<> batches;
  for (auto _ : state) {
    batches.clear();
    std::vector<std::uint32_t> batch;
    for (std::uint32_t i = 0; i < lengths.size(); ++i) {
      batch.push_back(i);
      if (batch.size() < each && i + 1 < lengths.size()) continue;
      batches.push_back(batch);
      batch.clear();
    }
  }
  report(state, batches, lengths, true);
}
void dynamic(benchmark::State& state, char const* name, odb::keeping keep, std::uint64_t slots) {
  auto const lengths = lengths_of(name);
  odb::epoch<> plan;
  for (auto _ : state) plan = odb::plan_epoch(lengths, ranks, {.budget = budget, .buffer = buffer, .keep = keep}, slots);
  report(state, plan.batches, lengths, true);
  state.counters["delay"] = static_cast<double>(*std::max_element(plan.delays.begin(), plan.delays.end()));
}
/// Packs of the samples that all ranks hold in their buffers, in the order in which they are made.
void packed(benchmark::State& state, char const* name) {
  auto const lengths = lengths_of(name);
  groups<> packs;
  for (auto _ : state) packs = windowed_best_fit_decreasing(lengths, ranks * buffer, {.capacity = budget}).packs;
  report(state, packs, lengths, false);
}
/// Steps of the whole epoch, whose lengths are known before.
void planned(benchmark::State& state, char const* name) {
  auto const lengths = lengths_of(name);
  batching<> plan;
  for (auto _ : state) plan = plan_steps(lengths, {.capacity = budget, .ranks = ranks, .left_over = left_over::shorten}, dense_4096_cost);
  groups<> batches;
  for (auto const p : plan.table) batches.push_back(p == plan.none ? std::span<std::uint32_t const>() : plan.packs[p]);
  report(state, batches, lengths, false);
}

int const registered = [] {
  constexpr auto all = ~std::uint64_t{0};
  for (auto const* name : {"chat-sft", "long-context-sft", "vlm-sft", "wlb"}) {
    auto const on = [&](char const* method) { return std::string(method) + "/" + name; };
    for (auto const each : {std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{8}})
      benchmark::RegisterBenchmark((on("fixed") + "/samples:" + std::to_string(each)).c_str(), fixed, name, each);
    benchmark::RegisterBenchmark(on("odb").c_str(), dynamic, name, odb::keeping::most_samples, all);
    benchmark::RegisterBenchmark((on("odb") + "/slots:4").c_str(), dynamic, name, odb::keeping::most_samples, 4);
    benchmark::RegisterBenchmark((on("odb_oldest") + "/slots:4").c_str(), dynamic, name, odb::keeping::oldest, 4);
    benchmark::RegisterBenchmark(on("packed").c_str(), packed, name);
    benchmark::RegisterBenchmark(on("plan_steps").c_str(), planned, name);
  }
  return 0;
}();

}  // namespace
