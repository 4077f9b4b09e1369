// SPDX-License-Identifier: Apache-2.0
// Devices of two kinds, half of them 2.5 times as fast as the others (312 and 125 TFLOP/s): shares of equal units beside Whale's rule, and
// samples of unequal cost beside the same ranks taken to be alike. `time` is that of the slowest device over the lower bound.
#include <ballast/balance/balance_unequal.hpp>
#include <ballast/balance/share_units.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/methods/whale.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

constexpr ballast::quadratic_cost work{16'384, 1};

/// Devices whose slower half has room for `share` percent of an even share; 0: no limit.
ballast::unequal_options devices(std::int64_t count, std::int64_t units, std::int64_t share) {
  ballast::unequal_options out;
  for (std::int64_t s = 0; s < count; ++s) {
    out.unit_time.push_back(s < count / 2 ? 400 : 1000);
    if (share != 0) out.capacity.push_back(s % 2 == 0 ? units : units * share / (100 * count));
  }
  return out;
}

void shares(benchmark::State& state, bool whale) {
  auto const units = std::int64_t{4096};
  auto const options = devices(state.range(0), units, state.range(1));
  ballast::unit_shares plan;
  for (auto _ : state) plan = whale ? ballast::whale::share_units(units, options) : ballast::share_units(units, options);
  state.counters["time"] =
      static_cast<double>(plan.time.value) / static_cast<double>(ballast::share_units(units, options).time.lower_bound);
}

void samples(benchmark::State& state, bool alike) {
  ballast::splitmix64 random(1);
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(state.range(1)));
  for (auto& x : lengths) x = 1 + static_cast<std::int64_t>(random() % (random() % 32 == 0 ? 16'384 : 2'048));
  auto const options = devices(state.range(0), 0, 0);
  auto as_planned = options;
  if (alike) std::fill(as_planned.unit_time.begin(), as_planned.unit_time.end(), 1);
  ballast::unequal_sets<> plan;
  for (auto _ : state) plan = ballast::balance_unequal(lengths, as_planned, work);
  std::int64_t slowest = 0;
  for (std::size_t s = 0; s < plan.sets.size(); ++s) {
    std::int64_t load = 0;
    for (auto const i : plan.sets[s]) load += work(lengths[i]);
    slowest = (std::max)(slowest, load * options.unit_time[s]);
  }
  state.counters["time"] =
      static_cast<double>(slowest) / static_cast<double>(ballast::balance_unequal(lengths, options, work).time.lower_bound);
}

BENCHMARK_CAPTURE(shares, water_filling, false)->ArgsProduct({{16, 256}, {0, 40}});
BENCHMARK_CAPTURE(shares, whale, true)->ArgsProduct({{16, 256}, {0, 40}});
BENCHMARK_CAPTURE(samples, by_speed, false)->ArgsProduct({{16, 256}, {512, 4096}});
BENCHMARK_CAPTURE(samples, as_if_alike, true)->ArgsProduct({{16, 256}, {512, 4096}});

}  // namespace
