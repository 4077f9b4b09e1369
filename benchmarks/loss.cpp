// SPDX-License-Identifier: Apache-2.0
// What a step's weights and loss sums cost and how exact they are, each beside the loop that one would write without the library.
//
// `weights`: a million sequences of 1 … 4096 labels; `plain` is T^-p / sum T^(1-p) with std::pow in double. `sum`: ten million fp32 losses;
// `error` is relative to a compensated long double sum, `agree` is 1 where summing in 1, 7, 64 and 1000 parts gives the same bits.
// `mean_of_means`: per cent by which the mean of micro-batch means is above the mean over tokens, 200 steps of 16 micro-batches with as
// many sequences as the argument says; lengths are lognormal (mu 6, sigma 1.1) in 16 … 4096, a token's loss is 1 + 3 / sqrt(length).
#include <ballast/loss.hpp>

#include "../tests/support/mean_of_means.hpp"

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

using namespace ballast;

std::vector<std::int64_t> const& counts() {
  static auto const made = [] {
    std::vector<std::int64_t> out(1'000'000);
    splitmix64 draw(1);
    for (auto& c : out) c = 1 + static_cast<std::int64_t>(uniform_below(4096, draw));
    return out;
  }();
  return made;
}

// Arguments of the next three: 100 p.
void totals(benchmark::State& state) {
  auto const normaliser = loss_normaliser::length_power(static_cast<double>(state.range(0)) / 100);
  for (auto _ : state) benchmark::DoNotOptimize(loss_totals_of(counts(), normaliser));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(counts().size()));
}
void weights(benchmark::State& state) {
  auto const normaliser = loss_normaliser::length_power(static_cast<double>(state.range(0)) / 100);
  auto const all = loss_totals_of(counts(), normaliser);
  std::vector<double> out(counts().size());
  for (auto _ : state) {
    loss_weights(counts(), all, normaliser, {.ranks = 64}, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(counts().size()));
}
void weights_plain(benchmark::State& state) {
  auto const p = static_cast<double>(state.range(0)) / 100;
  std::vector<double> out(counts().size());
  for (auto _ : state) {
    double sum = 0;
    for (auto c : counts()) sum += std::pow(static_cast<double>(c), 1 - p);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = 64 * std::pow(static_cast<double>(counts()[i]), -p) / sum;
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(counts().size()));
}

std::vector<float> const& losses() {
  static auto const made = [] {
    std::vector<float> out(10'000'000);
    splitmix64 draw(2);
    for (auto& x : out) {
      auto const u = static_cast<double>(draw() >> 11) * 0x1p-53;
      x = static_cast<float>(12 * u * u);
    }
    return out;
  }();
  return made;
}
double exact() {
  static auto const sum = [] {
    long double total = 0, lost = 0;
    for (auto const x : losses()) {
      auto const y = static_cast<long double>(x) - lost, t = total + y;
      lost = t - total - y;
      total = t;
    }
    return static_cast<double>(total);
  }();
  return sum;
}

struct sequential_float {
  float total = 0;
  void add(std::span<float const> xs) {
    for (auto x : xs) total += x;
  }
  void operator+=(sequential_float const& o) { total += o.total; }
  [[nodiscard]] double value() const { return static_cast<double>(total); }
};
struct sequential_double {
  double total = 0;
  void add(std::span<float const> xs) {
    for (auto x : xs) total += static_cast<double>(x);
  }
  void operator+=(sequential_double const& o) { total += o.total; }
  [[nodiscard]] double value() const { return total; }
};
struct kahan_float {
  float total = 0, lost = 0;
  void add(std::span<float const> xs) {
    for (auto x : xs) one(x);
  }
  void operator+=(kahan_float const& o) {
    one(o.total);
    lost += o.lost;
  }
  void one(float x) {
    auto const y = x - lost, t = total + y;
    lost = t - total - y;
    total = t;
  }
  [[nodiscard]] double value() const { return static_cast<double>(total) - static_cast<double>(lost); }
};

template <class Sum>
double in_parts(std::size_t parts) {
  Sum sum;
  for (std::size_t k = 0; k < parts; ++k) {
    auto const first = losses().size() * k / parts, last = losses().size() * (k + 1) / parts;
    Sum part;
    part.add(std::span<float const>(losses()).subspan(first, last - first));
    sum += part;
  }
  return sum.value();
}
template <class Sum>
void sum(benchmark::State& state) {
  auto const reference = exact();
  double found = 0;
  for (auto _ : state) benchmark::DoNotOptimize(found = in_parts<Sum>(1));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(losses().size()));
  state.counters["error"] = std::abs(found - reference) / reference;
  state.counters["agree"] = found == in_parts<Sum>(7) && found == in_parts<Sum>(64) && found == in_parts<Sum>(1000) ? 1 : 0;
}

void mean_of_means(benchmark::State& state) {
  ballast_test::bias bias;
  for (auto _ : state) bias = ballast_test::bias_of_mean_of_means(static_cast<std::size_t>(state.range(0)), 200);
  state.counters["mean"] = 100 * bias.mean;
  state.counters["worst"] = 100 * bias.worst;
}

BENCHMARK(weights_plain)->Arg(0)->Arg(50)->Arg(100)->Arg(30)->Unit(benchmark::kMillisecond);
BENCHMARK(totals)->Arg(0)->Arg(50)->Arg(100)->Arg(30)->Unit(benchmark::kMillisecond);
BENCHMARK(weights)->Arg(0)->Arg(50)->Arg(100)->Arg(30)->Unit(benchmark::kMillisecond);
BENCHMARK(sum<sequential_float>)->Unit(benchmark::kMillisecond);
BENCHMARK(sum<sequential_double>)->Unit(benchmark::kMillisecond);
BENCHMARK(sum<kahan_float>)->Unit(benchmark::kMillisecond);
BENCHMARK(sum<fixed_point_sum<24>>)->Unit(benchmark::kMillisecond);
BENCHMARK(mean_of_means)->Arg(1)->Arg(4)->Arg(16)->Unit(benchmark::kMillisecond);

}  // namespace
