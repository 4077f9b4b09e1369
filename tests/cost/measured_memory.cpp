// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/device.hpp>
#include <ballast/cost/transformer.hpp>

#include "support/catch.hpp"
#include "support/measured_memory.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

// The states, activations and working sets of layers against published measurements: the table of docs/footprint.md.

namespace test_cost_measured_memory {

namespace {

using namespace ballast;
using namespace ballast_test;

void check_windows(std::vector<memory_row> const& rows) {
  for (auto const& row : rows) {
    auto const of = computed(row).total();
    CAPTURE(std::string(row.name), of, row.measured);
    CHECK((row.window == 0 || std::fabs(of / row.measured - 1) <= row.window));
  }
}

}  // namespace

TEST_CASE("measured memory: torchtitan, ms-swift, SWIFT and ChunkFlow") {
  CHECK(parameters(qwen3_8b) == 8'190'735'360);
  CHECK(parameters(qwen3_14b) == 14'768'307'200);
  CHECK(tower_of_qwen2 == 676'550'144);
  check_windows(torchtitan_rows());
  check_windows(megatron_swift_rows());
  check_windows(deepspeed_swift_rows());
  check_windows(swift_rows());
  check_windows(chunkflow_rows());
}

TEST_CASE("measured memory: the constant of all rows is what three of them leave") {
  double left = 0;
  int rows = 0;
  for (auto const& row : megatron_swift_rows())
    if (row.fitted) {
      left += row.measured - computed(row).total() + static_cast<double>(fixed_bytes) / gib;
      ++rows;
    }
  CHECK(rows == 3);
  CHECK(std::round(left / rows) * gib == static_cast<double>(fixed_bytes));
}

TEST_CASE("measured memory: ChunkFlow's slope") {
  auto const rows = chunkflow_rows();
  auto const slope = (computed(rows[2]).total() - computed(rows[0]).total()) / 3;
  CHECK(std::fabs(slope / 5.9 - 1) <= 0.15);
}

TEST_CASE("measured memory: the layers that HBP recomputes") {
  auto const capacity = device_named("h100").memory_bytes;
  CHECK(std::abs(least_recomputed(hbp_row(16384), capacity) - 28) <= 1);
  CHECK(std::abs(least_recomputed(hbp_row(4096), capacity) - 8) <= 1);
  CHECK(least_recomputed(hbp_row(2048), capacity) == 0);
}

TEST_CASE("measured memory: a stored attention score has five bytes") {
  // SWIFT without recomputation, with a fused kernel and without: Korthikanti's 5 a s^2 b
  auto const rows = swift_rows();
  auto const difference = (rows[7].measured - rows[6].measured) * gib / 32;
  CHECK(std::fabs(difference / (32.0 * 2048 * 2048) - 5) < 0.01);
}

}  // namespace test_cost_measured_memory
