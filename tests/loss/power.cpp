// SPDX-License-Identifier: Apache-2.0
#include <ballast/loss/detail/power.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <cmath>
#include <cstdint>

namespace test_loss_power {

using namespace ballast;
using ballast_test::between;

TEST_CASE("power_of: exact where the power is a power of two") {
  using detail::power_of, detail::to_double, detail::whole_exponent;
  CHECK(to_double(power_of(1, whole_exponent / 3)) == 1);
  CHECK(to_double(power_of(16, whole_exponent / 4)) == 2);
  CHECK(to_double(power_of(std::uint64_t{1} << 39, whole_exponent)) == 0x1p39);
  CHECK(to_double(power_of(123456, 0)) == 1);
}

TEST_CASE("power_of: within 2^-52 as a double, against long double") {
  splitmix64 draw(10);
  for (int i = 0; i < 20000; ++i) {
    auto const count = static_cast<std::uint64_t>(i < 5000 ? i + 1 : between(1, (std::int64_t{1} << between(1, 40, draw)) - 1, draw));
    auto const power = draw() % (detail::whole_exponent + 1);
    auto const exact = std::pow(static_cast<long double>(count), static_cast<long double>(power) * 0x1p-62L);
    auto const found = static_cast<long double>(detail::to_double(detail::power_of(count, power)));
    if (!(std::abs(found - exact) <= exact * 0x1p-52L)) FAIL(count << " to the " << power << " / 2^62");
  }
}

TEST_CASE("complement_power: rounded down to 2^-44") {
  splitmix64 draw(11);
  for (int i = 0; i < 20000; ++i) {
    auto const count = i < 5000 ? i + 1 : between(1, (std::int64_t{1} << between(1, 40, draw)) - 1, draw);
    auto const power = i % 2 == 0 ? detail::whole_exponent / 2 : 1 + draw() % (detail::whole_exponent - 1);
    auto const [whole, fraction] = detail::complement_power(count, power);
    auto const exact = std::pow(static_cast<long double>(count), 1 - static_cast<long double>(power) * 0x1p-62L);
    auto const found = static_cast<long double>(whole) + static_cast<long double>(fraction) * 0x1p-44L;
    if (!(fraction >= 0 && fraction <= detail::fraction_mask && std::abs(found - exact) <= 0x1p-44L + exact * 0x1p-53L))
      FAIL(count << " to the 1 - " << power << " / 2^62");
  }
}

}  // namespace test_loss_power
