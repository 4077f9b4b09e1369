// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/metrics/step_balance.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

namespace test_core_metrics_padding {

using ballast_test::refusal;

namespace {
using numbers = std::vector<std::int64_t>;
bool near(double x, double y) { return std::fabs(x - y) < 1e-12; }
}  // namespace

TEST_CASE("padding_ratio: the formula averages micro-batches, the code pools them") {
  numbers const lengths{1, 3, 4, 4, 6};
  auto const p = ballast::padding_ratio(ballast::groups<>{{0, 2, 5, 5}, {0, 1, 2, 3, 4}}, lengths);
  CHECK((p.padding == 2 + 4 && p.padded == 6 + 18));
  CHECK(near(p.mean_ratio, (2 / 6.0 + 4 / 18.0) / 3));
  CHECK(near(p.total_ratio, 6 / 24.0));
  CHECK(ballast::padding_ratio(ballast::groups<>{{0, 1, 2}, {3, 4}}, lengths).mean_ratio == 0.0);  // one sample each: nothing to pad
  CHECK(refusal([&] { return ballast::padding_ratio(ballast::groups<>{{0, 1}, {5}}, lengths); }) ==
        "a micro-batch holds 5, which is no sample");
}

}  // namespace test_core_metrics_padding
