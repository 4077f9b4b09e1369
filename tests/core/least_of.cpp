// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/least_of.hpp>
#include <ballast/core/random.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace test_core_least_of {

using ballast::least_of;

TEST_CASE("least_of: the smallest number, of equal ones the first, after every change") {
  ballast::splitmix64 generator(7);
  for (std::size_t count = 0; count < 20; ++count) {
    least_of<> tree(count);
    std::vector<std::int64_t> numbers(count, 0);
    CHECK(tree.empty() == (count == 0));
    for (int change = 0; change < 200 && count > 0; ++change) {
      auto const least = std::min_element(numbers.begin(), numbers.end());
      REQUIRE(tree.empty() == (*least == tree.none));
      REQUIRE((tree.empty() || std::cmp_equal(tree.first(), least - numbers.begin())));
      auto const m = static_cast<std::size_t>(generator() % count);
      auto const value = static_cast<std::int64_t>(generator() % 9) - 4;
      if (change % 3 == 0) {
        tree.set(m, numbers[m] = value == 4 ? tree.none : value);
      } else if (numbers[m] != tree.none) {
        tree.add(m, value);
        numbers[m] += value;
      }
      REQUIRE(tree[m] == numbers[m]);
    }
  }
  least_of<> all_gone(3);
  for (std::size_t m = 0; m < 3; ++m) all_gone.set(m, all_gone.none);
  CHECK(all_gone.empty());
}

TEST_CASE("least_of: of equal numbers the one that a second comparison prefers, else the first") {
  ballast::splitmix64 generator(9);
  for (std::size_t count = 1; count < 20; ++count) {
    least_of<> tree(count);
    std::vector<std::pair<std::int64_t, std::uint64_t>> numbers(count);
    auto const sooner = [&](std::size_t a, std::size_t b) { return numbers[a].second < numbers[b].second; };
    for (std::size_t change = 0; change < 200 + count; ++change) {  // first each number once
      auto const m = change < count ? change : static_cast<std::size_t>(generator() % count);
      auto const value = static_cast<std::int64_t>(generator() % 4);
      numbers[m] = {value == 3 ? tree.none : value - 1, generator() % 3};
      tree.set(m, numbers[m].first, sooner);
      auto const least = std::min_element(numbers.begin(), numbers.end());
      if (change + 1 < count) continue;
      REQUIRE(tree.empty() == (least->first == tree.none));
      REQUIRE((tree.empty() || std::cmp_equal(tree.first(), least - numbers.begin())));
    }
  }
}

TEST_CASE("least_word: as least_of, for numbers below its limit") {
  ballast::splitmix64 generator(8);
  for (std::size_t count = 1; count < 20; ++count) {
    least_of<> tree(count);
    ballast::detail::least_word<> words;
    words.start(count);
    auto const most = static_cast<std::uint64_t>(words.limit(count));
    for (int change = 0; change < 200; ++change) {
      REQUIRE(words.empty() == tree.empty());
      REQUIRE((words.empty() || words.first() == tree.first()));
      auto const m = static_cast<std::size_t>(generator() % count);
      auto const value = static_cast<std::int64_t>(change % 2 == 0 ? generator() % 5 : most - 1 - generator() % 5);
      auto const set = generator() % 4 == 0 ? tree.none : value;
      tree.set(m, set);
      words.set(m, set);
    }
  }
}

}  // namespace test_core_least_of
