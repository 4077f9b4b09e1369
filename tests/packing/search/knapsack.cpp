// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/detail/search/knapsack.hpp>
#include <ballast/packing/detail/search/length_shape.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace test_packing_search_knapsack {

TEST_CASE("pack_knapsack: the best pack, by its definition, and packs that are worth what it says", "[packing][property]") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const capacity = ballast_test::between(1, 150, draw);
    std::set<std::int64_t> distinct;
    for (int i = 0; i < 12; ++i) distinct.insert(ballast_test::between(1, capacity, draw));
    std::vector<std::int64_t> const sizes(distinct.begin(), distinct.end());
    std::vector<std::int32_t> values(sizes.size());
    for (auto& v : values) v = static_cast<std::int32_t>(ballast_test::between(0, 30, draw));
    std::vector<std::int64_t> most(static_cast<std::size_t>(capacity) + 1, 0);
    for (std::size_t room = 1; room < most.size(); ++room)
      for (std::size_t c = 0; c < sizes.size(); ++c)
        if (auto const size = static_cast<std::size_t>(sizes[c]); size <= room)
          most[room] = (std::max)(most[room], most[room - size] + values[c]);

    ballast::histogram const lengths{sizes, std::vector<std::uint64_t>(sizes.size(), 1)};
    ballast::detail::length_shape const shape{lengths, capacity};
    ballast::detail::pack_knapsack knapsack(shape, {}, sizes, capacity);
    REQUIRE(knapsack.solve(values) > 0);
    REQUIRE(knapsack.best() == most.back());
    ballast::detail::pooled_vector<ballast::pattern_item> pattern;
    for (std::size_t c = 0; c < sizes.size(); ++c) {
      REQUIRE(knapsack.best_with(c) == values[c] + most[static_cast<std::size_t>(capacity - sizes[c])]);
      (void)knapsack.pattern_with(c, pattern);
      std::int64_t tokens = 0, value = 0;
      bool holds = false;
      for (std::size_t i = 0; i < pattern.size(); ++i) {
        REQUIRE((i == 0 || pattern[i].item_class < pattern[i - 1].item_class));
        tokens += sizes[pattern[i].item_class] * pattern[i].copies;
        value += values[pattern[i].item_class] * std::int64_t{pattern[i].copies};
        holds = holds || pattern[i].item_class == c;
      }
      REQUIRE((holds && tokens <= capacity && value == knapsack.best_with(c)));
    }
  }
}

}  // namespace test_packing_search_knapsack
