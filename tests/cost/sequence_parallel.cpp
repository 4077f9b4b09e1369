// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/model_layers.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/sequence_parallel.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace test_cost_sequence_parallel {

namespace {

ballast::sequence_parallel_setup llama() { return {.model = ballast::transformer_preset("llama-3.1-8b")}; }

// Seconds of an iteration of 512K tokens on 32 devices, of samples of `length` tokens.
double seconds(ballast::level const& at, std::int64_t length) {
  std::int64_t const tokens = 512 * 1024;
  return static_cast<double>(
             ballast::modelled_level_time(llama(), at)(static_cast<std::uint64_t>(tokens / at.capacity), tokens, tokens * length)) /
         32e9;
}

}  // namespace

TEST_CASE("modelled_level_time: HBP's profile of short samples, table 19, within 2 %", "[cost][published]") {
  struct row {
    std::int64_t k;
    std::uint32_t sp, layers;
    double published;
  };
  for (auto const& r : {row{8, 2, 8, 2.69}, row{16, 1, 28, 2.65}, row{32, 8, 8, 2.83}, row{64, 4, 28, 3.01}, row{128, 8, 28, 3.05},
                        row{32, 16, 0, 3.60}}) {  // the last one from table 18
    CAPTURE(r.k, r.sp);
    CHECK(std::fabs(seconds({r.k * 1024, r.sp, r.layers}, 1750) / r.published - 1) < 0.02);  // attention takes 3 %
  }
}

TEST_CASE("modelled_level_time: HBP's full-length profile, table 4, in its order and within 15 %", "[cost][published]") {
  struct row {
    std::int64_t k;
    std::uint32_t sp, layers;
    double published;
  };
  std::vector<row> const rows{{32, 8, 8, 4.12}, {32, 4, 23, 4.35},  {32, 2, 28, 4.45},  {64, 8, 24, 6.2},
                              {64, 4, 28, 6.3}, {128, 8, 29, 10.2}, {128, 16, 23, 10.5}};
  for (auto const& r : rows) {
    auto const modelled = seconds({r.k * 1024, r.sp, r.layers}, r.k * 1024);
    CAPTURE(r.k, r.sp, modelled);
    CHECK(modelled > 0.85 * r.published);
    CHECK(modelled < 1.02 * r.published);
  }
  CHECK(seconds({32768, 8, 8}, 32768) < seconds({32768, 4, 23}, 32768));
  CHECK(seconds({131072, 8, 29}, 131072) < seconds({131072, 16, 23}, 131072));
}

TEST_CASE("modelled_level_time: long over short samples as published, tables 4 over 19", "[cost][published]") {
  auto const ratio = [](ballast::level const& at) { return seconds(at, at.capacity) / seconds(at, 1750); };
  CHECK(std::fabs(ratio({32768, 8, 8}) / 1.46 - 1) < 0.06);
  CHECK(std::fabs(ratio({65536, 4, 28}) / 2.09 - 1) < 0.08);
  CHECK(std::fabs(ratio({131072, 8, 29}) / 3.34 - 1) < 0.15);
}

TEST_CASE("modelled_level_time: its parts", "[cost]") {
  auto const run = llama();
  auto const alone = ballast::modelled_level_time(run, {16384, 1, 0});
  auto const all = ballast::modelled_level_time(run, {16384, 1, 32});
  auto const forward = ballast::forward_flops(run.model);
  auto const head = ballast::head_flops_per_token(run.model);
  auto const rate = 989.4e12 * 0.383;
  CHECK(std::fabs(static_cast<double>(alone.per_token) * 1e-12 * rate / static_cast<double>(3 * forward.per_token) - 1) < 1e-4);
  CHECK(std::fabs(static_cast<double>(all.per_token) * 1e-12 * rate / static_cast<double>(4 * forward.per_token - head) - 1) < 1e-4);
  CHECK(std::fabs(static_cast<double>(alone.per_square) * 1e-12 * rate * 2 / static_cast<double>(3 * forward.per_pair) - 1) < 1e-3);
  CHECK(alone.per_pack > 0);
  // Exchange: 2 * (32 + 8) heads of 128, 2 bytes each, twice in each of 32 layers; 7/8 leave the device.
  auto const eight = ballast::modelled_level_time(run, {131072, 8, 0});
  CHECK(eight.per_square == alone.per_square);
  CHECK(eight.per_pack - 8 * alone.per_pack <= 0);
  CHECK(std::fabs(static_cast<double>(eight.per_token - alone.per_token) * 1e-12 * 72e9 / (2. * 2 * 40 * 128 * 2 * 32 * 7 / 8) - 1) < 1e-4);
  auto single = run;
  single.devices = 1;
  CHECK(ballast::modelled_level_time(single, {16384, 1, 0}).per_pack == 0);
}

TEST_CASE("remaining_memory: depends on a device's tokens, and recomputed layers free some", "[cost]") {
  auto const run = llama();
  CHECK(ballast::remaining_memory(run, {131072, 8, 20}) == ballast::remaining_memory(run, {16384, 1, 20}));
  CHECK(ballast::remaining_memory(run, {16384, 1, 21}) > ballast::remaining_memory(run, {16384, 1, 20}));
  CHECK(ballast::remaining_memory(run, {131072, 1, 32}) < 0);
}

TEST_CASE("remaining_memory: the memory of plans of stages", "[cost]") {
  auto const run = llama();
  auto const layers =
      ballast::layers_of(run.model, {.spread = {.data = 32, .zero = 3}, .optimizer = run.optimizer, .framework = run.framework});
  std::int64_t const tokens = 4096;
  std::int64_t bytes = run.reserved_bytes, working = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {  // layers 0 to 7 are behind the embedding
    auto const& taken = i >= 1 && i <= 8 ? layers[i].options.back() : layers[i].options.front();
    bytes += layers[i].state + taken.bytes.per_token * tokens;
    working = std::max(working, layers[i].working.per_token * tokens + layers[i].buffers);
  }
  CHECK(ballast::remaining_memory(run, {4096, 1, 8}) == run.device.memory_bytes - bytes - working);
}

TEST_CASE("modelled_levels: recomputed layers as in table 4 to one or two, what is out of memory there is left out", "[cost][published]") {
  auto const levels =
      ballast::modelled_levels(llama(), std::vector<std::int64_t>{32768, 65536, 131072}, std::vector<std::uint32_t>{2, 4, 8, 16});
  auto const layers = [&](std::int64_t capacity, std::uint32_t sp) {
    for (auto const& l : levels)
      if (l.setting.capacity == capacity && l.setting.sp == sp) return static_cast<int>(l.setting.recomputed_layers);
    return -1;
  };
  CHECK(std::abs(layers(32768, 2) - 28) <= 1);
  CHECK(std::abs(layers(32768, 4) - 23) <= 1);
  CHECK(std::abs(layers(32768, 8) - 8) <= 1);
  CHECK(layers(32768, 16) == 0);
  CHECK(std::abs(layers(65536, 4) - 28) <= 1);
  CHECK(std::abs(layers(65536, 8) - 24) <= 2);
  CHECK(std::abs(layers(131072, 8) - 29) <= 1);
  CHECK(std::abs(layers(131072, 16) - 23) <= 1);
  CHECK(layers(65536, 2) == -1);
  CHECK(layers(131072, 4) == -1);
  CHECK(layers(16384, 1) == layers(131072, 8));  // a slice
  CHECK(std::is_sorted(levels.begin(), levels.end(), [](auto const& a, auto const& b) { return a.setting.capacity < b.setting.capacity; }));
}

TEST_CASE("sequence_parallel_setup: bad input is refused", "[cost]") {
  auto const refused = [](auto change, ballast::level const& at = {1024, 1, 0}) {
    auto run = llama();
    change(run);
    return ballast_test::refusal([&] { (void)ballast::modelled_level_time(run, at); });
  };
  auto const same = [](auto&) {};
  CHECK(refused([](auto& r) { r.devices = 0; }) == "devices = 0 must be in 1 ... 2^20");
  CHECK(refused([](auto& r) { r.link_share = 0; }) == "link_share = 0 must be in 1 ... 2^20");
  CHECK(refused([](auto& r) { r.device.link_bandwidth = 0; }) == "the device \"h100\" has no peak rate, link bandwidth or memory");
  CHECK(refused([](auto& r) { r.network_bandwidth = 0; }) == "network_bandwidth and parameter_bandwidth must be positive");
  CHECK(refused([](auto& r) { r.reserved_bytes = -1; }) == "reserved_bytes = -1 must not be negative");
  CHECK(refused(same, {0, 1, 0}) == "capacity = 0 must be in 1 ... 2^31 - 1");
  CHECK(refused(same, {1024, 33, 0}) == "sp = 33 must be in 1 ... 32, the devices");
  CHECK(refused(same, {1024, 1, 33}) == "recomputed_layers = 33 of 32 layers");
}

}  // namespace test_cost_sequence_parallel
