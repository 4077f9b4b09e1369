// SPDX-License-Identifier: Apache-2.0
// Experts of a layer on ranks: copies planned by balance_replicated, beside EPLB with the same slots, and beside placements without copies:
// longest processing time first, and dealt in turn. `over_bound` is the mean over 16 layers of the largest load over the lower bound of the
// placements with copies.
#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/balance/replicated.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/expected_loads.hpp>
#include <ballast/methods/eplb.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace {

using rows_t = std::vector<std::int64_t>;

struct setting {
  std::int64_t experts;
  ballast::replication_options options;
};
setting const settings[] = {{64, {.ranks = 16, .slots = 80}},
                            {256, {.ranks = 32, .slots = 288, .nodes = 4, .groups = 8}},
                            {256, {.ranks = 64, .slots = 320, .nodes = 8}},
                            {256, {.ranks = 64, .slots = 320, .nodes = 8, .groups = 8}},
                            {16, {.ranks = 8, .slots = 24, .nodes = 2, .groups = 4}}};

/// 16 layers: 131,072 rows, each at an expert of a Zipf router whose exponent is `halves` / 2, the experts in a random order.
std::vector<rows_t> layers_of(std::int64_t experts, std::int64_t halves) {
  ballast::splitmix64 draw(17);
  auto const chances = ballast::zipf_chances(experts, halves);
  std::vector<std::int64_t> below(chances.size());
  std::partial_sum(chances.begin(), chances.end(), below.begin());
  std::vector<rows_t> out;
  for (std::uint64_t l = 0; l < 16; ++l) {
    auto const place = ballast::random_permutation(chances.size(), l);
    auto& layer = out.emplace_back(chances.size());
    for (int row = 0; row < 131'072; ++row) {
      auto const at = static_cast<std::int64_t>(ballast::uniform_below(ballast::certain, draw));
      ++layer[place[static_cast<std::size_t>(std::upper_bound(below.begin(), below.end(), at) - below.begin())]];
    }
  }
  return out;
}

std::int64_t bound_of(setting const& of, std::int64_t halves, std::size_t layer) {
  static std::map<std::pair<setting const*, std::int64_t>, std::vector<std::int64_t>> known;
  auto& bounds = known[{&of, halves}];
  if (bounds.empty())
    for (auto const& rows : layers_of(of.experts, halves)) bounds.push_back(ballast::balance_replicated(rows, of.options).load.lower_bound);
  return bounds[layer];
}

/// Runs `place(rows, options)`, which returns the largest load in units.
template <class Place>
void run(benchmark::State& state, Place const& place) {
  auto const& of = settings[state.range(0)];
  auto const halves = state.range(1);
  auto const layers = layers_of(of.experts, halves);
  std::vector<std::int64_t> largest(layers.size());
  for (auto _ : state)
    for (std::size_t l = 0; l < layers.size(); ++l) {
      largest[l] = place(layers[l], of.options);
      benchmark::ClobberMemory();
    }
  double ratio = 0, best = 0;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    auto const bound = bound_of(of, halves, l);
    ratio += static_cast<double>(largest[l]) / static_cast<double>(bound) / 16;
    best += largest[l] == bound ? 1 : 0;
  }
  state.counters["over_bound"] = ratio;
  state.counters["at_bound"] = best;
  state.SetItemsProcessed(state.iterations() * 16);  // layers
}

void planned(benchmark::State& state) {
  run(state, [](auto const& rows, auto const& options) { return ballast::balance_replicated(rows, options).load.value; });
}
void planned_at_one_percent(benchmark::State& state) {
  run(state, [](auto const& rows, auto const& options) {
    return ballast::balance_replicated(rows, options, {.work = 1'000'000, .gap = 0.01}).load.value;
  });
}
void eplb(benchmark::State& state) {
  run(state, [](auto const& rows, auto const& options) {
    return ballast::eplb::largest_load(ballast::eplb::place(rows, options), rows, options.ranks);
  });
}
void longest_processing_time_without_copies(benchmark::State& state) {
  run(state, [](auto const& rows, auto const& options) {
    return ballast::row_units * ballast::longest_processing_time(rows, {.sets = options.ranks, .equal_counts = true}).load.value;
  });
}
void in_turn_without_copies(benchmark::State& state) {
  run(state, [](auto const& rows, auto const& options) {
    rows_t loads(static_cast<std::size_t>(options.ranks));
    for (std::size_t e = 0; e < rows.size(); ++e) loads[e % loads.size()] += rows[e];
    return ballast::row_units * *std::max_element(loads.begin(), loads.end());
  });
}

void all(benchmark::internal::Benchmark* of) {
  of->ArgNames({"setting", "halves"})->Unit(benchmark::kMillisecond);
  for (int s = 0; s < 5; ++s)
    for (int const halves : {0, 1, 2}) of->Args({s, halves});
}
BENCHMARK(planned)->Apply(all);
BENCHMARK(planned_at_one_percent)->Apply(all);
BENCHMARK(eplb)->Apply(all);
BENCHMARK(longest_processing_time_without_copies)->Apply(all);
BENCHMARK(in_turn_without_copies)->Apply(all);

}  // namespace
