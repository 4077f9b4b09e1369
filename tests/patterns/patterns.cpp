// SPDX-License-Identifier: Apache-2.0
#include <ballast/patterns/patterns.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <vector>

namespace test_patterns_patterns {

using ballast::pack_patterns;
using ballast::pattern_item;

TEST_CASE("pack_patterns: patterns go in and come out", "[patterns]") {
  pack_patterns p;
  CHECK(p.size() == 0);
  CHECK(p.packs() == 0);
  std::vector<pattern_item> const first{{2, 1}, {0, 3}}, second{{1, 5}};
  p.push_back(first, 4);
  p.push_back(second, 1'000'000'000'000);
  CHECK(p.size() == 2);
  CHECK(p.packs() == 1'000'000'000'004);
  CHECK(std::vector(p[0].begin(), p[0].end()) == first);
  CHECK(std::vector(p[1].begin(), p[1].end()) == second);
  auto const copy = p;
  CHECK(copy == p);
  p.clear();
  CHECK(p == pack_patterns{});
  CHECK_FALSE(copy == p);
}

TEST_CASE("expand: the packs of each pattern take the samples of their classes in order", "[patterns]") {
  pack_patterns p;
  p.push_back(std::vector<pattern_item>{{1, 2}, {0, 1}}, 2);
  p.push_back(std::vector<pattern_item>{{0, 1}}, 1);
  std::vector<std::uint32_t> const order{7, 8, 9, 3, 4, 5, 6};  // class 0: 7, 8, 9; class 1: 3 … 6
  ballast::groups<std::uint32_t> packs{{0, 1}, {99}};
  ballast::detail::expand(p, {0, 3}, order.data(), packs);
  CHECK(packs.offsets == std::vector<std::uint64_t>{0, 1, 4, 7, 8});
  CHECK(packs.members == std::vector<std::uint32_t>{99, 3, 4, 7, 5, 6, 8, 9});
}

}  // namespace test_patterns_patterns
