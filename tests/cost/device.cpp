// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/device.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace test_cost_device {

using namespace ballast;
using ballast_test::refusal;

TEST_CASE("device: the datasheets, dense bfloat16") {
  // The datasheets print the rate with sparsity, twice the dense one: 624, 1979, 1979 and 4500 TFLOP/s.
  for (auto const& [name, sparse_tflops] : {std::pair{"a100", 624.0}, {"h100", 1979.0}, {"h200", 1979.0}, {"b200", 4500.0}})
    CHECK(std::fabs(2e-12 * static_cast<double>(device_named(name).bf16_flops) / sparse_tflops - 1) < 0.0005);
  CHECK(device_named("v100").bf16_flops == 125'000'000'000'000);  // float16, without sparsity
  for (auto const& d : devices) {
    CHECK(d.multiprocessors > 0);
    auto const twice = 2 * d.bf16_flops;
    CHECK((d.fp8_flops == 0 || (d.fp8_flops > twice / 200 * 199 && d.fp8_flops <= twice + 1'000'000'000'000)));
  }
  CHECK(device_named("h200").memory_bytes == 141'000'000'000);
  for (std::size_t i = 1; i < 5; ++i)  // in order of appearance, nothing shrank; variants are behind them
    CHECK((devices[i].memory_bytes >= devices[i - 1].memory_bytes && devices[i].memory_bandwidth > devices[i - 1].memory_bandwidth &&
           devices[i].link_bandwidth >= devices[i - 1].link_bandwidth));
  CHECK(refusal([] { return device_named("H100"); }) ==
        "no device \"H100\"; there are v100, a100, h100, h200, b200, a100-40gb, h100-500w, "
        "h800, b300, gb200, gb300");
}

TEST_CASE("device: all but V100 and A100 are a Hopper or later, devices of one's own too") {
  for (auto const& d : devices) CHECK(is_hopper(d) == (d.name != "v100" && d.name != "a100" && d.name != "a100-40gb"));
  CHECK(is_hopper(device{.name = "mine"}));
}

TEST_CASE("device: modelled time") {
  CHECK(std::fabs(modelled_ms(989.4e12, device_named("h100"), 0.5) - 2000) < 1e-9);
  CHECK(modelled_ms(0, device_named("h100"), 1) == 0);
  CHECK(refusal([] { return modelled_ms(1, device_named("h100"), 0); }).starts_with("mfu = 0.0"));
  CHECK(refusal([] { return modelled_ms(1, device_named("h100"), 1.1); }).starts_with("mfu = 1.1"));
  CHECK(refusal([] { return modelled_ms(-1, device_named("h100"), 1); }).starts_with("flops = -1.0"));
  CHECK(refusal([] { return modelled_ms(std::numeric_limits<double>::quiet_NaN(), device_named("h100"), 1); }).starts_with("flops = "));
  CHECK(refusal([] { return modelled_ms(1, device{}, 1); }) == "the device \"\" has no peak rate");
}

}  // namespace test_cost_device
