// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/core/sort.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"

namespace test_core_sort {
namespace {

using item = ballast::keyed_item<>;

TEST_CASE("items are sorted as by comparison, whatever the range of their keys", "[core]") {
  ballast::splitmix64 random(7);
  std::vector<item> scratch;
  for (std::size_t const count : {0U, 1U, 512U, 513U, 3000U})
    for (int const bits : {0, 1, 11, 12, 40, 64}) {
      std::vector<item> items(count);
      for (std::size_t i = 0; i < count; ++i) {
        auto const drawn = bits == 64 ? random() : random() & ((std::uint64_t{1} << bits) - 1);
        items[i] = {static_cast<std::int64_t>(drawn), static_cast<std::uint32_t>(i)};
      }
      if (count > 1 && bits == 64) items[1].key = (std::numeric_limits<std::int64_t>::min)();
      auto expected = items;
      std::sort(expected.begin(), expected.end());
      ballast::sort_largest_first(items, scratch);
      CHECK(std::equal(items.begin(), items.end(), expected.begin(), expected.end(),
                       [](auto const& a, auto const& b) { return a.key == b.key && a.item == b.item; }));
    }
}

TEST_CASE("numbers are sorted by any order", "[core]") {
  ballast::splitmix64 random(11);
  for (std::size_t const count : {0U, 1U, 2U, 17U, 1000U}) {
    std::vector<std::uint64_t> key(count);
    std::vector<std::uint32_t> numbers(count);
    for (std::size_t i = 0; i < count; ++i) {
      key[i] = random() % 8;
      numbers[i] = static_cast<std::uint32_t>(i);
    }
    auto const before = [&](std::uint32_t a, std::uint32_t b) { return key[a] != key[b] ? key[a] < key[b] : a > b; };
    auto expected = numbers;
    std::sort(expected.begin(), expected.end(), before);
    ballast::sort_by(numbers, before);
    CHECK(numbers == expected);
  }
}

TEST_CASE("numbers of falling values, asked for in any order, are those of a sort, of equal values by rank", "[core]") {
  ballast::splitmix64 random(13);
  for (std::size_t const count : {0U, 1U, 40U, 3000U}) {
    auto const rank = ballast::random_permutation<std::uint32_t>(count, random());
    std::vector<std::int64_t> values(count);
    for (auto& v : values) v = static_cast<std::int64_t>(random() % 50);
    std::vector<std::uint32_t> sorted(count);
    for (std::size_t i = 0; i < count; ++i) sorted[i] = static_cast<std::uint32_t>(i);
    std::sort(sorted.begin(), sorted.end(),
              [&](auto a, auto b) { return values[a] != values[b] ? values[a] > values[b] : rank[a] < rank[b]; });
    ballast::detail::falling_values<std::uint32_t> falling(values, rank);
    for (std::int64_t const least : {45, 20, 30, 20, 3, -1, 48}) {
      auto const above = falling.above(least);
      auto const end = std::find_if(sorted.begin(), sorted.end(), [&](auto i) { return values[i] <= least; });
      CHECK(std::equal(above.begin(), above.end(), sorted.begin(), end));
    }
  }
}

}  // namespace
}  // namespace test_core_sort
