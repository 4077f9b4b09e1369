// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <vector>

namespace test_core_random {

TEST_CASE("splitmix64: the published sequences") {
  STATIC_REQUIRE(std::uniform_random_bit_generator<ballast::splitmix64>);
  auto const first = [](std::uint64_t seed) {
    ballast::splitmix64 random(seed);
    std::array<std::uint64_t, 5> draws{};
    for (auto& d : draws) d = random();
    return draws;
  };
  // Vigna's splitmix64.c, as listed with the xoshiro generators and on Rosetta Code.
  CHECK(first(1234567) == std::array<std::uint64_t, 5>{6457827717110365317U, 3203168211198807973U, 9817491932198370423U,
                                                       4593380528125082431U, 16408922859458223821U});
  CHECK(first(0)[0] == 0xe220a8397b1dcdafU);
}

TEST_CASE("uniform_below: every outcome has the same number of draws") {
  // Of the 2^64 draws the first 2^64 mod bound are refused, and the rest are taken modulo the bound: a multiple of `bound` consecutive
  // draws.
  struct one_then_five {
    std::uint64_t draw;
    int calls = 0;
    std::uint64_t operator()() { return calls++ == 0 ? draw : (std::numeric_limits<std::uint64_t>::max)() - 5; }
  };
  constexpr auto last = (std::numeric_limits<std::uint64_t>::max)();
  std::vector<std::uint64_t> bounds{std::uint64_t{1} << 32, (std::uint64_t{1} << 63) + 1, last, last - 1, 10000000000000000000U};
  for (std::uint64_t b = 1; b <= 300; ++b) bounds.push_back(b);
  for (auto bound : bounds) {
    auto const refused = (last % bound + 1) % bound;
    CAPTURE(bound, refused);
    one_then_five first{refused}, end{last};  // the accepted draws are consecutive and begin where they end: whole rounds of the outcomes
    CHECK(ballast::uniform_below(bound, first) == refused);
    CHECK(ballast::uniform_below(bound, end) == (refused == 0 ? bound : refused) - 1);
    CHECK((first.calls == 1 && end.calls == 1));
    if (refused == 0) continue;
    one_then_five below{refused - 1};
    CHECK(ballast::uniform_below(bound, below) == (last - 5) % bound);
    CHECK(below.calls == 2);
  }
}

TEST_CASE("random_permutation: a permutation, each as likely as the others, the same everywhere") {
  for (auto n : {0U, 1U, 2U, 1000U}) {
    auto order = ballast::random_permutation(n, 42);
    CHECK((n < 1000 || order != ballast::random_permutation(n, 43)));
    CHECK(std::ranges::equal(ballast::random_permutation<std::uint64_t>(n, 42), order));
    std::sort(order.begin(), order.end());
    std::vector<std::uint32_t> expected(n);
    std::iota(expected.begin(), expected.end(), 0U);
    CHECK(order == expected);
  }
  std::map<std::vector<std::uint32_t>, int> seen;
  for (std::uint64_t seed = 0; seed < 24000; ++seed) ++seen[ballast::random_permutation(4, seed)];
  CHECK(seen.size() == 24);
  for (auto const& [order, times] : seen) CHECK((times > 850 && times < 1150));  // 1000 each, five standard deviations either way
  CHECK(ballast::random_permutation(8, 2024) == std::vector<std::uint32_t>{2, 5, 7, 4, 6, 3, 0, 1});
}

}  // namespace test_core_random
