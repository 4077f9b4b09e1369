// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/raise_pack_count.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace test_packing_raise_pack_count {

using pack_groups = ballast::groups<std::uint32_t>;

namespace {

/// The smallest total weight of `moves` members that can leave their packs so that none of these becomes empty, by trying all sets of
/// members.
std::int64_t lightest_move(pack_groups const& p, std::vector<std::int64_t> const& weight, std::size_t moves) {
  auto best = (std::numeric_limits<std::int64_t>::max)();
  for (std::uint32_t chosen = 0; chosen < std::uint32_t{1} << p.members.size(); ++chosen) {
    if (static_cast<std::size_t>(std::popcount(chosen)) != moves) continue;
    std::int64_t total = 0;
    bool empties = false;
    for (std::size_t g = 0; g < p.size(); ++g) {
      std::size_t left = 0;
      for (auto const m : p[g]) (chosen >> m & 1) != 0 ? total += weight[m] : static_cast<std::int64_t>(++left);
      empties = empties || left == 0;
    }
    if (!empties) best = (std::min)(best, total);
  }
  return best;
}

}  // namespace

TEST_CASE("raise_pack_count: moves as few and as light samples as can be, and nothing else") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const n = 1 + draw() % 9;
    auto const weight = ballast_test::random_lengths(n, 6, draw);  // ties are frequent
    pack_groups before;
    before.members = ballast::random_permutation(n, draw());
    while (before.offsets.back() < n) before.offsets.push_back(before.offsets.back() + 1 + draw() % (n - before.offsets.back()));
    auto const count = before.size() + draw() % (n - before.size() + 1);
    auto const moves = count - before.size();
    auto const weigh = [&](std::uint32_t i) { return weight[i]; };
    auto after = before;
    REQUIRE(raise_pack_count(after, count, weigh));
    REQUIRE(after.size() == count);

    std::vector<std::uint32_t> moved(after.members.end() - static_cast<std::ptrdiff_t>(moves), after.members.end());
    std::int64_t total = 0;
    for (auto m : moved) total += weight[m];
    REQUIRE((moves == 0 || total == lightest_move(before, weight, moves)));
    REQUIRE(
        std::is_sorted(moved.begin(), moved.end(), [&](auto a, auto b) { return weight[a] != weight[b] ? weight[a] < weight[b] : a < b; }));
    for (std::size_t g = 0; g < before.size(); ++g) {  // what stays keeps its place and its order
      std::vector<std::uint32_t> stays;
      for (auto m : before[g])
        if (std::find(moved.begin(), moved.end(), m) == moved.end()) stays.push_back(m);
      REQUIRE(std::equal(stays.begin(), stays.end(), after[g].begin(), after[g].end()));
      REQUIRE(!after[g].empty());
    }
    for (auto g = before.size(); g < count; ++g) REQUIRE((after[g].size() == 1 && after[g][0] == moved[g - before.size()]));

    auto untouched = before;
    REQUIRE(!raise_pack_count(untouched, n + 1, weigh));
    REQUIRE((before.size() == 1 || !raise_pack_count(untouched, before.size() - 1, weigh)));
    REQUIRE(untouched == before);
  }
}

TEST_CASE("raise_pack_count: equal weights move the lower index") {
  pack_groups p{{0, 3}, {2, 0, 1}};
  CHECK(raise_pack_count(p, 2, [](std::uint32_t) { return 1; }));
  CHECK(p == pack_groups{{0, 2, 3}, {2, 1, 0}});
}

}  // namespace test_packing_raise_pack_count
