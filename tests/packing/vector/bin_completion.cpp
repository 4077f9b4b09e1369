// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/hash.hpp>
#include <ballast/packing/vector/best_fit.hpp>
#include <ballast/packing/vector/bin_completion.hpp>
#include <ballast/packing/vector/check.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/vector_cases.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace test_packing_vector_bin_completion {

using ballast::bin_completion;
using ballast::plan_bin_completion;
using ballast_test::fault_of;
using ballast_test::random_vector_case;
using ballast_test::refusal;
using ballast_test::vector_case;

TEST_CASE("plan_bin_completion: every sample of every class once, within every capacity", "[packing][property]") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const count = draw() % 300;
    auto const c = random_vector_case(1 + count, 1 + seed % 4, draw);
    auto const classes = c.classes();
    auto const plan = plan_bin_completion(classes, c.capacity);
    REQUIRE(std::string(fault_of(plan, classes, c.capacity)) == "");
    REQUIRE(plan == plan_bin_completion(classes, c.capacity));
    REQUIRE(plan.packs() >= static_cast<std::uint64_t>(ballast::vector_lower_bound(classes, c.capacity).packs));
  }
}

TEST_CASE("plan_bin_completion: never below the optimum of a handful, seldom above it", "[packing][property]") {
  int optimal = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const c = random_vector_case(1 + seed % 8, 1 + seed % 3, draw);
    auto const fewest = ballast_test::fewest_vector_packs(c).value();
    auto const found = static_cast<std::int64_t>(plan_bin_completion(c.classes(), c.capacity).packs());
    REQUIRE(found >= fewest);
    REQUIRE(found <= fewest + 1);
    optimal += found == fewest;
  }
  CHECK(optimal >= 285);
}

TEST_CASE("plan_bin_completion: simple sets", "[packing]") {
  auto const packs = [](vector_case const& c) { return plan_bin_completion(c.classes(), c.capacity).packs(); };
  CHECK(packs({{{}, {}}, {9, 4096}}) == 0);
  CHECK(packs({{{5}, {100}}, {9, 4096}}) == 1);
  CHECK(packs({{{9, 9, 9}, {1, 1, 1}}, {9, 4096}}) == 3);
  CHECK(packs({{{3, 3, 3}, {1, 1, 1}}, {9, 4096}}) == 1);
  CHECK(packs({{{0, 0, 9}, {2000, 2000, 96}}, {9, 4096}}) == 1);
  CHECK(packs({{{1, 9, 1, 9}, {9, 1, 9, 1}}, {10, 10}}) == 2);  // each with its opposite
  CHECK(packs({{{0, 1, 0, 1}, {1, 0, 1, 0}}, {1, 1}}) == 2);
}

TEST_CASE("plan_bin_completion: fills packs to the last tile where the tiles allow it", "[packing]") {
  // Five tiles thrice and one, while there are ones; then 5 + 5 + 3 + 3. Largest first alone would run out of ones and waste a tile a pack.
  ballast::measure_classes const classes{2, {1, 100, 3, 300, 5, 500}, {400, 2000, 3000}};
  std::int64_t const capacity[] = {16, 100000};
  auto const plan = plan_bin_completion(classes, capacity);
  CHECK(std::string(fault_of(plan, classes, capacity)) == "");
  CHECK(plan.packs() == 1340);  // 1,338 is the least: 21,400 tiles in packs of 16
  CHECK(ballast::plan_vector_best_fit(classes, capacity).packs() == 1400);
}

TEST_CASE("plan_bin_completion: time depends on classes, not on samples", "[packing]") {
  ballast::measure_classes const classes{2, {0, 7, 1, 500, 3, 900, 5, 1300}, {1'000'000'000, 2'000'000'000, 700'000'000, 300'000'000}};
  std::int64_t const capacity[] = {9, 4096};
  auto const plan = plan_bin_completion(classes, capacity);
  CHECK(std::string(fault_of(plan, classes, capacity)) == "");
  CHECK(plan.size() < 100);
  std::int64_t const vast[] = {std::int64_t{1} << 60, std::int64_t{1} << 61};
  auto const one = plan_bin_completion(classes, vast);
  CHECK(std::string(fault_of(one, classes, vast)) == "");
  CHECK(one.packs() == 1);
  // A pattern counts at most 2^32 - 1 samples of a class.
  ballast::measure_classes const tiny{1, {1, 2}, {5, std::uint64_t{1} << 34}};
  std::int64_t const wide[] = {std::int64_t{1} << 40};
  CHECK(std::string(fault_of(plan_bin_completion(tiny, wide), tiny, wide)) == "");
}

TEST_CASE("bin_completion: valid under every option, and the same twice", "[packing][property]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const c = random_vector_case(1 + seed * 3, 1 + seed % 4, draw);
    ballast::vector_packing_options o{.capacity = c.capacity, .max_samples = draw() % 4, .pack_count_multiple = 1 + draw() % 3};
    for (auto& x : o.capacity) x = (std::max)(std::int64_t{1}, x * 3 / 4);
    for (auto policy : {ballast::oversize::set_aside, ballast::oversize::alone}) {
      o.oversize = policy;
      auto const plan = bin_completion(c.samples(), o);
      REQUIRE(describe(check_packing(plan, c.samples(), o)) == "valid");
      REQUIRE(plan.packer == ballast::vector_packer::completion);
      REQUIRE(plan.packs == bin_completion<std::uint32_t>(c.samples(), o).packs);
      auto const wide = bin_completion<std::uint64_t>(c.samples(), o);
      REQUIRE(wide.packs.offsets == plan.packs.offsets);
    }
  }
}

TEST_CASE("plan_bin_completion: refuses what are no classes", "[packing][error]") {
  std::int64_t const capacity[] = {9, 4096};
  auto const says = [&](ballast::measure_classes const& c) { return refusal([&] { return plan_bin_completion(c, capacity); }); };
  CHECK(says({2, {10, 5}, {1}}) == "classes.values[0][0] = 10 must be in 0 ... capacity 9");
  CHECK(says({2, {-1, 5}, {1}}) == "classes.values[0][0] = -1 must be in 0 ... capacity 9");
  CHECK(says({2, {0, 0}, {1}}) == "classes.values[0] has no measure above 0");
  CHECK(says({2, {1, 5, 1, 5}, {1, 1}}) == "classes.values[1] must be above its predecessor");
  CHECK(says({2, {1, 5}, {0}}) == "classes.counts[0] = 0 is 0 or too large");
  CHECK(says({2, {1, 5}, {std::uint64_t{1} << 62}}) == "classes.counts[0] = 4611686018427387904 brings a sum to 2^63 or more");
  CHECK(says({1, {1, 5}, {1, 1}}) == "classes: 2 of 1 measure do not go with 2 values and 2 capacities");
}

TEST_CASE("bin_completion: the golden plan") {
  auto c = ballast_test::golden_vector_case();
  auto const plan = ballast::bin_completion(c.samples(), {.capacity = c.capacity});
  CHECK(plan.count.value == 1384);
  CHECK(plan.count.lower_bound == 1384);
  CHECK(ballast::hash(plan.packs) == 0xf5314e08dbf430c3U);
  c.capacity.push_back(7);
  c.columns.emplace_back();
  ballast::splitmix64 draw(3);
  for (std::size_t i = 0; i < c.size(); ++i) c.columns[2].push_back(ballast_test::between(0, 4, draw));
  CHECK(ballast::hash(ballast::bin_completion(c.samples(), {.capacity = c.capacity}).packs) == 0x583754d1bf931ef9U);
}

}  // namespace test_packing_vector_bin_completion
