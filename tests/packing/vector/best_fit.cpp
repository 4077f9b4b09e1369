// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/hash.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/vector/best_fit.hpp>
#include <ballast/packing/vector/check.hpp>

#include "support/catch.hpp"
#include "support/vector_cases.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace test_packing_vector_best_fit {

using ballast::plan_vector_best_fit;
using ballast_test::fault_of;
using ballast_test::random_vector_case;

namespace {

using rooms = std::vector<std::vector<std::int64_t>>;

/// Best fit sample by sample: into the pack of the least score; of equal scores the one that has been as it is for longest.
rooms item_by_item(ballast::measure_classes const& classes, std::vector<std::int64_t> const& capacity,
                   std::vector<std::uint32_t> const& order, ballast::detail::room_score const& score) {
  struct pack {
    std::vector<std::int64_t> room;
    std::uint64_t changed;
  };
  std::vector<pack> packs;
  std::uint64_t now = 0;
  for (auto c : order)
    for (std::uint64_t copy = 0; copy < classes.counts[c]; ++copy) {
      pack* best = nullptr;
      for (auto& p : packs) {
        bool fits = true;
        for (std::size_t m = 0; m < capacity.size(); ++m) fits = fits && classes[c][m] <= p.room[m];
        if (fits && (best == nullptr || std::pair(score(p.room), p.changed) < std::pair(score(best->room), best->changed))) best = &p;
      }
      if (best == nullptr) best = &packs.emplace_back(pack{capacity, 0});
      for (std::size_t m = 0; m < capacity.size(); ++m) best->room[m] -= classes[c][m];
      best->changed = ++now;
    }
  rooms out;
  for (auto const& p : packs) out.push_back(p.room);
  std::sort(out.begin(), out.end());
  return out;
}

rooms rooms_of(ballast::pack_patterns const& patterns, ballast::measure_classes const& classes, std::vector<std::int64_t> const& capacity) {
  rooms out;
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    auto room = capacity;
    for (auto const& [c, copies] : patterns[p])
      for (std::size_t m = 0; m < room.size(); ++m) room[m] -= classes[c][m] * std::int64_t{copies};
    out.insert(out.end(), patterns.repeats[p], room);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

TEST_CASE("best fit in bulk fills packs as best fit sample by sample does", "[packing][property]") {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const c = random_vector_case(1 + draw() % 400, 1 + seed % 4, draw);
    auto const classes = c.classes();
    std::vector<std::uint32_t> order(classes.size());
    std::iota(order.begin(), order.end(), 0U);
    std::reverse(order.begin(), order.end());
    if (seed % 3 == 0) {
      auto const mixed = ballast::random_permutation(order.size(), seed);
      order.assign(mixed.begin(), mixed.end());
    }
    std::vector<std::int64_t> weights(c.measures());
    for (auto& w : weights) w = ballast_test::between(1, 1024, draw);
    ballast::detail::room_score const score(c.capacity, weights);
    auto const plan = ballast::detail::best_fit_in_order(classes, c.capacity, order, score);
    REQUIRE(std::string(fault_of(plan, classes, c.capacity)) == "");
    REQUIRE(rooms_of(plan, classes, c.capacity) == item_by_item(classes, c.capacity, order, score));
  }
}

TEST_CASE("plan_vector_best_fit: every sample of every class once, within every capacity", "[packing][property]") {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const c = random_vector_case(1 + draw() % 300, 1 + seed % 4, draw);
    auto const classes = c.classes();
    auto const plan = plan_vector_best_fit(classes, c.capacity);
    REQUIRE(std::string(fault_of(plan, classes, c.capacity)) == "");
    REQUIRE(plan == plan_vector_best_fit(classes, c.capacity));
    if (c.size() <= 8) REQUIRE(static_cast<std::int64_t>(plan.packs()) >= ballast_test::fewest_vector_packs(c).value());
  }
}

TEST_CASE("plan_vector_best_fit: one measure is packed as by best-fit decreasing", "[packing][property]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const capacity = ballast_test::between(10, 5000, draw);
    auto const lengths = ballast_test::random_lengths(1 + draw() % 2000, capacity, draw);
    auto const classes = ballast::classify(ballast::sample_measures{lengths}).classes;
    auto const plan = plan_vector_best_fit(classes, std::vector{capacity});
    CHECK(plan.packs() == ballast::best_fit_decreasing(lengths, {.capacity = capacity}).packs.size());
  }
}

TEST_CASE("plan_vector_best_fit: time depends on classes, not on samples", "[packing]") {
  ballast::measure_classes const classes{2, {0, 7, 1, 500, 3, 900, 5, 1300}, {1'000'000'000, 2'000'000'000, 700'000'000, 300'000'000}};
  std::int64_t const capacity[] = {9, 4096};
  auto const plan = plan_vector_best_fit(classes, capacity);
  CHECK(std::string(fault_of(plan, classes, capacity)) == "");
  CHECK(plan.size() < 30);
  // A pattern counts at most 2^32 - 1 samples of a class.
  ballast::measure_classes const tiny{1, {1, 2}, {5, std::uint64_t{1} << 34}};
  std::int64_t const wide[] = {std::int64_t{1} << 40};
  CHECK(std::string(fault_of(plan_vector_best_fit(tiny, wide), tiny, wide)) == "");
}

TEST_CASE("vector_best_fit: valid under every option, and the same twice", "[packing][property]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const c = random_vector_case(1 + seed * 3, 1 + seed % 4, draw);
    ballast::vector_packing_options o{.capacity = c.capacity, .max_samples = draw() % 4, .pack_count_multiple = 1 + draw() % 3};
    for (auto& x : o.capacity) x = (std::max)(std::int64_t{1}, x * 3 / 4);
    for (auto policy : {ballast::oversize::set_aside, ballast::oversize::alone}) {
      o.oversize = policy;
      auto const plan = ballast::vector_best_fit(c.samples(), o);
      REQUIRE(describe(check_packing(plan, c.samples(), o)) == "valid");
      REQUIRE(plan.packer == ballast::vector_packer::best_fit);
      REQUIRE(plan.packs == ballast::vector_best_fit(c.samples(), o).packs);
    }
  }
}

TEST_CASE("vector_best_fit: the golden plan") {
  auto c = ballast_test::golden_vector_case();
  auto const plan = ballast::vector_best_fit(c.samples(), {.capacity = c.capacity});
  CHECK(plan.count.value == 1430);
  CHECK(plan.count.lower_bound == 1384);
  CHECK(ballast::hash(plan.packs) == 0x3490c5d373bb7730U);
  c.capacity.push_back(7);
  c.columns.emplace_back();
  ballast::splitmix64 draw(3);
  for (std::size_t i = 0; i < c.size(); ++i) c.columns[2].push_back(ballast_test::between(0, 4, draw));
  CHECK(ballast::hash(ballast::vector_best_fit(c.samples(), {.capacity = c.capacity}).packs) == 0x43765ca04ecb24efU);
}

}  // namespace test_packing_vector_best_fit
