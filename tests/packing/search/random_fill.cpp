// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/detail/search/random_fill.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace test_packing_search_random_fill {

using ballast_test::between;

TEST_CASE("subset_sums: the sums of a few items, and items that have them", "[packing][property]") {
  ballast::detail::subset_sums sums;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const most = static_cast<std::size_t>(between(1, 300, draw));
    std::vector<std::size_t> items(static_cast<std::size_t>(between(0, 9, draw)));
    std::set<std::size_t> expected{0};
    sums.reset(most);
    for (std::uint32_t i = 0; i < items.size(); ++i) {
      items[i] = static_cast<std::size_t>(between(1, 150, draw));
      sums.add(i, items[i]);
      auto const before = expected;
      for (auto const s : before)
        if (s + items[i] <= most) expected.insert(s + items[i]);
    }
    for (std::size_t s = 0; s <= most; ++s) REQUIRE(sums.reaches(s) == (expected.count(s) != 0));
    REQUIRE(sums.best() == *expected.rbegin());
    auto const h = ballast::fold(std::vector<std::int64_t>(items.begin(), items.end()));
    ballast::detail::stock const stock(h, 150);
    ballast::detail::pooled_vector<std::uint32_t> classes, chosen;
    for (auto const length : items)
      classes.push_back(
          static_cast<std::uint32_t>(std::ranges::lower_bound(h.lengths, static_cast<std::int64_t>(length)) - h.lengths.begin()));
    REQUIRE(sums.take_best(stock, classes, chosen) == static_cast<std::int64_t>(*expected.rbegin()));
    std::int64_t sum = 0;
    for (auto const k : chosen) sum += stock.length(k);
    REQUIRE(sum == static_cast<std::int64_t>(*expected.rbegin()));
    REQUIRE(std::ranges::count(classes, ballast::detail::subset_sums::taken) ==
            static_cast<std::ptrdiff_t>(chosen.size()));  // each item once
  }
}

TEST_CASE("random_filler: every sample in one pack, none too full, in no more packs than allowed", "[packing][property]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const capacity = between(1, seed % 3 == 0 ? std::int64_t{1} << 45 : 5000, draw);
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(between(1, 400, draw)));
    for (auto& l : lengths) l = between(1, (std::max)(capacity / between(1, 12, draw), std::int64_t{1}), draw);
    auto const h = ballast::fold(lengths);
    ballast::detail::stock stock(h, capacity);
    ballast::detail::random_filler filler(capacity);
    ballast::search_budget budget({});
    ballast::detail::pooled_patterns plan;
    REQUIRE(filler.run(stock, draw, ~std::uint64_t{0}, budget, ~std::uint64_t{0}, plan));
    REQUIRE(stock.samples() == 0);
    REQUIRE(budget.spent() > 0);
    std::vector<std::uint64_t> placed(h.lengths.size(), 0);
    for (std::size_t p = 0; p < plan.size(); ++p) {
      std::int64_t tokens = 0;
      for (auto const& [c, copies] : plan[p]) {
        placed[c] += copies * plan.repeats[p];
        tokens += h.lengths[c] * copies;
      }
      REQUIRE((tokens > 0 && tokens <= capacity));
    }
    REQUIRE(placed == h.counts);
    auto const packs = plan.packs();
    stock.reset(h.counts);
    plan.clear();
    auto const too_few = static_cast<std::uint64_t>((h.tokens() + capacity - 1) / capacity - 1);
    REQUIRE_FALSE(filler.run(stock, draw, too_few, budget, ~std::uint64_t{0}, plan));
    REQUIRE(plan.packs() == too_few);
    stock.reset(h.counts);
    REQUIRE_FALSE(filler.run(stock, draw, packs, budget, budget.spent(), plan));  // no work is left
  }
}

TEST_CASE("random_filler: hardly a token stays empty where packs hold many samples", "[packing]") {
  ballast::splitmix64 draw(3);
  std::vector<std::int64_t> lengths(20'000);
  for (auto& l : lengths) l = 40 + between(0, 360, draw) * between(0, 3, draw);
  auto const h = ballast::fold(lengths);
  for (std::int64_t const capacity : {8192, 32768}) {
    ballast::detail::stock stock(h, capacity);
    ballast::detail::random_filler filler(capacity);
    ballast::search_budget budget({});
    ballast::detail::pooled_patterns plan;
    REQUIRE(filler.run(stock, draw, ~std::uint64_t{0}, budget, ~std::uint64_t{0}, plan));
    CHECK(static_cast<std::int64_t>(plan.packs()) == (h.tokens() + capacity - 1) / capacity);
  }
}

}  // namespace test_packing_search_random_fill
