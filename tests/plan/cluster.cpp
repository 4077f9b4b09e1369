// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/cluster.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace test_plan_cluster {

using namespace ballast;
using ballast_test::refusal;

TEST_CASE("rates_of: FLOPs and one-way bytes of a millisecond") {
  auto const rates = rates_of({.device = device_named("h100"), .mfu = 0.4});
  CHECK(rates.work_per_ms == 395'760'000'000);
  CHECK(rates.link_bytes_per_ms == 450'000'000);
  CHECK(rates.units_per_byte == 1);
  CHECK(refusal([&] { return rates_of({.device = device_named("h100"), .mfu = 0}); }) == "mfu = 0.000000 must be in (0, 1]");
}

}  // namespace test_plan_cluster
