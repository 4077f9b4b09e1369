// SPDX-License-Identifier: Apache-2.0
#include <ballast/footprint/model_layers.hpp>
#include <ballast/footprint/sequence_parallel.hpp>

#include "support/catch.hpp"
#include "support/hbp_profile.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace test_footprint_sequence_parallel {

namespace {

using ballast_test::hbp_profile;
auto const llama = ballast_test::hbp_setup;
double seconds(ballast::level const& at, std::int64_t length) { return ballast_test::iteration_seconds(llama(), at, length); }

}  // namespace

TEST_CASE("modelled_level_time: HBP's profiles, fitted rows within 2 %, other rows of short samples within 6 %, full-length within 15 %",
          "[footprint][published]") {
  for (auto const& row : hbp_profile) {
    if (row.layers < 0) continue;
    auto const error = seconds(row.setting(), row.sample()) / row.seconds - 1;
    CAPTURE(row.table, row.thousands, row.sp, error);
    CHECK(error < 0.02);
    CHECK(error > (ballast_test::in_fit_of_constants(row) ? -0.02 : row.table == 18 ? -0.06 : -0.15));
  }
  CHECK(seconds({32768, 8, 8}, 32768) < seconds({32768, 4, 23}, 32768));
  CHECK(seconds({131072, 8, 29}, 131072) < seconds({131072, 16, 23}, 131072));
}

TEST_CASE("modelled_level_time: by kernels, all of HBP's profiles within 7 % by one factor", "[footprint][published]") {
  auto on = llama();
  on.kernels = {.rates = ballast::kernels_for(on.device)};
  for (auto const& row : hbp_profile) {
    if (row.layers < 0) continue;
    auto const time = ballast_test::iteration_seconds(on, row.setting(), row.sample());
    CAPTURE(row.table, row.thousands, row.sp, time, row.seconds);
    CHECK(std::fabs(time / row.seconds - 1) < 0.07);
  }
  for (auto const factor : {1400, 1700}) {  // the factor is near that of least largest error
    on.kernel_time = factor;
    double worst = 0;
    for (auto const& row : hbp_profile)
      if (row.layers >= 0)
        worst = (std::max)(worst, std::fabs(ballast_test::iteration_seconds(on, row.setting(), row.sample()) / row.seconds - 1));
    CHECK(worst > 0.08);
  }
}

TEST_CASE("sequence_parallel_setup: least squares over the rows of the fit give the constants, to 16 %", "[footprint][published]") {
  auto const fit = ballast_test::fit_times<4>(ballast_test::in_fit_of_constants);
  CHECK(fit.fit.worst < 0.01);
  for (auto const times : fit.coefficients) {
    CHECK(times > 1 / 1.16);
    CHECK(times < 1.16);
  }
}

TEST_CASE("sequence_parallel_setup: rows of 64K tokens, predicted by a fit without them", "[footprint][published]") {
  auto const one_share = ballast_test::fit_times<4>(ballast_test::below_and_above_64k);
  auto const two_shares = ballast_test::fit_times<5>(ballast_test::below_and_above_64k);
  auto on = llama();
  on.framework.activations = ballast_test::fit_activations(
      [](auto const& row) { return row.table == 4 && ballast_test::below_and_above_64k(row); });  // the other tables repeat its layers
  CHECK(std::fabs(static_cast<double>(on.framework.activations) / static_cast<double>(llama().framework.activations) - 1) < 0.05);
  int predicted = 0;
  for (auto const& row : hbp_profile) {
    if (ballast_test::below_and_above_64k(row)) continue;
    CAPTURE(row.table, row.sp);
    auto const layers = ballast_test::least_layers(on, {.capacity = 65536, .sp = row.sp});
    CHECK((row.layers < 0 ? layers == -1 : std::abs(layers - row.layers) <= 2));
    if (row.layers < 0) continue;
    CHECK(std::fabs(ballast_test::predicted_seconds(one_share, row) / row.seconds - 1) < 0.04);
    CHECK(std::fabs(ballast_test::predicted_seconds(two_shares, row) / row.seconds - 1) < 0.02);
    ++predicted;
  }
  CHECK(predicted == 3);
}

TEST_CASE("modelled_level_time: long over short samples as published, tables 4 over 19", "[footprint][published]") {
  auto const ratio = [](ballast::level const& at) { return seconds(at, at.capacity) / seconds(at, 1750); };
  CHECK(std::fabs(ratio({32768, 8, 8}) / 1.46 - 1) < 0.06);
  CHECK(std::fabs(ratio({65536, 4, 28}) / 2.09 - 1) < 0.08);
  CHECK(std::fabs(ratio({131072, 8, 29}) / 3.34 - 1) < 0.15);
}

TEST_CASE("modelled_level_time: its parts", "[footprint]") {
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

TEST_CASE("remaining_memory: depends on a device's tokens, and recomputed layers free some", "[footprint]") {
  auto const run = llama();
  CHECK(ballast::remaining_memory(run, {131072, 8, 20}) == ballast::remaining_memory(run, {16384, 1, 20}));
  CHECK(ballast::remaining_memory(run, {16384, 1, 21}) > ballast::remaining_memory(run, {16384, 1, 20}));
  CHECK(ballast::remaining_memory(run, {131072, 1, 32}) < 0);
}

TEST_CASE("remaining_memory: the memory of plans of stages", "[footprint]") {
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

TEST_CASE("modelled_levels: recomputed layers as in table 4 to one or two, what is out of memory there is left out",
          "[footprint][published]") {
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

TEST_CASE("sequence_parallel_setup: bad input is refused", "[footprint]") {
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

}  // namespace test_footprint_sequence_parallel
