// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/level_time.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <limits>
#include <string>

namespace test_cost_level_time {

TEST_CASE("level_time: picoseconds in, nanoseconds out, each part rounded up", "[cost]") {
  constexpr ballast::level_time time{.per_pack = 1500, .per_token = 10, .per_square = 1};
  static_assert(time(2, 100, 1) == 3 + 1 + 1);
  static_assert(time(0, 0, 0) == 0);
  CHECK(time.of_sample()(7) == 7 * 10 + 49);
  // 10^12 tokens at a tenth of a millisecond: the product passes 2^63, the time does not.
  CHECK(ballast::level_time{.per_token = 100'000'000}(0, 1'000'000'000'000, 0) == 100'000'000'000'000'000);
}

TEST_CASE("level_time: what reaches 2^63 is refused", "[cost]") {
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  CHECK(ballast_test::refusal([&] { (void)ballast::level_time{.per_token = most}(0, 1000, 0); }).find("2^61 nanoseconds or more") !=
        std::string::npos);
  CHECK(ballast::level_time{.per_pack = most, .per_token = most, .per_square = most}(249, 249, 249) > 0);
  CHECK(ballast_test::refusal([&] { (void)ballast::level_time{.per_pack = -1}(1, 0, 0); }) ==
        "a level time of 1 times -1 picoseconds is negative, or 2^61 nanoseconds or more");
}

}  // namespace test_cost_level_time
