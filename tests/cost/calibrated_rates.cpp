// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/calibrated_rates.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/kernel_rates.hpp>
#include <ballast/cost/kernel_time.hpp>

#include <cmath>
#include <cstdint>

#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace test_cost_calibrated_rates {

using namespace ballast;
using ballast_test::refusal;

TEST_CASE("calibrated: every kernel and exchange takes the factor longer", "[calibrated_rates]") {
  for (auto const* name : {"a100", "h100", "b200"})
    for (std::int64_t const time : {250, 800, 1100, 3000}) {
      CAPTURE(name, time);
      auto const& on = device_named(name);
      auto const rates = kernels_for(on);
      auto const slower = calibrated(rates, {.time = time, .sync = 2000});
      auto const factor = static_cast<double>(time) / 1000;
      auto const longer = [&](std::int64_t before, std::int64_t after) {
        return std::fabs(static_cast<double>(after) / static_cast<double>(before) / factor - 1) < 0.003;  // shares are in thousandths
      };
      gemm_shape const shape{.m = 8192, .n = 8192, .k = 8192};
      CHECK(longer(gemm_time(shape, on, rates), gemm_time(shape, on, slower)));
      CHECK(longer(memory_time(1 << 30, on, rates), memory_time(1 << 30, on, slower)));
      batch_shape const batch{.tokens = 8192, .squares = 8192 * 8192, .tiles = 0};
      attention_shape const heads{.heads = 32, .qk_width = 128, .v_width = 128};
      for (auto const library : {attention_library::flash2, attention_library::cudnn})
        CHECK(longer(attention_time(heads, batch, on, rates, library).both(), attention_time(heads, batch, on, slower, library).both()));
      for (std::int64_t const ranks : {8, 64})
        CHECK(longer(ring_time(1 << 30, {ranks, 1}, links_of(on), rates), ring_time(1 << 30, {ranks, 1}, links_of(on), slower)));
      for (auto const how : {token_dispatcher::all_to_all, token_dispatcher::once})
        CHECK(longer(dispatch_time(4096, 8, 4096, 32, how, links_of(on), rates),
                     dispatch_time(4096, 8, 4096, 32, how, links_of(on), slower)));
      CHECK(longer(rates.host, slower.host));
      CHECK(longer(rates.host_experts, slower.host_experts));
      CHECK(longer(rates.step, slower.step));
      CHECK(slower.sync_experts == 2 * rates.sync_experts);
      CHECK(slower.bytes == rates.bytes);
      CHECK(calibrated(rates, {}) == rates);
    }
}

TEST_CASE("calibrated: factors out of range are refused", "[calibrated_rates]") {
  auto const rates = kernels_for(device_named("h100"));
  CHECK(refusal([&] { return calibrated(rates, {.time = 0}); }) == "time = 0 must be in [100, 10000]");
  CHECK(refusal([&] { return calibrated(rates, {.sync = -1}); }) == "sync = -1 must be in [0, 1000000]");
  CHECK(step_calibration{.time = 800}.plausible());
  CHECK(!step_calibration{.time = 1251}.plausible());
}

}  // namespace test_cost_calibrated_rates
