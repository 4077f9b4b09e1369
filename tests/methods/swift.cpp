// SPDX-License-Identifier: Apache-2.0
#include <ballast/methods/swift.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_methods_swift {

using namespace ballast;
using namespace ballast_test;

TEST_CASE("swift::pack_in_windows: two windows by hand, the pack opened last goes into the second") {
  std::vector<int> const lengths{3, 6, 5, 4, 9, 2, 1};
  auto const packs = swift::pack_in_windows(lengths, 10, 4);  // 6 + 4 | 5 + 3 goes on: 9 | 5 + 3 + 2 and 1 beside 9
  REQUIRE(packs.size() == 3);
  CHECK(std::vector(packs[0].begin(), packs[0].end()) == std::vector<std::uint32_t>{1, 3});
  CHECK(std::vector(packs[1].begin(), packs[1].end()) == std::vector<std::uint32_t>{4, 6});
  CHECK(std::vector(packs[2].begin(), packs[2].end()) == std::vector<std::uint32_t>{2, 0, 5});
}

TEST_CASE("swift::pack_in_windows: no sample is lost, no pack too full, and one window is best fit of all", "[property]") {
  splitmix64 draw(4);
  for (std::size_t const n : {0U, 1U, 1000U, 1001U, 3700U})
    for (std::size_t const window : {std::size_t{1}, std::size_t{7}, std::size_t{1000}, n + 1}) {
      auto const lengths = random_lengths(n, 300, draw);
      auto const packs = swift::pack_in_windows(lengths, 1000, window);
      std::vector<int> seen(n, 0);
      for (auto const pack : packs) {
        std::int64_t tokens = 0;
        for (auto const i : pack) {
          ++seen[i];
          tokens += lengths[i];
        }
        REQUIRE(!pack.empty());
        REQUIRE(tokens <= 1000);
      }
      CHECK(std::count(seen.begin(), seen.end(), 1) == static_cast<std::ptrdiff_t>(n));
      auto const whole = best_fit_decreasing(lengths, {.capacity = 1000}).packs.size();
      if (window > n) CHECK(packs.size() == whole);
    }
  CHECK(refusal([&] { return swift::pack_in_windows(std::vector<int>{1}, 10, 0).size(); }) == "window = 0 must be positive");
  CHECK(refusal([&] { return swift::pack_in_windows(std::vector<int>{11}, 10).size(); }) ==
        "lengths[0] = 11 exceeds capacity 10 (see oversize policy)");
}

}  // namespace test_methods_swift
