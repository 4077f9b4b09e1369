// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/classes.hpp>

#include <ballast/core/random.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

namespace test_core_classes {

using ballast::fold;
using ballast_test::refusal;

namespace {

// The definition: count each value.
template <class R>
ballast::histogram counted(R const& lengths) {
  std::map<std::int64_t, std::uint64_t> counts;
  for (auto l : lengths) ++counts[static_cast<std::int64_t>(l)];
  ballast::histogram h;
  for (auto const& [length, count] : counts) {
    h.lengths.push_back(length);
    h.counts.push_back(count);
  }
  return h;
}

template <class T>
std::vector<T> random_lengths(std::size_t count, std::int64_t longest, std::uint64_t seed) {
  ballast::splitmix64 random(seed);
  std::vector<T> lengths(count);
  for (auto& l : lengths) l = static_cast<T>(1 + ballast::uniform_below(static_cast<std::uint64_t>(longest), random));
  return lengths;
}

}  // namespace

TEMPLATE_TEST_CASE("fold: counts every integer type", "", signed char, unsigned char, short, std::uint16_t, int, std::uint32_t,
                   std::int64_t, std::uint64_t) {
  auto const longest = std::int64_t{(std::numeric_limits<signed char>::max)()};
  for (auto count : {0U, 1U, 3U, 4U, 5U, 1000U})
    CHECK(fold(random_lengths<TestType>(count, longest, count)) == counted(random_lengths<TestType>(count, longest, count)));
  std::vector<TestType> const bad{1, 0, 1};
  CHECK(refusal([&] { return fold(bad); }) == "lengths[1] = 0 must be positive");
}

TEST_CASE("fold: tables of either width, sorting, and any range") {
  // 1000 samples are counted in a table up to 9024; tables beyond 16382 are no longer kept fourfold.
  for (auto longest :
       {std::int64_t{1}, std::int64_t{9024}, std::int64_t{9025}, std::int64_t{16382}, std::int64_t{16383}, std::int64_t{1} << 40}) {
    auto lengths = random_lengths<std::int64_t>(longest == 16382 || longest == 16383 ? 2501 : 1000, longest, 3);
    lengths.back() = longest;
    auto const expected = counted(lengths);
    CHECK(fold(lengths) == expected);
    CHECK(fold(std::deque<std::int64_t>(lengths.begin(), lengths.end())) == expected);
    CHECK(fold(lengths | std::views::reverse) == expected);
    CHECK(fold(std::span(lengths)) == expected);
    CHECK(expected.samples() == lengths.size());
    CHECK(expected.tokens() == std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}));
  }
  CHECK(fold(std::views::iota(1, 5)) == ballast::histogram{{1, 2, 3, 4}, {1, 1, 1, 1}});
}

TEST_CASE("fold: a refused call leaves the histogram as it was") {
  ballast::histogram out{{7}, {3}};
  ballast::fold_workspace workspace;
  auto const top = (std::numeric_limits<std::int64_t>::max)();
  for (auto const& bad : {std::vector<std::int64_t>{1, 0, 2}, {1, -1}, {top, 1}, {1 << 20, 0}})
    CHECK(ballast_test::refused_untouched(out, [&] { fold(bad, out, workspace); }));
}

TEST_CASE("fold: the first bad length is named") {
  auto const sentence = [](auto const& lengths) { return refusal([&] { return fold(lengths); }); };
  CHECK(sentence(std::vector<int>{5, 4, -2, -3}) == "lengths[2] = -2 must be positive");
  CHECK(sentence(std::vector<std::uint64_t>{1, std::uint64_t{1} << 63}) == "lengths[1] = 9223372036854775808 must be below 2^63");
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  CHECK(sentence(std::vector<std::int64_t>{most}) == "accepted");
  CHECK(sentence(std::vector<std::int64_t>{most - 1, 1}) == "accepted");
  CHECK(sentence(std::vector<std::int64_t>{1, most - 1, 1}) == "lengths[2] = 1 brings the sum of lengths to 2^63 or more");
}

}  // namespace test_core_classes
