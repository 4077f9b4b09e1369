// SPDX-License-Identifier: Apache-2.0
// The packers of ms-swift beside ours: packs over the lower bound (`over`, in percent) of published distributions. `windows` is best fit on
// windows of 1,000 samples, `sequential` is next fit, `grouped` is no packing: samples sorted by length, padded to the longest of each
// batch of 8 (`group_by_length`); its `over` is that of the padded tokens.
#include "planning/distributions.hpp"

#include <ballast/methods/swift.hpp>
#include <ballast/packing/next_fit.hpp>
#include <ballast/packing/pack.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string_view>
#include <vector>

namespace {

constexpr std::uint64_t samples = 100'000;

std::vector<std::int64_t> lengths_like(std::string_view name, std::int64_t capacity) {
  std::vector<std::int64_t> out;
  for (auto const& d : ballast_cli::distributions())
    if (d.name == name) {
      auto const rows = ballast_cli::draw(d, samples, 1);
      for (std::size_t i = 0; i < rows.size(); i += d.columns.size())
        out.push_back(std::clamp(std::accumulate(rows.begin() + static_cast<std::ptrdiff_t>(i),
                                                 rows.begin() + static_cast<std::ptrdiff_t>(i + d.columns.size()), std::int64_t{0}),
                                 std::int64_t{1}, capacity));
    }
  return out;
}

template <class Pack>
void measure(benchmark::State& state, char const* name, std::int64_t capacity, Pack const& pack) {
  auto const lengths = lengths_like(name, capacity);
  if (lengths.empty()) return state.SkipWithError("no such distribution");
  auto const bound = static_cast<double>(ballast::pack(lengths, {.capacity = capacity}).count.lower_bound);
  double packs = 0;
  for (auto _ : state) packs = static_cast<double>(pack(lengths, capacity));
  state.counters["over"] = 100 * (packs / bound - 1);
}

void ours(benchmark::State& state, char const* name, std::int64_t capacity) {
  measure(state, name, capacity, [](auto const& l, std::int64_t c) { return ballast::pack(l, {.capacity = c}).packs.size(); });
}
void windows(benchmark::State& state, char const* name, std::int64_t capacity) {
  measure(state, name, capacity, [](auto const& l, std::int64_t c) { return ballast::swift::pack_in_windows(l, c).size(); });
}
void sequential(benchmark::State& state, char const* name, std::int64_t capacity) {
  measure(state, name, capacity, [](auto const& l, std::int64_t c) { return ballast::next_fit(l, {.capacity = c}).packs.size(); });
}
void grouped(benchmark::State& state, char const* name, std::int64_t capacity) {
  measure(state, name, capacity, [](auto l, std::int64_t c) {
    std::sort(l.begin(), l.end(), std::greater<>());
    std::int64_t padded = 0;
    for (std::size_t i = 0; i < l.size(); i += 8) padded += l[i] * static_cast<std::int64_t>((std::min)(std::size_t{8}, l.size() - i));
    return static_cast<double>(padded) / static_cast<double>(c);
  });
}

#define BALLAST_ROWS(name, file, capacity)                                            \
  BENCHMARK_CAPTURE(ours, name, file, capacity)->Unit(benchmark::kMillisecond);       \
  BENCHMARK_CAPTURE(windows, name, file, capacity)->Unit(benchmark::kMillisecond);    \
  BENCHMARK_CAPTURE(sequential, name, file, capacity)->Unit(benchmark::kMillisecond); \
  BENCHMARK_CAPTURE(grouped, name, file, capacity)->Unit(benchmark::kMillisecond)
BALLAST_ROWS(vlm_sft, "vlm-sft", 4096);
BALLAST_ROWS(chat_sft, "chat-sft", 8192);
BALLAST_ROWS(reasoning_rollouts, "reasoning-rollouts", 32768);
#undef BALLAST_ROWS

}  // namespace
