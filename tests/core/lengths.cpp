// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/lengths.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <deque>
#include <limits>
#include <ranges>
#include <type_traits>
#include <vector>

namespace test_core_lengths {

using ballast::extent_of;
using ballast_test::refusal;
using extent = ballast::length_extent;

TEST_CASE("read_by_position: a pointer where memory is contiguous, and the same numbers where not") {
  std::vector<int> const lengths{4, 1, 7};
  std::deque<int> const apart(lengths.begin(), lengths.end());
  auto const near = ballast::read_by_position(lengths);
  STATIC_REQUIRE(std::is_same_v<decltype(near), int const* const>);
  auto const far = ballast::read_by_position(apart);
  auto const turned = ballast::read_by_position(lengths | std::views::reverse);
  for (std::size_t i = 0; i < 3; ++i) CHECK((near[i] == lengths[i] && far[i] == lengths[i] && turned[i] == lengths[2 - i]));
}

TEST_CASE("extent_of: the shortest, the longest and the sum of any range") {
  CHECK(extent_of(std::vector<int>{}) == extent{});
  CHECK(extent_of(std::vector<std::uint8_t>{200, 3, 100}) == extent{3, 200, 303});
  CHECK(extent_of(std::views::iota(2, 5)) == extent{2, 4, 9});
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  CHECK(extent_of(std::deque<std::int64_t>{most - 1, 1}) == extent{1, most - 1, most});
}

TEST_CASE("extent_of: names the first bad length") {
  auto const says = [](auto const& lengths) { return refusal([&] { return extent_of(lengths); }); };
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  CHECK(says(std::vector<int>{5, 0, -2}) == "lengths[1] = 0 must be positive");
  CHECK(says(std::vector<std::uint64_t>{1, std::uint64_t{1} << 63}) == "lengths[1] = 9223372036854775808 must be below 2^63");
  CHECK(says(std::vector<std::int64_t>{1, most - 1, 2}) == "lengths[2] = 2 brings the sum of lengths to 2^63 or more");
  CHECK(says(std::vector<std::int64_t>{most, most, most}) == "lengths[1] = 9223372036854775807 brings the sum of lengths to 2^63 or more");
}

}  // namespace test_core_lengths
