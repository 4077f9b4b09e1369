// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/polynomial.hpp>

#include "support/catch.hpp"
#include "support/cost_border.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace test_cost_polynomial {

using ballast_test::check_border;
using ballast_test::int128;
using ballast_test::most;

TEST_CASE("costs: fits is exact at the border") {
  std::vector<std::int64_t> const factors{0, 1, 2, 3, 24576, std::int64_t{1} << 32, 3037000499, most / 2, most - 1, most};
  for (auto a : factors)
    for (auto b : factors) {
      CAPTURE(a, b);
      check_border(ballast::linear_cost{.per_token = a, .per_sample = b}, [&](int128 l) { return int128{b} + int128{a} * l; });
      check_border(ballast::quadratic_cost{.linear = a, .quadratic = b}, [&](int128 l) {
        auto const per_token = int128{a} + int128{b} * l;  // at most 2^126 + 2^63
        return l == 0 ? int128{0} : per_token > int128{most} ? int128{most} + 1 : l * per_token;
      });
    }
  check_border(ballast::token_cost{}, [](int128 l) { return l; });
}

TEST_CASE("costs: negative factors fit nothing, and the defaults count tokens") {
  CHECK_FALSE(ballast::linear_cost{.per_token = -1}.fits(1));
  CHECK_FALSE(ballast::linear_cost{.per_sample = -1}.fits(1));
  CHECK_FALSE(ballast::quadratic_cost{.linear = -1, .quadratic = 1}.fits(5));
  CHECK_FALSE(ballast::quadratic_cost{.linear = 5, .quadratic = -1}.fits(1));
  STATIC_REQUIRE(ballast::token_cost{}(17) == 17);
  STATIC_REQUIRE(ballast::linear_cost{}(17) == 17);
  STATIC_REQUIRE(ballast::quadratic_cost{}(17) == 17);
  STATIC_REQUIRE(ballast::linear_cost{.per_token = 3, .per_sample = 5}(10) == 35);
  STATIC_REQUIRE(ballast::quadratic_cost{.linear = 3, .quadratic = 2}(10) == 230);
}

}  // namespace test_cost_polynomial
