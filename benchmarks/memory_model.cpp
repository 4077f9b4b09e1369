// SPDX-License-Identifier: Apache-2.0
// Prints the table of docs/footprint.md: published measurements of memory beside what the library computes for the same runs. Ends with
// status 1 if a row is out of its window.
#include "../tests/support/measured_memory.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
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

}  // namespace

int main() {
  using namespace ballast_test;
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
