// SPDX-License-Identifier: Apache-2.0
#include <ballast/curriculum/apportion.hpp>

#include "suite.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace test_curriculum_apportion {

using ballast_test::between;
using ballast_test::refusal;
using counts = std::vector<std::uint64_t>;

TEST_CASE("largest_remainder: shares out exactly, each quota rounded down or up, largest remainders first") {
  ballast::splitmix64 draw(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int64_t> share(1 + draw() % 7);
    for (auto& s : share) s = between(0, 50, draw);
    share[0] += 1;
    auto const sum = std::accumulate(share.begin(), share.end(), std::int64_t{0});
    auto const total = between(0, 400, draw);
    auto const got = ballast::largest_remainder(share, static_cast<std::uint64_t>(total));
    REQUIRE(std::accumulate(got.begin(), got.end(), std::uint64_t{0}) == static_cast<std::uint64_t>(total));
    auto least_up = sum, most_down = std::int64_t{0};  // remainders of those rounded up, and of the others
    for (std::size_t i = 0; i < share.size(); ++i) {
      auto const floor = total * share[i] / sum, rest = total * share[i] % sum, mine = static_cast<std::int64_t>(got[i]);
      REQUIRE((mine == floor || (mine == floor + 1 && rest > 0)));
      if (mine > floor) least_up = (std::min)(least_up, rest);
      if (mine == floor) most_down = (std::max)(most_down, rest);
    }
    REQUIRE(most_down <= least_up);
  }
  CHECK(ballast::largest_remainder(std::vector<std::int64_t>{1, 1, 1}, 5) == counts{2, 2, 1});
  CHECK(ballast::largest_remainder(std::vector<std::int64_t>{}, 0).empty());
}

TEST_CASE("largest_remainder: exact where products pass 2^64") {
  auto const big = (std::numeric_limits<std::int64_t>::max)() / 2;
  CHECK(ballast::largest_remainder(std::vector<std::int64_t>{big, 1, big}, 1000000001) == counts{500000001, 0, 500000000});
  CHECK(ballast::largest_remainder(std::vector<std::int64_t>{big - 1, big}, 9) == counts{4, 5});
}

TEST_CASE("largest_remainder: refuses shares that are none") {
  auto const refused = [](std::vector<std::int64_t> const& share, std::uint64_t total) {
    return refusal([&] { return ballast::largest_remainder(share, total); });
  };
  CHECK(refused({1, -2}, 3) == "share[1] = -2 must not be negative");
  CHECK(refused({0, 0}, 3) == "no share is positive, but total = 3");
  CHECK(refused({(std::numeric_limits<std::int64_t>::max)(), 1}, 3) == "share[1] brings the sum of shares to 2^63 or more");
  CHECK(refused({0, 0}, 0) == "accepted");
}

TEST_CASE("steps_of_passes: half a pass here, three there, and the sum is exact") {
  ballast_test::sources const given{{.setting = {}, .steps = 101}, {.setting = {}, .steps = 7}, {.setting = {}, .steps = 0}};
  CHECK(ballast::steps_of_passes(given, std::vector<std::uint32_t>{500, 3000, 1000}) == counts{51, 21, 0});  // 71.5 steps: 72
  CHECK(ballast::steps_of_passes(given, std::vector<std::uint32_t>{1000, 1000, 1000}) == counts{101, 7, 0});
  CHECK(ballast::steps_of_passes(given, std::vector<std::uint32_t>{0, 0, 5}) == counts{0, 0, 0});
  auto const refused = [&](std::vector<std::uint32_t> const& passes) {
    return refusal([&] { return ballast::steps_of_passes(given, passes); });
  };
  CHECK(refused({1, 2}) == "thousandths has 2 entries for 3 sources");
  CHECK(refused({1, 2000000, 3}) == "thousandths[1] = 2000000 exceeds 10^6");
}

}  // namespace test_curriculum_apportion
