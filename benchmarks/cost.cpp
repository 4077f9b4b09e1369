// SPDX-License-Identifier: Apache-2.0
// What a cost model costs to ask: attention tiles in closed form beside the loop over rows of tiles, and the other models, over the same
// lengths.
//
// Lengths: 16 … 131072, log-uniform. `checksum` is the sum of the costs modulo 2^32: equal for the closed form and the loop.
#include <ballast/core/random.hpp>
#include <ballast/cost.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

using namespace ballast;

std::vector<std::int64_t> const& lengths() {
  static auto const made = [] {
    std::vector<std::int64_t> out(4096);
    splitmix64 draw(7);
    for (auto& l : out) {
      auto const octave = std::uint64_t{16} << uniform_below(13, draw);
      l = static_cast<std::int64_t>(octave + uniform_below(octave, draw));
    }
    return out;
  }();
  return made;
}

struct tiles_by_loop {
  attention_tiles tiles;
  std::int64_t operator()(std::int64_t length) const {
    std::int64_t sum = 0;
    for (std::int64_t row = 0; row * tiles.rows < length; ++row) {
      auto const end = ((std::min)(length, (row + 1) * tiles.rows) + tiles.columns - 1) / tiles.columns;
      auto const begin = tiles.window > 0 ? (std::max)(std::int64_t{0}, row * tiles.rows - tiles.window + 1) / tiles.columns : 0;
      sum += end - begin;
    }
    return sum;
  }
};

template <class Cost>
void cost_of(benchmark::State& state, Cost cost) {
  auto const& all = lengths();
  std::uint64_t sum = 0;
  for (auto _ : state) {
    sum = 0;
    for (auto l : all) sum += static_cast<std::uint64_t>(cost(l));
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(all.size()));
  state.counters["checksum"] = static_cast<double>(sum & 0xffffffffU);
}

constexpr attention_tiles causal{}, oblong{.rows = 80, .columns = 128}, windowed{.window = 4096};
BENCHMARK_CAPTURE(cost_of, tiles_causal_loop, tiles_by_loop{causal});
BENCHMARK_CAPTURE(cost_of, tiles_causal, causal);
BENCHMARK_CAPTURE(cost_of, tiles_oblong_loop, tiles_by_loop{oblong});
BENCHMARK_CAPTURE(cost_of, tiles_oblong, oblong);
BENCHMARK_CAPTURE(cost_of, tiles_windowed_loop, tiles_by_loop{windowed});
BENCHMARK_CAPTURE(cost_of, tiles_windowed, windowed);
BENCHMARK_CAPTURE(cost_of, quadratic, quadratic_cost{.linear = 57257, .quadratic = 1});
BENCHMARK_CAPTURE(cost_of, sample_cost, sample_cost(transformer_preset("llama-3.1-8b")));
BENCHMARK_CAPTURE(cost_of, table, cost_table({64, 256, 1024, 4096, 16384, 65536}, {28, 37, 133, 1055, 13503, 206287}));

}  // namespace
