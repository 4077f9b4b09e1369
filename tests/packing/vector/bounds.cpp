// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/vector/bounds.hpp>

#include "support/catch.hpp"
#include "support/vector_cases.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace test_packing_vector_bounds {

using ballast::incompatible_bound;
using ballast::vector_bound;
using ballast::vector_lower_bound;
using ballast_test::random_vector_case;

namespace {
constexpr auto no_limit = (std::numeric_limits<std::uint64_t>::max)();
}

TEST_CASE("vector bounds: never above the fewest packs", "[packing][property]") {
  int tight = 0, clashed = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const c = random_vector_case(1 + seed % 8, 1 + draw() % 4, draw);
    auto const classes = c.classes();
    auto const fewest = ballast_test::fewest_vector_packs(c).value();
    auto const clashes = incompatible_bound(classes, c.capacity);
    auto const best = vector_lower_bound(classes, c.capacity);
    REQUIRE(clashes.packs <= fewest);
    REQUIRE(clashes.packs >= 1);
    REQUIRE(best.packs <= fewest);
    REQUIRE(best.packs >= clashes.packs);
    for (std::size_t m = 0; m < c.measures(); ++m)
      REQUIRE(best.packs >= ballast::packing_lower_bound(ballast::detail::project(classes, m), c.capacity[m], no_limit).packs);
    auto const enough = ballast_test::between(1, best.packs, draw);
    auto const early = vector_lower_bound(classes, c.capacity, enough);
    REQUIRE((early.packs >= enough && early.packs <= best.packs));
    tight += best.packs == fewest;
    clashed += best.bound == vector_bound::incompatible;
  }
  CHECK(tight > 1450);
  CHECK(clashed > 20);
}

TEST_CASE("vector bounds: full packs of any kind need one pack each", "[packing][property]") {
  // So many copies of one full pack leave no room for a function that gives a sample a little too much.
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const k = 2 + draw() % 3;
    std::vector<std::int64_t> capacity(k);
    for (auto& x : capacity) x = ballast_test::between(5, draw() % 2 == 0 ? 20 : 5000, draw);
    auto left = capacity;
    std::vector<std::vector<std::int64_t>> pack;
    for (int i = 0; i < 6; ++i) {
      std::vector<std::int64_t> row(k);
      for (std::size_t m = 0; m < k; ++m) {
        row[m] = i == 5 ? left[m] : ballast_test::between(0, left[m] / 2 + 1, draw);
        row[m] = (std::min)(row[m], left[m]);
        left[m] -= row[m];
      }
      if (std::any_of(row.begin(), row.end(), [](auto v) { return v > 0; })) pack.push_back(row);
    }
    std::sort(pack.begin(), pack.end());
    std::uint64_t const copies = 1 + draw() % 100000;
    ballast::measure_classes classes{k, {}, {}};
    for (std::size_t i = 0; i < pack.size(); ++i)
      if (i > 0 && pack[i] == pack[i - 1]) {
        classes.counts.back() += copies;
      } else {
        classes.values.insert(classes.values.end(), pack[i].begin(), pack[i].end());
        classes.counts.push_back(copies);
      }
    REQUIRE(vector_lower_bound(classes, capacity).packs == static_cast<std::int64_t>(copies));
  }
}

TEST_CASE("vector bounds: one measure has the bounds of one measure", "[packing][property]") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const capacity = ballast_test::between(1, 300, draw);
    auto const lengths = ballast_test::random_lengths(1 + draw() % 100, capacity, draw);
    auto const one = ballast::packing_lower_bound(ballast::fold(lengths), capacity, no_limit);
    auto const found = vector_lower_bound(ballast::classify(ballast::sample_measures{lengths}).classes, std::vector{capacity});
    REQUIRE(found.packs == one.packs);
    REQUIRE(found.measure == 0);
  }
}

TEST_CASE("incompatible_bound: counts samples that clash", "[packing]") {
  // The counts of tiles in OmniBal's four files: no two samples of five tiles share a pack of nine.
  ballast::measure_classes const tiles{2, {1, 400, 3, 900, 4, 1200, 5, 1400}, {6387, 23977, 652, 39690}};
  std::int64_t const nine[] = {9, 4096};
  auto const five = incompatible_bound(tiles, nine);
  CHECK(five.packs == 39690);
  CHECK(five.bound == vector_bound::incompatible);
  CHECK(five.measure == 0);
  CHECK(vector_lower_bound(tiles, nine).packs == 39690);

  // Clashes in different measures: two long texts and two large images, each long text with each image by its own tokens.
  ballast::measure_classes const mixed{2, {1, 7, 6, 4}, {2, 2}};
  std::int64_t const ten[] = {10, 10};
  auto const all = incompatible_bound(mixed, ten);
  CHECK(all.packs == 4);
  CHECK(all.measure == 2);  // in several
  CHECK(vector_lower_bound(mixed, ten).packs == 4);

  // A clash in each pair, three measures, none above half: one sample of each.
  ballast::measure_classes const round{3, {0, 4, 8, 4, 8, 0, 8, 0, 4}, {5, 5, 5}};
  std::int64_t const eleven[] = {11, 11, 11};
  CHECK(incompatible_bound(round, eleven).packs == 15);
  CHECK(incompatible_bound({2, {}, {}}, ten).packs == 0);
  CHECK(vector_lower_bound({2, {}, {}}, ten).bound == vector_bound::none);
}

TEST_CASE("vector bounds: a sum of two measures proves what neither does", "[packing]") {
  ballast::measure_classes const classes{2, {0, 3, 3, 2, 4, 4}, {60, 60, 60}};
  std::int64_t const capacity[] = {6, 6};
  for (std::size_t m = 0; m < 2; ++m)
    CHECK(ballast::packing_lower_bound(ballast::detail::project(classes, m), capacity[m], no_limit).packs <= 90);
  CHECK(incompatible_bound(classes, capacity).packs < 120);
  auto const found = vector_lower_bound(classes, capacity);
  CHECK(found.packs == 120);  // (4, 4) is alone, and (3, 2) takes two of its kind, or itself and one (0, 3)
  CHECK(found.bound == vector_bound::mixture);
}

TEST_CASE("vector bounds: capacities that differ by 2^50 and totals near 2^62", "[packing]") {
  auto const large = std::int64_t{1} << 60;
  ballast::measure_classes const classes{2, {1, large, 2, large / 2}, {2, 2}};
  std::int64_t const capacity[] = {3, large};
  CHECK(vector_lower_bound(classes, capacity).packs == 4);  // the two of three halves clash by the first measure
}

}  // namespace test_packing_vector_bounds
