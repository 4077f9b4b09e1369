// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/calibration.hpp>
#include <ballast/cost/polynomial.hpp>

#include <cstdint>
#include <tuple>

#include "support/catch.hpp"

namespace test_cost_calibration {

TEST_CASE("calibration: the sum of its terms, and once a micro-batch what that costs", "[cost]") {
  using ballast::quadratic_cost;
  ballast::calibration<quadratic_cost, quadratic_cost> const made{
      .terms = {quadratic_cost{.linear = 1, .quadratic = 0}, quadratic_cost{.linear = 0, .quadratic = 1}},
      .coefficients = {0.5, 0.25},
      .per_micro_batch = 3};
  CHECK(made(0) == 0);
  CHECK(made(8) == 20);  // 8 / 2 + 64 / 4
  std::int64_t const lengths[] = {8, 2, 4};
  CHECK(made.of_micro_batch(lengths) == 3 + 20 + 2 + 6);
  CHECK(made.of_micro_batch({}) == 3);
}

}  // namespace test_cost_calibration
