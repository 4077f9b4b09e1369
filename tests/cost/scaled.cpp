// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/scaled.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <limits>

namespace test_cost_scaled {

using ballast_test::refusal;

TEST_CASE("scaled: rounds to nearest, halves up, once") {
  constexpr auto quarter = [](std::int64_t length) { return 0.25 * static_cast<double>(length); };
  constexpr auto cost = ballast::scaled(quarter, 1.0);
  STATIC_REQUIRE(ballast::bounded_cost_model<decltype(cost)>);
  STATIC_REQUIRE(cost(0) == 0);
  STATIC_REQUIRE(cost(1) == 0);
  STATIC_REQUIRE(cost(2) == 1);
  STATIC_REQUIRE(cost(5) == 1);
  STATIC_REQUIRE(cost(6) == 2);
  STATIC_REQUIRE(ballast::scaled(quarter, 1e9)(3) == 750000000);
  STATIC_REQUIRE(ballast::scaled([](std::int64_t length) { return 0.5F * static_cast<float>(length); }, 2.0)(7) == 7);
}

TEST_CASE("scaled: fits below 2^53 units, and no other") {
  auto const fits = [](double units) { return ballast::scaled([units](std::int64_t) { return units; }, 1.0).fits(1); };
  CHECK(fits(0.0));
  CHECK(fits(9007199254740991.0));
  CHECK_FALSE(fits(9007199254740992.0));
  CHECK_FALSE(fits(-0.25));
  CHECK_FALSE(fits(std::numeric_limits<double>::infinity()));
  CHECK_FALSE(fits(std::numeric_limits<double>::quiet_NaN()));
  auto const units = [](double cost) { return ballast::scaled([cost](std::int64_t) { return cost; }, 1.0)(1); };
  CHECK(units(9007199254740991.0) == 9007199254740991);
  CHECK(units(0.49999999999999994) == 0);  // plus 0.5 it would be 1
}

TEST_CASE("scaled: refuses a unit that is not finite and positive") {
  auto const with = [](double units) { return refusal([&] { return ballast::scaled([](std::int64_t) { return 1.0; }, units); }); };
  CHECK(with(1e9) == "accepted");
  CHECK(with(0.0) == "units_per_1 = 0.000000 must be finite and positive");
  CHECK(with(-1.0) != "accepted");
  CHECK(with(std::numeric_limits<double>::quiet_NaN()) != "accepted");
  CHECK(with(std::numeric_limits<double>::infinity()) != "accepted");
}

}  // namespace test_cost_scaled
