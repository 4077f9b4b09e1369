// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/loss/detail/quotient.hpp>

#include "support/catch.hpp"

#include <cstdint>

namespace test_loss_quotient {

using namespace ballast;

TEST_CASE("rounded_quotient: the nearest double, halves to even") {
  using detail::rounded_quotient;
  constexpr auto two_53 = std::uint64_t{1} << 53;
  CHECK(rounded_quotient(0, {5, 0}) == 0);
  CHECK(rounded_quotient(1, {0, 3}) == 1 / 3.0);
  CHECK(rounded_quotient(two_53 + 1, {0, 1}) == 0x1p53);          // a tie
  CHECK(rounded_quotient(two_53 + 3, {0, 1}) == 0x1p53 + 4);      // a tie
  CHECK(rounded_quotient(two_53 * 2 + 3, {0, 1}) == 0x1p54 + 4);  // above a tie
  CHECK(rounded_quotient(~std::uint64_t{0}, {0, 1}) == 0x1p64);
  CHECK(rounded_quotient(1, {std::uint64_t{1} << 38, 0}) == 0x1p-102);
  CHECK(rounded_quotient(3, {3, 3}) == 1 / 0x1p64);  // 1 / (2^64 + 1)
  splitmix64 draw(12);
  for (int i = 0; i < 5000; ++i) {
    // a quotient that is known: q of 53 bits, and q + 1/2 less or more than a hair
    auto const q = two_53 / 2 + draw() % (two_53 / 2);
    auto const d = 2 + draw() % ((std::uint64_t{1} << 10) - 2);
    auto const n = q * d + d / 2;  // q and a half, or just under
    auto const rounds_up = d % 2 == 0 && q % 2 == 1;
    if (rounded_quotient(n, {0, d}) != static_cast<double>(q + (rounds_up ? 1 : 0))) FAIL(n << " / " << d);
    if (rounded_quotient(n + 1, {0, d}) != static_cast<double>(q + 1)) FAIL(n + 1 << " / " << d);
    auto const shifted = wide{d >> 24, d << 40};  // the same over 2^40
    if (rounded_quotient(n, shifted) != static_cast<double>(q + (rounds_up ? 1 : 0)) * 0x1p-40) FAIL(n << " / " << d << " / 2^40");
  }
  for (int i = 0; i < 5000; ++i) {  // n / (n m) = 1 / m, with divisors of up to 116 bits
    auto const n = 1 + draw() / 2, m = 1 + draw() % (two_53 - 1);
    if (rounded_quotient(n, multiply(n, m)) != 1 / static_cast<double>(m)) FAIL(n << " / (" << n << " * " << m << ")");
  }
}

TEST_CASE("nearest_double: rounded once, halves to even, at every size") {
  splitmix64 draw(13);
  for (int i = 0; i < 20000; ++i) {  // q and a half in units of 2^(s + 1), and one unit less or more
    constexpr auto two_52 = std::uint64_t{1} << 52;
    auto const bits = i % 2 == 0 ? 32 : 44;
    auto const q = two_52 + draw() % two_52;
    auto const s = 1 + static_cast<int>(draw() % static_cast<unsigned>(bits + 9));
    auto const past = static_cast<int>(draw() % 3) - 1;
    auto units =
        multiply(2 * q + 1, std::uint64_t{1} << s) + (past < 0 ? wide{~std::uint64_t{0}, ~std::uint64_t{0}} : wide{0, past > 0 ? 1U : 0U});
    auto expected = static_cast<double>(q + (past > 0 || (past == 0 && q % 2 == 1) ? 1 : 0));
    for (int k = 0; k <= s; ++k) expected *= 2;
    for (auto const sign : {1.0, -1.0}) {
      auto const whole = static_cast<std::int64_t>(units.high << (64 - bits) | units.low >> bits);
      auto const parts = std::uint64_t{1} << bits;
      auto const found = detail::nearest_double(whole, static_cast<std::int64_t>(units.low & (parts - 1)), static_cast<double>(parts));
      if (found * static_cast<double>(parts) != sign * expected) FAIL(units.high << " * 2^64 + " << units.low << ", " << bits);
      units = wide{~units.high, ~units.low} + wide{0, 1};
    }
  }
}

}  // namespace test_loss_quotient
