// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/core/wide.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <limits>

namespace test_core_wide {

using ballast::compare_products;
using ballast::divide;
using ballast::in_millionths;
using ballast::multiply;
using ballast::multiply_divide_up;
using ballast::wide;

TEST_CASE("multiply: exact where 64 bits are not enough") {
  constexpr auto most = (std::numeric_limits<std::uint64_t>::max)();
  STATIC_REQUIRE(multiply(most, most) == wide{most - 1, 1});
  STATIC_REQUIRE(multiply(std::uint64_t{1} << 32, std::uint64_t{1} << 32) == wide{1, 0});
  STATIC_REQUIRE(multiply(most, 2) == wide{1, most - 1});
  ballast::splitmix64 draw(1);
  for (int i = 0; i < 1000; ++i) {  // (a + 1) b = a b + b, carried by hand
    auto const a = draw() >> 1, b = draw() >> (i % 64);
    auto const x = multiply(a, b), y = multiply(a + 1, b);
    REQUIRE(y.low == x.low + b);
    REQUIRE(y.high == x.high + (y.low < b ? 1 : 0));
  }
}

TEST_CASE("wide: sums carry and order is that of the numbers") {
  constexpr auto most = (std::numeric_limits<std::uint64_t>::max)();
  STATIC_REQUIRE(wide{0, most} + wide{0, 1} == wide{1, 0});
  STATIC_REQUIRE(wide{2, 5} + wide{3, 6} == wide{5, 11});
  STATIC_REQUIRE(wide{0, most} < wide{1, 0});
  STATIC_REQUIRE_FALSE(wide{1, 0} < wide{0, most});
  STATIC_REQUIRE_FALSE(wide{1, 1} < wide{1, 1});
}

TEST_CASE("compare_products: the sign of a b - c d, whatever the signs and sizes") {
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  STATIC_REQUIRE(compare_products(most, most, most, most) == 0);
  STATIC_REQUIRE(compare_products(most, most, most - 1, most) == 1);
  STATIC_REQUIRE(compare_products(-most, most, most, -(most - 1)) == -1);
  STATIC_REQUIRE(compare_products(-most, most, 1, 1) == -1);
  STATIC_REQUIRE(compare_products(0, most, 1, -1) == 1);
  ballast::splitmix64 draw(2);
  auto const small = [&] { return static_cast<std::int64_t>(draw() % 41) - 20; };
  for (int i = 0; i < 5000; ++i) {
    auto const a = small(), b = small(), c = small(), d = small();
    auto const sign = a * b < c * d ? -1 : a * b > c * d ? 1 : 0;
    REQUIRE(compare_products(a, b, c, d) == sign);
    REQUIRE(compare_products(a << 50, b << 50, c << 50, d << 50) == sign);
  }
}

TEST_CASE("multiply_divide_up: the rounded quotient of a product of 128 bits") {
  constexpr auto most = (std::numeric_limits<std::uint64_t>::max)();
  STATIC_REQUIRE(multiply_divide_up(most, most, most) == most);
  STATIC_REQUIRE(multiply_divide_up(most, most - 1, most) == most - 1);
  STATIC_REQUIRE(multiply_divide_up(2, 10, 3) == 7);
  STATIC_REQUIRE(multiply_divide_up(0, 10, 3) == 0);
  STATIC_REQUIRE(multiply_divide_up(most, 3, 4) == 13835058055282163712U);
  ballast::splitmix64 draw(3);
  for (int i = 0; i < 1000; ++i) {
    auto const a = draw() >> (1 + i % 60), d = (draw() >> (i % 50)) | 1U, b = draw() % d;
    auto const q = multiply_divide_up(a, b, d);
    auto const no_more = multiply(q, d), exact = multiply(a, b);
    REQUIRE((no_more.high > exact.high || (no_more.high == exact.high && no_more.low >= exact.low)));
    if (q == 0) continue;
    auto const less = multiply(q - 1, d);
    REQUIRE((less.high < exact.high || (less.high == exact.high && less.low < exact.low)));
  }
}

TEST_CASE("divide: the quotient and the remainder of 128 bits") {
  ballast::splitmix64 draw(4);
  for (int i = 0; i < 1000; ++i) {
    auto const d = (draw() >> (i % 63)) | 1U, q = draw() >> (i % 60), rest = draw() % d;
    auto const found = divide(multiply(q, d) + wide{0, rest}, d);
    REQUIRE((found.whole == q && found.rest == rest));
  }
}

TEST_CASE("in_millionths: a ratio of integers of any size, rounded up") {
  STATIC_REQUIRE(in_millionths({}, {}) == 0);
  STATIC_REQUIRE(in_millionths({0, 1}, {0, 3}) == 333'334);
  STATIC_REQUIRE(in_millionths({6, 0}, {0, 3U << 20}) == 2'000'000LL << 44);
  STATIC_REQUIRE(in_millionths({3, 0}, {2, 0}) == 1'500'000);
  ballast::splitmix64 draw(5);
  for (int i = 0; i < 1000; ++i) {
    auto const a = draw() % (1U << 30), b = 1 + draw() % (1U << 30), factor = draw() >> (1 + i % 33);
    auto const expected = static_cast<std::int64_t>((a * 1'000'000 + b - 1) / b);
    REQUIRE(in_millionths({0, a}, {0, b}) == expected);
    if (factor >> 34 == 0) REQUIRE(in_millionths(multiply(a, factor + 1), multiply(b, factor + 1)) == expected);
  }
}

}  // namespace test_core_wide
