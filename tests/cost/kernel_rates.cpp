// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/device.hpp>
#include <ballast/cost/kernel_rates.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <string>

namespace test_cost_kernel_rates {

using namespace ballast;
using ballast_test::refusal;

TEST_CASE("kernel_rates: presets by name, and what is nearest to an unknown device") {
  CHECK(kernels_named("h100-te-bf16") == kernels_for(device_named("h100")));
  for (auto const& d : devices)
    for (auto const* const family : {"te", "compile", "eager"}) {
      auto const rates = kernels_named(std::string(d.name) + "-" + family + "-bf16");
      CHECK(rates.nearest == (d.name == "v100" ? "a100" : ""));
      CHECK((rates.gemm > 500 && rates.gemm < 1000 && rates.attention[1].forward.flops < d.bf16_flops));
    }
  device mine{.name = "mine",
              .bf16_flops = 1'000'000'000'000'000,
              .memory_bandwidth = 4'000'000'000'000,
              .fp8_flops = 2'000'000'000'000'000,
              .multiprocessors = 100};
  auto const rates = kernels_for(mine, kernel_family::eager, true);
  CHECK(rates.nearest == "h100");
  CHECK(rates.gemm == kernels_named("h100-te-bf16").gemm);
  CHECK(refusal([] { return kernels_named("h100-te-fp4"); }).starts_with("no kernels \"h100-te-fp4\": write a device"));
  CHECK(refusal([] { return kernels_named("a100-te-fp8"); }) == "the device \"a100\" has no 8-bit matrix products: choose bf16");
  CHECK(refusal([] { return kernels_for(device{.name = "bare"}); }).starts_with("the device \"bare\" needs bf16_flops"));
}

}  // namespace test_cost_kernel_rates
