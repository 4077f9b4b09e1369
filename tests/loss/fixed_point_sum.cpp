// SPDX-License-Identifier: Apache-2.0
#include <ballast/loss/fixed_point_sum.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace test_loss_fixed_point_sum {

using namespace ballast;

namespace {
constexpr auto infinity = std::numeric_limits<double>::infinity();
constexpr auto nan_value = std::numeric_limits<double>::quiet_NaN();

template <class T>
std::vector<T> random_losses(std::size_t n, splitmix64& draw, bool with_faults) {
  std::vector<T> out(n);
  for (auto& x : out) {
    auto const u = static_cast<double>(draw() >> 11) * 0x1p-53;
    x = static_cast<T>((draw() % 3 == 0 ? -1 : 12) * u * u);
    if (with_faults && draw() % 50 == 0) x = static_cast<T>(draw() % 3 == 0 ? nan_value : draw() % 2 == 0 ? -infinity : -1e18);
  }
  return out;
}
}  // namespace

TEST_CASE("fixed_point_sum: rounds each number once, halves away from zero") {
  auto const units = [](double x) {
    fixed_point_sum<2> sum;
    sum.add(x);
    return sum.value() * 4;
  };
  CHECK(units(0.75) == 3);
  CHECK(units(0.8) == 3);
  CHECK(units(0.875) == 4);
  CHECK(units(-0.875) == -4);
  CHECK(units(-0.8) == -3);
  CHECK(units(0.124999) == 0);
  CHECK(units(-1e-300) == 0);
  CHECK(units(0x1p52) == 0x1p54);
}

TEST_CASE("fixed_point_sum: the same integers for every partition, order and way of adding") {
  splitmix64 draw(8);
  auto const faults = GENERATE(false, true);
  auto losses = random_losses<float>(10000, draw, faults);
  fixed_point_sum<> whole;
  whole.add(losses);
  CHECK(whole.clean() == !faults);
  for (std::size_t const parts : {1U, 7U, 64U, 1000U}) {
    std::rotate(losses.begin(), losses.begin() + 333, losses.end());
    fixed_point_sum<> merged, reduced, single;
    for (std::size_t k = 0; k < parts; ++k) {
      auto const first = losses.size() * k / parts, last = losses.size() * (k + 1) / parts;
      fixed_point_sum<> part;
      part.add(std::span<float const>(losses).subspan(first, last - first));
      merged += part;
      for (std::size_t i = 0; i < part.words.size(); ++i) reduced.words[i] += part.words[i];
    }
    for (auto x : losses) single.add(x);
    CHECK(merged.words == whole.words);
    CHECK(single.words == whole.words);
    CHECK(reduced == whole);
    CHECK(reduced.value() == whole.value());
  }
  losses[7] += 1;
  fixed_point_sum<> other;
  other.add(losses);
  CHECK_FALSE(other == whole);
}

TEST_CASE("fixed_point_sum: within half a unit per number of the exact sum") {
  splitmix64 draw(9);
  auto const losses = random_losses<double>(5000, draw, false);
  long double exact = 0;
  for (auto x : losses) exact += x;
  fixed_point_sum<> coarse;
  fixed_point_sum<50> fine;
  coarse.add(losses);
  CHECK(std::abs(static_cast<long double>(coarse.value()) - exact) <= 5000 * 0x1p-25L);
  CHECK(std::abs(static_cast<long double>(coarse.value()) - exact) > 0);
  for (auto x : losses) fine.add(x);
  CHECK(std::abs(static_cast<long double>(fine.value()) - exact) <= 5000 * 0x1p-51L + 0x1p-53L * exact);
}

TEST_CASE("fixed_point_sum: what is too large is cut off, what is no number left out, and both are counted") {
  fixed_point_sum<> sum;
  sum.add(0x1p31);  // the limit
  CHECK((sum.saturated() == 1 && sum.value() == 0x1p31));
  sum.add(-1e300);
  CHECK((sum.saturated() == 2 && sum.value() == 0));
  sum.add(0x1p31 - 1);
  CHECK((sum.saturated() == 2 && sum.value() == 0x1p31 - 1));
  CHECK(sum.not_finite() == 0);
  CHECK_FALSE(sum.clean());
  fixed_point_sum<> broken;
  broken.add(1.5);
  broken.add(nan_value);
  broken.add(std::vector<double>{infinity, -infinity});
  CHECK((broken.not_finite() == 3 && broken.saturated() == 0 && broken.value() == 1.5));
}

TEST_CASE("fixed_point_sum: the value is the nearest double, however large the sum is") {
  fixed_point_sum<0> sum;
  sum.words = {(std::int64_t{1} << 54) + 2, 1, 0, 0};  // just past the middle of 2^86 and the next double
  CHECK(sum.value() == 0x1p86 + 0x1p34);
  sum.words[1] = 0;  // the middle
  CHECK(sum.value() == 0x1p86);
  sum.words = {-(std::int64_t{1} << 54) - 3, 0xffffffff, 0, 0};
  CHECK(sum.value() == -0x1p86 - 0x1p34);
}

TEST_CASE("fixed_point_sum: goes past 63 bits of units without loss") {
  fixed_point_sum<> sum;
  std::vector<double> const block(1000, 0x1p31 - 1);
  for (int i = 0; i < 300; ++i) sum.add(block);
  CHECK(sum.clean());
  CHECK(sum.value() == 300000.0 * (0x1p31 - 1));  // 2^73 units
  for (int i = 0; i < 300; ++i) sum.add(std::vector<double>(1000, 1 - 0x1p31));
  CHECK(sum == fixed_point_sum<>{});
}

}  // namespace test_loss_fixed_point_sum
