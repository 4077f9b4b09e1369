// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/range_maximum.hpp>

#include <ballast/core/random.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace test_core_range_maximum {

TEST_CASE("range_maximum: every range of sequences of every length up to 40") {
  ballast::splitmix64 draw(7);
  for (std::size_t n = 0; n <= 40; ++n) {
    std::vector<std::int64_t> values(n);
    for (auto& v : values) v = static_cast<std::int64_t>(ballast::uniform_below(20, draw)) - 30;
    ballast::range_maximum const largest{std::span<std::int64_t const>(values)};
    for (std::size_t begin = 0; begin <= n; ++begin)
      for (std::size_t end = begin; end <= n; ++end) {
        CAPTURE(n, begin, end);
        auto const at = values.begin();
        auto const expected =
            begin == end ? 0 : *std::max_element(at + static_cast<std::ptrdiff_t>(begin), at + static_cast<std::ptrdiff_t>(end));
        REQUIRE(largest(begin, end) == expected);
      }
  }
  CHECK(ballast::range_maximum<std::int64_t>()(0, 0) == 0);
}

}  // namespace test_core_range_maximum
