// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/degree_cost.hpp>

#include "support/catch.hpp"
#include "support/cost_border.hpp"

#include <cstdint>

namespace test_cost_degree_cost {

using ballast_test::int128;

TEST_CASE("degree_cost: FlexSP's constants give its formula, rounded up once") {
  // 7B on A100: a1 = 5.128e-6 ms, a2 = 0.1839576 ms; 8 ranks exchange 2^24 bytes a token at 96.5 GB/s.
  ballast::degree_cost const cost{.linear = 183957600, .square = 5128, .exchange = {0, 70176, 40304, 21733}};
  CHECK(cost(1, 1) == 183963);  // 183,957.6 + 5.128 ns
  CHECK(cost(32768, 8) == (int128{32768} * (183957600 + int128{5128} * 32768) + 8 * int128{21733} * 32768 + 7999) / 8000);
  CHECK(cost.exchange_of(1) == 0);
  CHECK(cost.exchange_of(2) == 70176);
  CHECK(cost.exchange_of(3) == 40304);
  CHECK(cost.exchange_of(64) == 21733);  // the last entry holds for all larger groups
  CHECK(ballast::degree_cost{.linear = 1000}(7, 3) == 3);
}

TEST_CASE("degree_cost: fits is false where the time would overflow or a constant is negative") {
  ballast::degree_cost const cost{.linear = 183957600, .square = 5128, .exchange = {0, 9}};
  CHECK(cost.fits(std::int64_t{1} << 20, 1));
  CHECK_FALSE(cost.fits(std::int64_t{1} << 31, 1));
  CHECK_FALSE(cost.fits(5, 0));
  CHECK_FALSE(cost.fits(-5, 1));
  CHECK_FALSE(ballast::degree_cost{.linear = -1}.fits(5, 1));
  CHECK_FALSE(ballast::degree_cost{.exchange = {-1}}.fits(5, 1));
}

}  // namespace test_cost_degree_cost
