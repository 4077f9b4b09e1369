// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/polynomial.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace {

__extension__ typedef __int128 wide;
constexpr auto most = (std::numeric_limits<std::int64_t>::max)();

// `fits` is true up to some length and false beyond it, and that length is the last whose exact cost is below 2^63.
template <class Cost, class Exact>
void check_border(Cost const& cost, Exact const& exact) {
  auto const representable = [&](std::int64_t length) { return exact(wide{length}) <= wide{most}; };
  std::int64_t low = 0, high = most;  // the longest representable length, by bisection
  if (!representable(0)) {
    CHECK_FALSE(cost.fits(0));
    return;
  }
  while (low < high) {
    auto const middle = low + (high - low) / 2 + 1;
    if (representable(middle))
      low = middle;
    else
      high = middle - 1;
  }
  CAPTURE(low);
  CHECK(cost.fits(low));
  CHECK(wide{cost(low)} == exact(wide{low}));
  if (low < most) CHECK_FALSE(cost.fits(low + 1));
  CHECK(cost.fits(most) == (low == most));
  CHECK(cost.fits(0));
  CHECK_FALSE(cost.fits(-1));
}

}  // namespace

TEST_CASE("costs: fits is exact at the border") {
  std::vector<std::int64_t> const factors{0, 1, 2, 3, 24576, std::int64_t{1} << 32, 3037000499, most / 2, most - 1, most};
  for (auto a : factors)
    for (auto b : factors) {
      CAPTURE(a, b);
      check_border(ballast::linear_cost{.per_token = a, .per_sample = b}, [&](wide l) { return wide{b} + wide{a} * l; });
      check_border(ballast::quadratic_cost{.linear = a, .quadratic = b}, [&](wide l) {
        auto const per_token = wide{a} + wide{b} * l;  // at most 2^126 + 2^63
        return l == 0 ? wide{0} : per_token > wide{most} ? wide{most} + 1 : l * per_token;
      });
    }
  check_border(ballast::token_cost{}, [](wide l) { return l; });
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
