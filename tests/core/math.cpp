// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/math.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace test_core_math {

using ballast::divide_up;
using ballast::round_down;
using ballast::round_up;
using ballast_test::refusal;

namespace {
constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
}

TEST_CASE("divide_up, round_down, round_up: by the definition, for all small numbers") {
  for (int a = 0; a < 50; ++a)
    for (int b = 1; b < 20; ++b) {
      auto const up = divide_up(a, b);
      REQUIRE((up * b >= a && (up - 1) * b < a));
      auto const below = round_down(a, b), above = round_up(a, b);
      REQUIRE((below % b == 0 && below <= a && below > a - b));
      REQUIRE((above % b == 0 && above >= a && above < a + b));
    }
}

TEST_CASE("divide_up and round_up: no intermediate result is above the answer") {
  STATIC_REQUIRE(divide_up(most, std::int64_t{2}) == (std::int64_t{1} << 62));
  STATIC_REQUIRE(divide_up(most, most) == 1);
  STATIC_REQUIRE(divide_up((std::numeric_limits<std::uint64_t>::max)(), std::uint64_t{1}) == (std::numeric_limits<std::uint64_t>::max)());
  STATIC_REQUIRE(round_up(most - 1, most) == most);
  STATIC_REQUIRE(round_up(most, std::int64_t{7}) == most);  // 2^63 - 1 is a multiple of 7
  STATIC_REQUIRE(round_down(most, std::int64_t{2}) == most - 1);
  STATIC_REQUIRE(divide_up(std::uint8_t{255}, std::uint8_t{2}) == 128);  // of the type it was given
}

TEST_CASE("first_where: the first number, or the end, in few calls") {
  for (int low = -3; low < 3; ++low)
    for (int high = low - 1; high < 20; ++high)
      for (int first = -5; first < 22; ++first) {
        int calls = 0;
        auto const found = ballast::first_where(low, high, [&](int i) {
          REQUIRE((i >= low && i < high));
          ++calls;
          return i >= first;
        });
        REQUIRE(found == (high <= low ? low : (std::min)((std::max)(first, low), high)));
        REQUIRE(calls <= 5);
      }
  CHECK(ballast::first_where(std::int64_t{0}, most, [](std::int64_t i) { return i >= most - 1; }) == most - 1);
}

TEST_CASE("add_checked: sums up to 2^63 - 1, and names what does not fit") {
  std::int64_t sum = 5;
  ballast::add_checked(sum, 0, "loads", 0);
  ballast::add_checked(sum, most - 5, "loads", 1);
  CHECK(sum == most);
  auto const says = [&](std::int64_t value) { return refusal([&] { return ballast::add_checked(sum, value, "loads", 7), 0; }); };
  CHECK(says(1) == "loads[7] = 1 brings a sum to 2^63 or more");
  CHECK(says(-1) == "loads[7] = -1 must not be negative");
  CHECK(sum == most);
}

}  // namespace test_core_math
