// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/device.hpp>
#include <ballast/cost/kernel_rates.hpp>
#include <ballast/cost/kernel_time.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace test_cost_kernel_time {

using namespace ballast;
using ballast_test::refusal;

namespace {
constexpr auto h100 = device_named("h100"), a100 = device_named("a100");
constexpr auto hopper = kernels_named("h100-te-bf16"), ampere = kernels_named("a100-te-bf16");

/// Whether a time is that many microseconds, within a thousandth.
bool is(std::int64_t ps, double us) { return std::fabs(static_cast<double>(ps) / 1e6 / us - 1) < 1e-3; }
}  // namespace

TEST_CASE("kernel_time: a scan takes the longer of its products and its bytes") {
  state_space const mamba2{.layers = {0}, .heads = 128, .head_width = 64, .state = 128, .groups = 8};
  // x three times, B and C, float32 states of chunks written and read and once more in 16 bits, C B^T, decays
  auto const bytes = 6.0 * 8192 + 24 * 128 + 8 * 8 * (128 + 256) + 12.0 * 8192 * 128 / 256;
  CHECK(is(scan_time(mamba2, 16384, 1, h100, hopper).forward, 16384 * bytes / static_cast<double>(memory_rate(h100, hopper)) * 1e6));
  CHECK(scan_time(mamba2, 16384, 1, h100, hopper).backward >= 2 * scan_time(mamba2, 16384, 1, h100, hopper).forward);
  auto wide = mamba2;  // states as wide as in no model: products take longer
  wide.state = 2048, wide.chunk = 8192;
  auto const flops = 8193.0 * (8 * 2048 + 8192) + 4.0 * 8192 * 2048;
  auto const rate = static_cast<double>(h100.bf16_flops) * static_cast<double>(hopper.gemm) / 1000;
  CHECK(is(scan_time(wide, 1024, 1, h100, hopper).forward, 1024 * flops / rate * 1e6));
  CHECK(is(scan_time(wide, 1024, 4, h100, hopper).forward, 1024 * flops / rate * 1e6 / 4));
  state_space const mamba1{.layers = {0}, .heads = 8192, .state = 16, .step_rank = 256};
  CHECK(is(scan_time(mamba1, 16384, 1, h100, hopper).forward, 16384 * 7.0 * 8192 * 16 * 32 / rate * 1e6));
  CHECK(scan_time(mamba2, 0, 1, h100, hopper) == pass_time{});
}

TEST_CASE("kernel_time: matrix products of a prototype in floating point") {
  struct row {
    gemm_shape of;
    double h100_us, a100_us;
  };
  row const rows[] = {
      {{.m = 8192, .n = 8192, .k = 8192}, 1656.8, 4437.2}, {{.m = 4096, .n = 4096, .k = 4096}, 214.2, 618.5},
      {{.m = 2048, .n = 4096, .k = 4096}, 107.1, 332.5},   {{.m = 512, .n = 4096, .k = 4096}, 28.8, 118.0},
      {{.m = 4096, .n = 128, .k = 8192}, 26.5, 76.0},      {{.m = 2048, .n = 3072, .k = 4096, .groups = 16}, 1273.1, 3416.0}};
  for (auto const& r : rows) {
    auto const loose = r.h100_us < 100 ? 2e-3 : 1e-3;  // printed with one digit behind the point
    CHECK(std::fabs(static_cast<double>(gemm_time(r.of, h100, hopper)) / 1e6 / r.h100_us - 1) < loose);
    CHECK(is(gemm_time(r.of, a100, ampere), r.a100_us));
  }
}

TEST_CASE("kernel_time: rings of a prototype in floating point") {
  auto const links = links_of(h100);
  CHECK(is(ring_time(64 << 20, {8, 1}, links, hopper), 173.1));
  CHECK(is(ring_time(64 << 20, {64, 1}, links, hopper), 219.5));
  CHECK(is(ring_time(1 << 30, {64, 1}, links, hopper), 2972));
  CHECK(ring_time(1 << 30, {1, 1}, links, hopper) == 0);
  CHECK(ring_time(1 << 30, {64, 1}, {}, hopper) == 0);
  // ranks that are a node apart have one adapter each; eight neighbours have eight
  CHECK(ring_time(1 << 30, {8, 8}, links, hopper) > 7 * ring_time(1 << 30, {8, 1}, links, hopper));
}

TEST_CASE("kernel_time: a product takes no less than its FLOPs at the share, nor than its bytes") {
  for (std::int64_t m : {1, 64, 1000, 4096, 70000})
    for (std::int64_t n : {1, 128, 3000, 16384})
      for (std::int64_t k : {1, 500, 8192})
        for (auto const fp8 : {false, true}) {
          gemm_shape const of{.m = m, .n = n, .k = k, .fp8 = fp8};
          auto const time = gemm_time(of, h100, hopper);
          auto const rate = 1e-15 * (fp8 ? 690.0 * static_cast<double>(h100.fp8_flops) : 718.0 * static_cast<double>(h100.bf16_flops));
          auto const flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
          auto const bytes = static_cast<double>((fp8 ? 1 : 2) * (m * k + k * n) + 2 * m * n);
          CHECK(static_cast<double>(time) >= flops / rate * (1 - 1e-12));
          CHECK(static_cast<double>(time) >= bytes / (0.791 * 3.35) * (1 - 1e-12));
          CHECK(gemm_time({.m = m, .n = n, .k = k, .fp8 = fp8, .added = true}, h100, hopper) >= time);
          for (auto const& larger :
               {gemm_shape{.m = m, .n = n, .k = k + 100, .fp8 = fp8}, gemm_shape{.m = m, .n = n, .k = k, .groups = 2, .fp8 = fp8}})
            CHECK(gemm_time(larger, h100, hopper) >= time);
          CHECK(gemm_time(of, h100, hopper, 500) >= time);
        }
}

TEST_CASE("kernel_time: attention is c (l^2 + (l0 + 1) l), and the curve's rate") {
  attention_shape const of{.heads = 32, .qk_width = 128, .v_width = 128};
  auto const at = [&](std::int64_t tokens, std::int64_t squares) {
    return attention_time(of, {.tokens = tokens, .squares = squares, .tiles = 0}, h100, hopper, attention_library::cudnn);
  };
  for (std::int64_t l : {512, 2048, 8192, 65536}) {
    auto const one = at(l, l * l), four = at(4 * l, 4 * l * l);
    CHECK(std::abs(four.forward - 4 * one.forward) <= 4);  // samples beside each other do not see each other
    CHECK(std::abs(four.backward - 4 * one.backward) <= 4);
    auto const length = static_cast<double>(l);
    auto const flops = 2 * (length * (length + 1) / 2) * 256 * 32;
    CHECK(std::fabs(static_cast<double>(one.forward) / (flops / (550e12 * length / (length + 350)) * 1e12) - 1) < 2e-3);
    CHECK(std::fabs(static_cast<double>(one.backward) / (2.5 * flops / (490e12 * length / (length + 600)) * 1e12) - 1) < 3e-3);
  }
  // lengths 1000 and 3000 together, by the sum of squares
  auto const apart = at(1000, 1'000'000) + at(3000, 9'000'000), together = at(4000, 10'000'000);
  CHECK(std::abs(apart.forward - together.forward) <= 2);
  CHECK(at(0, 0) == pass_time{});
}

TEST_CASE("kernel_time: a window never takes longer than all keys, masks than none, and fused kernels than stored scores") {
  for (std::int64_t l : {64, 128, 200, 4096, 32768}) {
    batch_shape const batch{.tokens = l, .squares = l * l, .tiles = 0};
    attention_shape const all{.heads = 8, .qk_width = 64, .v_width = 64};
    auto const time = [&](attention_shape const& of) { return attention_time(of, batch, h100, hopper, attention_library::flash2); };
    auto window = all, open = all, stored = all;
    window.window = 128;
    open.causal = false;
    stored.stored = true;
    CHECK(time(window).both() <= time(all).both());
    if (l <= 128) CHECK(time(window) == time(all));
    if (l == 32768) CHECK(time(window).both() < time(all).both() / 40);
    CHECK(std::abs(time(open).forward - 2 * time(all).forward) <= 2);
    if (l >= 4096) CHECK(time(stored).both() > time(all).both());
    auto half = all;
    half.share = 2;
    CHECK(std::abs(time(half).forward - time(all).forward / 2) <= 1);
  }
}

TEST_CASE("kernel_time: chunks are attended to as samples of their length") {
  for (auto const causal : {true, false})
    for (std::int64_t const window : {128, 1024, 8192}) {
      attention_shape of{.heads = 8, .qk_width = 128, .v_width = 128, .causal = causal};
      auto chunks = of;
      chunks.window = window;
      chunks.chunked = true;
      auto const tokens = 16 * window;
      auto const time = [&](attention_shape const& shape, std::int64_t length) {
        return attention_time(shape, {.tokens = tokens, .squares = tokens * length, .tiles = 0}, h100, hopper, attention_library::cudnn);
      };
      CHECK(time(chunks, 4 * window) == time(of, window));
      CHECK(time(chunks, window / 2) == time(of, window / 2));
      auto slides = chunks;
      slides.chunked = false;
      CHECK(time(chunks, 4 * window).both() < time(slides, 4 * window).both());
    }
}

TEST_CASE("kernel_time: DeepEP sends no more than an all-to-all, and as much where a token has one expert") {
  auto const links = links_of(h100);
  auto free = hopper;
  free.call_to_all = free.call_dispatch = free.call = free.call_hop = 0;
  free.link_to_all = free.link;
  free.network_to_all = free.network;
  for (std::int64_t ranks : {2, 8, 16, 64})
    for (std::int64_t active : {1, 2, 8}) {
      auto const all = dispatch_time(4096, active, 8192, ranks, token_dispatcher::all_to_all, links, free);
      auto const once = dispatch_time(4096, active, 8192, ranks, token_dispatcher::once, links, free);
      CAPTURE(ranks, active);
      CHECK(once <= all + all / 1000);
      if (active == 1 && ranks != 64) CHECK(std::fabs(static_cast<double>(once) / static_cast<double>(all) - 1) < 1e-3);
    }
  CHECK(dispatch_time(4096, 8, 8192, 1, token_dispatcher::once, links, hopper) == 0);
}

TEST_CASE("kernel_time: logarithms in thousandths") {
  for (std::int64_t n : {1, 2, 3, 7, 8, 1000, 123457, 1 << 24})
    CHECK(std::fabs(static_cast<double>(detail::log2_thousandths(n)) - 1000 * std::log2(static_cast<double>(n))) <= 1.1);
}

TEST_CASE("kernel_time: what is out of range, or takes too long, is refused") {
  CHECK(refusal([] { return gemm_time({.m = 1, .n = 0, .k = 1}, h100, hopper); }) == "n = 0 must be in [1, 1099511627776]");
  CHECK(refusal([] { return gemm_time({.m = 1, .n = 1, .k = 1, .fp8 = true}, a100, ampere); }) ==
        "the device \"a100\" has no rate of matrix products");
  constexpr auto huge = std::int64_t{1} << 40;
  CHECK(refusal([] { return gemm_time({.m = huge, .n = huge, .k = huge}, h100, hopper); }) == "a matrix product has 2^61 tiles or more");
  CHECK(refusal([] { return gemm_time({.m = huge, .n = 1 << 20, .k = 1 << 20}, h100, hopper); }) ==
        "a matrix product takes 2^56 picoseconds or more");
  CHECK(refusal([] { return memory_time(std::int64_t{1} << 62, h100, hopper); }) == "a pass over memory takes 2^56 picoseconds or more");
  CHECK(refusal([] { return memory_time(-1, h100, hopper); }) == "a pass over memory takes 2^56 picoseconds or more");
  CHECK(refusal([] {
          return attention_time({.heads = 128, .qk_width = 128, .v_width = 128}, {1 << 30, std::int64_t{1} << 60, 0}, h100, hopper,
                                attention_library::cudnn);
        }) == "attention takes 2^56 picoseconds or more");
}

}  // namespace test_cost_kernel_time
