// SPDX-License-Identifier: Apache-2.0
#include <ballast/streams/mixture.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace test_streams_mixture {

using ballast_test::refusal;

TEST_CASE("mixture: every source has its share at every point, and gives its samples evenly") {
  ballast::splitmix64 draw(3);
  for (int round = 0; round < 30; ++round) {
    std::vector<std::uint32_t> source;
    for (std::uint32_t s = 0; s < 4; ++s) source.insert(source.end(), 1 + draw() % 40, s);
    std::vector<std::int64_t> const share{1 + static_cast<std::int64_t>(draw() % 9), static_cast<std::int64_t>(draw() % 3), 7, 0};
    auto const sum = share[0] + share[1] + share[2];
    auto const order = ballast::mixture(source, share, 500, draw());
    std::vector<std::int64_t> drawn(4, 0), times(source.size(), 0);
    for (std::size_t k = 0; k < order.size(); ++k) {
      ++drawn[source[order[k]]];
      ++times[order[k]];
      for (std::size_t s = 0; s < 4; ++s) {
        auto const due = static_cast<std::int64_t>(k + 1) * share[s];
        REQUIRE((drawn[s] * sum < due + sum && drawn[s] * sum > due - sum));
      }
    }
    for (std::uint32_t s = 0; s < 4; ++s) {
      auto low = std::int64_t{1000}, high = std::int64_t{0};
      for (std::size_t i = 0; i < source.size(); ++i)
        if (source[i] == s) {
          low = (std::min)(low, times[i]);
          high = (std::max)(high, times[i]);
        }
      CHECK(high - low <= 1);
    }
  }
}

TEST_CASE("mixture: refuses shares that cannot be had") {
  std::vector<std::uint32_t> const source{0, 2};
  auto const refused = [&](std::vector<std::int64_t> const& share) {
    return refusal([&] { return ballast::mixture(source, share, 4, 0); });
  };
  CHECK(refused({1, 0}) == "source[1] = 2 has no share: there are 2");
  CHECK(refused({1, 1, 1}) == "share[1] = 1 but the source has no samples");
  CHECK(refused({1, 0, -1}) == "share[2] = -1 must be in 0 ... 2^31 - 1");
  CHECK(refused({0, 0, 0}) == "no share is positive");
  CHECK(refused({0, 0, 5}) == "accepted");
}

}  // namespace test_streams_mixture
