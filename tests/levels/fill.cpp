// SPDX-License-Identifier: Apache-2.0
#include <ballast/levels/fill.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace test_levels_fill {

using lengths_t = std::vector<std::int64_t>;
using indices = std::vector<std::uint32_t>;

namespace {

// The definition: the fullest pack first, the first of the longest spare samples that fit, until none does.
indices fill_by_definition(std::vector<indices>& packs, lengths_t const& lengths, std::int64_t capacity, indices spare) {
  std::vector<std::size_t> order(packs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  auto const room = [&](std::size_t p) {
    auto left = capacity;
    for (auto i : packs[p]) left -= lengths[i];
    return left;
  };
  std::vector<std::int64_t> before;
  for (std::size_t p = 0; p < packs.size(); ++p) before.push_back(room(p));
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return std::pair(before[a], a) < std::pair(before[b], b); });
  for (auto p : order)
    for (;;) {
      auto best = spare.size();
      for (std::size_t s = 0; s < spare.size(); ++s)
        if (lengths[spare[s]] <= room(p) && (best == spare.size() || lengths[spare[s]] > lengths[spare[best]])) best = s;
      if (best == spare.size()) break;
      packs[p].push_back(spare[best]);
      spare.erase(spare.begin() + static_cast<std::ptrdiff_t>(best));
    }
  return spare;
}

}  // namespace

TEST_CASE("greedy_fill: what its definition says, sample for sample", "[packing][property]") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    ballast::splitmix64 draw(seed);
    auto const capacity = ballast_test::between(20, 400, draw);
    auto const n = static_cast<std::size_t>(ballast_test::between(0, 60, draw));
    auto lengths = ballast_test::random_lengths(n, capacity, draw);
    auto const given = static_cast<std::size_t>(ballast_test::between(0, static_cast<std::int64_t>(n), draw));
    auto const first = lengths_t(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(given));
    auto packs = ballast::best_fit_decreasing(first, {.capacity = capacity}).packs;
    for (auto i = given; i < n; ++i) lengths[i] = 1 + lengths[i] / 4;
    indices spare(n - given);
    std::iota(spare.begin(), spare.end(), static_cast<std::uint32_t>(given));
    std::vector<indices> expected;
    for (auto const pack : packs) expected.emplace_back(pack.begin(), pack.end());
    CAPTURE(seed, capacity, n, given);
    auto const stays = fill_by_definition(expected, lengths, capacity, spare);
    CHECK(ballast::greedy_fill<std::uint32_t>(packs, lengths, capacity, spare) == stays);
    REQUIRE(packs.size() == expected.size());
    for (std::size_t p = 0; p < packs.size(); ++p) CHECK(indices(packs[p].begin(), packs[p].end()) == expected[p]);
  }
}

TEST_CASE("greedy_fill: lengths too long for a table", "[packing]") {
  lengths_t const lengths{std::int64_t{1} << 40, (std::int64_t{1} << 39) - 1, 7, std::int64_t{1} << 39};
  ballast::groups<> packs;
  packs.push_back(indices{0});
  auto const stays =
      ballast::greedy_fill<std::uint32_t>(packs, lengths, (std::int64_t{1} << 40) + (std::int64_t{1} << 39) + 6, indices{1, 2, 3});
  CHECK(packs.members == indices{0, 3});
  CHECK(stays == indices{1, 2});
}

TEST_CASE("greedy_fill: bad input is refused", "[packing]") {
  ballast::groups<> packs;
  packs.push_back(indices{0});
  lengths_t const lengths{10, 0, -3, 1, (std::numeric_limits<std::int64_t>::max)()};
  auto const fill = [&](std::int64_t capacity, indices const& spare) {
    auto const before = packs;
    auto const said = ballast_test::refusal([&] { return ballast::greedy_fill<std::uint32_t>(packs, lengths, capacity, spare); });
    CHECK(packs == before);
    return said;
  };
  CHECK(fill(9, {}) == "packs[0] exceeds capacity 9");
  CHECK(fill(10, {5}) == "member 5 is out of range: there are 5 samples");
  CHECK(fill(10, {1}) == "lengths[1] = 0 must be positive");
  CHECK(fill(20, {3, 2}) == "lengths[2] = -3 must be positive");
  CHECK(fill(20, {3, 3}) == "sample 3 occurs twice in packs and spare");
  CHECK(fill(20, {0}) == "sample 0 occurs twice in packs and spare");
  CHECK(fill(-1, {3}) == "capacity = -1 must not be negative");
  packs.push_back(indices{3, 2});  // -3 would hide an overfull pack
  CHECK(fill(10, {}) == "lengths[2] = -3 must be positive");
  packs = {};
  packs.push_back(indices{0, 4});
  CHECK(fill(10, {}) == "packs[0] exceeds capacity 10");
  packs.push_back(indices{3, 3});
  CHECK(fill((std::numeric_limits<std::int64_t>::max)(), {}) == "packs[0] exceeds capacity 9223372036854775807");
}

}  // namespace test_levels_fill
