// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/checked.hpp>

#include <ballast/core/wide.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <vector>

namespace test_core_checked {

using ballast::checked;

TEST_CASE("checked: the integer where it fits, none where it does not") {
  std::vector<std::int64_t> const values{0, 1, 2, 3, 3037000499, 3037000500, checked::most / 2, checked::most / 2 + 1, checked::most};
  for (auto a : values)
    for (auto b : values) {
      CAPTURE(a, b);
      auto const sum = static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b);  // below 2^64
      auto const product = ballast::multiply(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
      auto const expected = [](std::uint64_t x) { return x >> 63 != 0 ? checked::none : static_cast<std::int64_t>(x); };
      CHECK((checked(a) + checked(b)).value == expected(sum));
      CHECK((checked(a) * checked(b)).value == (product.high != 0 ? checked::none : expected(product.low)));
    }
}

TEST_CASE("checked: none stays none, even times 0") {
  STATIC_REQUIRE_FALSE(checked(-1).fits());
  STATIC_REQUIRE_FALSE((checked(-7) + checked(7)).fits());
  STATIC_REQUIRE_FALSE((checked(-7) * checked(0)).fits());
  STATIC_REQUIRE_FALSE((checked(0) * checked(-7)).fits());
  STATIC_REQUIRE_FALSE((checked(checked::most) * checked(2) + checked(1)).fits());
}

TEST_CASE("triangle: n (n + 1) / 2, and none only where that does not fit") {
  STATIC_REQUIRE(ballast::triangle<std::int64_t>(0) == 0);
  for (std::int64_t n = 1, sum = 1; n < 100; sum += ++n) REQUIRE(ballast::triangle<std::int64_t>(n) == sum);
  constexpr std::int64_t last = 4294967295;  // the last whose number is below 2^63
  STATIC_REQUIRE(ballast::triangle<checked>(last).value == 9223372034707292160);
  STATIC_REQUIRE_FALSE(ballast::triangle<checked>(last + 1).fits());
}

}  // namespace test_core_checked
