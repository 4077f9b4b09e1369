// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/metrics/step_balance.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <vector>

namespace test_core_metrics_communication {

using ballast_test::refusal;

namespace {
using numbers = std::vector<std::int64_t>;
}  // namespace

TEST_CASE("communication_ratio and average_tokens: means over the steps") {
  CHECK(ballast::communication_ratio(numbers{0, 5, 0}, numbers{10, 10, 0}) == 0.5 / 3);
  CHECK(ballast::average_tokens(numbers{10, 20}) == 15.0);
  CHECK((ballast::communication_ratio({}, {}) == 0.0 && ballast::average_tokens({}) == 0.0));
  CHECK(refusal([] { return ballast::communication_ratio(numbers{1}, {}); }) == "1 communicated entries for 0 steps");
}

}  // namespace test_core_metrics_communication
