// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/attention.hpp>
#include <ballast/cost/divided_cost.hpp>
#include <ballast/cost/polynomial.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <limits>

namespace test_cost_divided_cost {

using namespace ballast;

TEST_CASE("divided_cost: each rank takes an equal part of the cost, rounded up") {
  divided_cost const cost{quadratic_cost{.linear = 3, .quadratic = 2}};
  static_assert(degree_cost_model<decltype(cost)>);
  CHECK(cost(5, 1) == 65);
  CHECK(cost(5, 4) == 17);
  for (std::int64_t d = 1; d < 20; ++d) CHECK(d * cost(977, d) >= cost(977, 1));
  CHECK(cost.fits(1'000'000, 8));
  CHECK_FALSE(cost.fits((std::numeric_limits<std::int64_t>::max)(), 8));
  CHECK_FALSE(cost.fits(5, 0));
}

TEST_CASE("divided_cost: takes any callable") {
  auto const square = [](std::int64_t n) { return n * n; };
  CHECK(divided_cost{square}(6, 5) == 8);
  CHECK(divided_cost{square}.fits(6, 5));
}

}  // namespace test_cost_divided_cost
