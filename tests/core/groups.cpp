// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/groups.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <span>
#include <vector>

namespace test_core_groups {

using ballast::groups;

namespace {
groups<> sample() {
  groups<> g;
  for (auto const& group : std::vector<std::vector<std::uint32_t>>{{4, 1}, {}, {0, 2, 3}, {7}}) g.push_back(group);
  return g;
}
}  // namespace

TEST_CASE("groups: a random-access range of spans") {
  STATIC_REQUIRE(std::ranges::random_access_range<groups<> const>);
  STATIC_REQUIRE(std::ranges::sized_range<groups<std::uint64_t>>);
  STATIC_REQUIRE(std::is_same_v<std::ranges::range_reference_t<groups<>>, std::span<std::uint32_t const>>);
  auto const g = sample();
  CHECK(std::ranges::max_element(g, {}, &std::span<std::uint32_t const>::size) - g.begin() == 2);
  std::vector<std::size_t> sizes;
  for (auto const group : g | std::views::reverse) sizes.push_back(group.size());
  CHECK(sizes == std::vector<std::size_t>{1, 3, 0, 2});
  auto const heavy = std::ranges::count_if(g, [](auto group) { return group.size() > 1; });
  CHECK(heavy == 2);
  CHECK(std::ranges::equal(g | std::views::join, g.members));
}

TEST_CASE("groups: iterators walk as pointers do") {
  auto const g = sample();
  auto const first = g.begin(), last = g.end();
  for (std::ptrdiff_t i = 0; i < 4; ++i) {
    auto it = first + i;
    CHECK(it - first == i);
    CHECK(first - it == -i);
    CHECK((*it).data() == first[i].data());
    CHECK((i + first == it && it - i == first && it < last && it >= first));
    auto const old = it++;
    CHECK((old == first + i && it == first + (i + 1)));
    CHECK((--it == old && it-- == old));
    CHECK(it == first + (i - 1));
  }
  CHECK(last - first == 4);
}

TEST_CASE("groups: holds what was pushed, and compares by value") {
  auto g = sample();
  CHECK(g.offsets == std::vector<std::uint64_t>{0, 2, 2, 5, 6});
  CHECK(g.members == std::vector<std::uint32_t>{4, 1, 0, 2, 3, 7});
  CHECK(std::ranges::equal(g[2], std::vector<std::uint32_t>{0, 2, 3}));
  CHECK((g.size() == 4 && !g.empty()));
  CHECK(g == sample());
  g.push_back({});
  CHECK(g != sample());  // an empty group counts
  g.clear();
  CHECK((g == groups<>{} && g.empty() && g.begin() == g.end()));
  groups<> moved_from;
  moved_from.offsets.clear();
  CHECK(moved_from.empty());
}

}  // namespace test_core_groups
