// SPDX-License-Identifier: Apache-2.0
// Prints the tables of docs/memory-model.md and of docs/footprint.md: published measurements of memory beside what the library computes for
// the same runs. Ends with status 1 if a row is out of its window.
#include <ballast/plan/memory_of.hpp>

#include "../tests/support/measured_memory.hpp"
#include "../tests/support/published_peaks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <span>
#include <vector>

namespace {

bool outside = false;

double in_gib(std::int64_t bytes) { return static_cast<double>(bytes) / ballast_test::gib; }

void print(char const* title, std::span<ballast_test::memory_row const> rows) {
  std::printf("%s\n%-60s %8s %8s %8s %8s %9s %9s %8s\n", title, "", "states", "kept", "working", "fixed", "computed", "measured", "error");
  for (auto const& row : rows) {
    auto const of = ballast_test::computed(row);
    auto const error = of.total() / row.measured - 1;
    outside = outside || (row.window > 0 && std::fabs(error) > row.window);
    std::printf("%-60.*s %8.2f %8.2f %8.2f %8.2f %9.2f %9.2f %+6.1f %% %s\n", static_cast<int>(row.name.size()), row.name.data(),
                in_gib(of.states), in_gib(of.kept), in_gib(of.working), in_gib(of.fixed), of.total(), row.measured, 100 * error,
                row.window == 0 ? "outside the model"
                : row.fitted    ? "fitted"
                                : "predicted");
  }
  std::printf("\n");
}

/// The same row by the count that planners use by default, for comparison.
std::int64_t simple_peak(ballast_test::peak_row const& row, bool last) {
  using enum ballast::head_loss::kind;
  auto by = row.by;
  auto& m = by.model;
  m.framework = ballast::framework_named("fused");
  m.kernels = {};
  if (m.loss.how != fused && m.loss.how != chunked) m.loss = {};
  auto const stages = ballast::memory_of(row.model, by);
  return (last ? stages.back() : ballast::largest_of(stages)).peak() + row.fixed;
}

/// Rows of which each part is computed. `last` means that the last stage was measured; otherwise it is the one that needs most.
void print(char const* title, std::span<ballast_test::peak_row const> rows, bool last) {
  std::printf("%s\n%-72s %8s %8s %8s %8s %9s %9s %8s %8s\n", title, "GiB", "states", "kept", "rest", "extra", "computed", "measured",
              "error", "simple");
  std::vector<double> errors, simple;
  for (auto const& row : rows) {
    auto const stages = ballast::memory_of(row.model, row.by, row.hopper);
    auto const& of = last ? stages.back() : ballast::largest_of(stages);
    auto const error = static_cast<double>(of.peak() + row.fixed) / static_cast<double>(row.peak) - 1;
    outside = outside || std::fabs(error) > row.window || (row.below && error > 0);
    errors.push_back(std::fabs(error));
    auto const before = static_cast<double>(simple_peak(row, last)) / static_cast<double>(row.peak) - 1;
    simple.push_back(std::fabs(before));
    auto const extra = of.extra[static_cast<std::size_t>(of.moment)];
    std::printf("%-72.*s %8.3f %8.3f %8.3f %8.3f %9.3f %9.3f %+6.1f %% %+6.0f %% %s", static_cast<int>(row.name.size()), row.name.data(),
                in_gib(of.states), in_gib(of.kept), in_gib(of.workspace + of.inputs + of.gathered + row.fixed), in_gib(extra),
                in_gib(of.peak() + row.fixed), in_gib(row.peak), 100 * error, 100 * before, to_string(of.moment).data());
    if (row.between_steps > 0) {
      auto const between = static_cast<double>(of.between_steps()) / static_cast<double>(row.between_steps) - 1;
      outside = outside || std::fabs(between) > row.window_between;
      std::printf(", between steps %+.1f %%", 100 * between);
    }
    std::printf("\n");
  }
  std::sort(errors.begin(), errors.end());
  std::sort(simple.begin(), simple.end());
  std::printf("median error %.1f %%, worst %.1f %%; simple count: %.1f %%, worst %.1f %%\n\n", 100 * errors[errors.size() / 2],
              100 * errors.back(), 100 * simple[simple.size() / 2], 100 * simple.back());
}

/// Processor time of a question, the least of seven runs.
void print_times(std::span<ballast_test::peak_row const> rows) {
  std::printf("%-72s %8s\n", "a question of memory_of", "us");
  for (auto const& row : rows) {
    constexpr int count = 1000;
    double least = 1e9;
    std::int64_t sum = 0;
    for (int i = 0; i < 7; ++i) {
      auto const begin = std::clock();
      for (int k = 0; k < count; ++k) sum += ballast::memory_of(row.model, row.by, row.hopper).back().kept;
      least = (std::min)(least, static_cast<double>(std::clock() - begin) * 1e6 / CLOCKS_PER_SEC / count);
    }
    std::printf("%-72.*s %8.2f%s\n", static_cast<int>(row.name.size()), row.name.data(), least, sum > 0 ? "" : " (nothing is kept)");
  }
  std::printf("\n");
}

}  // namespace

int main() {
  using namespace ballast_test;
  auto const small = megatron_peaks(), large = bridge_peaks();
  print("Megatron-LM's functional tests, the last of 8 ranks", small, true);
  print("Megatron-Bridge on H100, the stage that needs most", large, false);
  print("torchtune on one GPU, and fsdp_qlora on two", torchtune_peaks(), false);
  print("litgpt on one A10G", litgpt_peaks(), false);
  print("torchtitan on H100 with 96 GB, reserved bytes", torchtitan_peaks(), false);
  print("Qwen on one GPU, totals of the process with 4 GiB of its own", qwen_totals(), false);
  print_times(large);
  std::printf("GiB on a device. \"fitted\": a constant of the model was fitted to this row, or to a group of rows with it.\n\n");
  print("torchtitan, 96 GB H100", torchtitan_rows());
  print("ms-swift with Megatron", megatron_swift_rows());
  print("ms-swift with DeepSpeed and Hugging Face", deepspeed_swift_rows());
  print("SWIFT, Qwen-7B-Chat, LoRA, one A100", swift_rows());
  auto const chunks = chunkflow_rows();
  print("ChunkFlow, Qwen2.5-7B, TP 4", chunks);
  auto const slope = (computed(chunks[2]).total() - computed(chunks[0]).total()) / 3;
  std::printf("slope: %.2f GiB per 2,048 tokens, measured 5.9: %+.1f %% fitted\n\n", slope, 100 * (slope / 5.9 - 1));
  outside = outside || std::fabs(slope / 5.9 - 1) > 0.15;

  std::printf("HBP, LLaMA-3.1-8B, 32 H100 of 80 GB, ZeRO-3: fewest recomputed layers of 32\n%12s %9s %9s\n", "tokens", "computed",
              "measured");
  auto const capacity = ballast::device_named("h100").memory_bytes;
  struct {
    std::int64_t tokens, measured;
  } const published[]{{16384, 28}, {8192, 23}, {4096, 8}, {2048, 0}};
  for (auto const& p : published) {
    auto const least = least_recomputed(hbp_row(p.tokens), capacity);
    std::printf("%12lld %9lld %9lld fitted\n", static_cast<long long>(p.tokens), static_cast<long long>(least),
                static_cast<long long>(p.measured));
    outside = outside || (p.tokens == 16384 && (least < 27 || least > 29));
  }
  return outside ? 1 : 0;
}
