// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/vector/near_optimal.hpp>

#include <ballast/core/hash.hpp>
#include <ballast/packing/check_duals.hpp>
#include <ballast/packing/vector/best_fit.hpp>
#include <ballast/packing/vector/bin_completion.hpp>
#include <ballast/packing/vector/check.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/vector_cases.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <stop_token>
#include <string>
#include <vector>

namespace test_packing_vector_near_optimal {

namespace {

using ballast::check_duals;
using ballast::measure_classes;
using ballast::near_optimal;
using ballast::plan_near_optimal;
using ballast::vector_bound;
using ballast::vector_near_optimal_plan;
using ballast_test::between;
using ballast_test::fault_of;
using ballast_test::random_vector_case;
using ballast_test::vector_case;

ballast::search_limits const little{.work = 3'000'000};

/// Tiles of a few kinds, and tokens that rise with them.
vector_case images(std::size_t count, std::int64_t tiles, std::int64_t tokens, std::uint64_t seed) {
  ballast::splitmix64 draw(seed);
  vector_case out{{{}, {}}, {tiles, tokens}};
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t const kinds[] = {1, 1, 1, 3, 4, 5};
    out.columns[0].push_back(kinds[draw() % 6]);
    auto const most = draw() % 8 == 0 ? 1500 : 300;
    out.columns[1].push_back(256 * out.columns[0].back() + between(1, most, draw));
  }
  return out;
}

/// A few kinds of samples of `measures` measures, each up to about half of a capacity.
measure_classes few_kinds(std::size_t kinds, std::vector<std::int64_t> const& capacity, std::uint64_t seed) {
  ballast::splitmix64 draw(seed);
  std::vector<std::vector<std::int64_t>> rows;
  for (std::size_t i = 0; i < kinds; ++i) {
    auto& row = rows.emplace_back();
    for (auto const c : capacity) row.push_back(between(c / 7, c * 4 / 7, draw));
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  measure_classes out{capacity.size(), {}, {}};
  for (auto const& row : rows) {
    out.values.insert(out.values.end(), row.begin(), row.end());
    out.counts.push_back(100 + draw() % 400);
  }
  return out;
}

/// Legal, complete, and with a certificate that is true.
void require_right(vector_near_optimal_plan const& plan, measure_classes const& classes, std::vector<std::int64_t> const& capacity) {
  REQUIRE(std::string(fault_of(plan.patterns, classes, capacity)) == "");
  REQUIRE(plan.count.value == static_cast<std::int64_t>(plan.patterns.packs()));
  REQUIRE(plan.count.lower_bound == plan.bound.packs);
  REQUIRE(plan.count.lower_bound <= plan.count.value);
  if (plan.bound.bound == vector_bound::linear_program) {
    REQUIRE(check_duals(classes, capacity, plan.duals, plan.dual_capacity, plan.bound.packs));
    REQUIRE_FALSE(check_duals(classes, capacity, plan.duals, plan.dual_capacity, plan.bound.packs + 1));
  } else {
    REQUIRE(plan.duals.empty());
  }
}

}  // namespace

TEST_CASE("plan_near_optimal: several measures: every class as often as it occurs, within every capacity", "[packing][property]") {
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const count = draw() % 300;
    auto const c = random_vector_case(1 + count, 1 + seed % 4, draw);
    auto const classes = c.classes();
    auto const plan = plan_near_optimal(classes, c.capacity, little);
    auto const product = [&] {
      std::int64_t p = 1;
      for (auto const capacity : c.capacity) p *= capacity + 1;
      return p;
    }();
    if (product < 1'000'000 || plan.bound.bound != vector_bound::linear_program) require_right(plan, classes, c.capacity);
    REQUIRE(plan.complete);
    REQUIRE(plan.patterns.packs() <= ballast::plan_vector_best_fit(classes, c.capacity).packs());
    auto const again = plan_near_optimal(classes, c.capacity, little);
    REQUIRE((again.patterns == plan.patterns && again.duals == plan.duals && again.work == plan.work));
  }
}

TEST_CASE("plan_near_optimal: several measures: between the bound and the optimum of a handful", "[packing][property]") {
  int optimal = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const c = random_vector_case(1 + seed % 9, 2 + seed % 2, draw);
    auto const classes = c.classes();
    auto const plan = plan_near_optimal(classes, c.capacity, little);
    auto const optimum = ballast_test::fewest_vector_packs(c).value();
    REQUIRE(plan.count.lower_bound <= optimum);
    REQUIRE(plan.count.value >= optimum);
    REQUIRE(ballast::linear_program_bound(classes, c.capacity, little).packs <= optimum);
    optimal += plan.count.value == optimum ? 1 : 0;
  }
  CHECK(optimal >= 198);
}

TEST_CASE("plan_near_optimal: finds what completion loses, and proves it", "[packing]") {
  auto const c = images(300, 16, 5376, 9);
  auto classes = c.classes();
  for (auto& n : classes.counts) n *= 40;
  auto const plan = plan_near_optimal(classes, c.capacity, {.work = 450'000'000});
  require_right(plan, classes, c.capacity);
  CHECK(plan.count.optimal());
  CHECK(plan.patterns.packs() < ballast::plan_bin_completion(classes, c.capacity).packs());
}

TEST_CASE("plan_near_optimal: with few classes of two or three measures the linear program proves what no formula can",
          "[packing][property]") {
  int by_program = 0, optimal = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    auto const capacity = seed % 2 == 0 ? std::vector<std::int64_t>{17, 300} : std::vector<std::int64_t>{9, 11, 200};
    auto const classes = few_kinds(4 + seed % 6, capacity, seed);
    auto const plan = plan_near_optimal(classes, capacity, {.work = 20'000'000});
    require_right(plan, classes, capacity);
    optimal += plan.count.optimal() ? 1 : 0;
    if (plan.bound.bound != vector_bound::linear_program) continue;
    ++by_program;
    REQUIRE(plan.bound.packs > ballast::vector_lower_bound(classes, capacity).packs);
    REQUIRE(ballast::linear_program_bound(classes, capacity).packs <= plan.count.value);
  }
  CHECK(by_program >= 10);
  CHECK(optimal >= 24);
}

TEST_CASE("plan_near_optimal: a limit of samples per pack", "[packing]") {
  ballast::splitmix64 draw(3);
  measure_classes classes{2, {}, {}};
  for (std::int64_t length = 40; length <= 240; length += 2) {
    classes.values.insert(classes.values.end(), {length, 1});
    classes.counts.push_back(20 + draw() % 100);
  }
  for (std::int64_t const most : {1, 2, 3, 5, 100}) {
    CAPTURE(most);
    std::vector<std::int64_t> const capacity{384, most};
    auto const plan = plan_near_optimal(classes, capacity, {.work = 60'000'000});
    require_right(plan, classes, capacity);
    CHECK(plan.count.value <= plan.count.lower_bound + 1);
  }
}

TEST_CASE("plan_near_optimal: one measure: the plan of the histogram", "[packing]") {
  ballast::splitmix64 draw(11);
  ballast::histogram h;
  for (std::int64_t length = 1700; length < 4000; length += between(1, 9, draw)) {
    h.lengths.push_back(length);
    h.counts.push_back(1 + draw() % 4);
  }
  measure_classes const classes{1, h.lengths, h.counts};
  std::int64_t const capacity[] = {8192};
  auto const one = plan_near_optimal(h, {.capacity = 8192}, little);
  auto const several = plan_near_optimal(classes, capacity, little);
  CHECK(several.patterns == one.patterns);
  CHECK(several.count == one.count);
  CHECK(several.bound.argument == one.bound.bound);
  CHECK(several.duals == one.duals);
}

TEST_CASE("plan_near_optimal: measures that never bind, that have a common factor, or that are too wide", "[packing]") {
  auto const c = images(1500, 9, 4096, 5);
  auto const plain = c.classes();
  auto const plan = plan_near_optimal(plain, c.capacity, little);
  auto scaled = plain;
  for (std::size_t i = 0; i < scaled.values.size(); i += 2) scaled.values[i] *= 1000;
  auto const same = plan_near_optimal(scaled, std::vector<std::int64_t>{9999, 4096}, {.work = 50'000'000});
  require_right(plan, plain, c.capacity);
  CHECK(same.count.value <= plan.count.value + 1);

  measure_classes idle{3, {}, plain.counts};  // tokens once more, of which there is plenty
  for (std::size_t k = 0; k < plain.size(); ++k) idle.values.insert(idle.values.end(), {plain[k][0], plain[k][1], plain[k][1]});
  auto const more = plan_near_optimal(idle, std::vector<std::int64_t>{9, 4096, 5000}, {.work = 50'000'000});
  CHECK(std::string(fault_of(more.patterns, idle, std::vector<std::int64_t>{9, 4096, 5000})) == "");
  CHECK(more.count.value <= plan.count.value + 1);

  auto wide = c;  // two measures, each with thousands of values
  for (std::size_t i = 0; i < wide.size(); ++i) wide.columns[0][i] = wide.columns[1][i] * 700 + static_cast<std::int64_t>(i * i % 100'000);
  wide.capacity = {4'000'000, 4096};
  auto const classes = wide.classes();
  auto const start = plan_near_optimal(classes, wide.capacity, {.work = 100'000'000});
  CHECK(std::string(fault_of(start.patterns, classes, wide.capacity)) == "");
  CHECK(start.complete);
  CHECK(start.patterns.packs() <= ballast::plan_bin_completion(classes, wide.capacity).packs());
}

TEST_CASE("plan_near_optimal: many classes, measures of too many combinations, and packs of many samples", "[packing]") {
  ballast::splitmix64 draw(12);
  vector_case c{{{}, {}, {}}, {}};  // all tokens, images, tokens of images
  for (int i = 0; i < 4000; ++i) {
    auto const count = draw() % 3 == 0 ? 0 : 1 + static_cast<std::int64_t>(draw() % 2) + (draw() % 10 == 0 ? between(0, 3, draw) : 0);
    std::int64_t of_images = 0;
    for (std::int64_t k = 0; k < count; ++k) of_images += draw() % 2 == 0 ? 864 : between(64, 1000, draw);
    c.columns[0].push_back(of_images + between(20, draw() % 8 == 0 ? 1900 : 500, draw));
    c.columns[1].push_back(count);
    c.columns[2].push_back(of_images);
  }
  for (std::vector<std::int64_t> const& capacity : {std::vector<std::int64_t>{8192, 6, 5120}, {8192, 8, 8192}, {32768, 32, 32768}}) {
    c.capacity = capacity;
    auto const classes = c.classes();
    CAPTURE(capacity[0], capacity[1], classes.size());
    auto const plan = plan_near_optimal(classes, capacity, {.work = 250'000'000});
    REQUIRE(std::string(fault_of(plan.patterns, classes, capacity)) == "");
    CHECK(plan.patterns.packs() <= ballast::plan_vector_best_fit(classes, capacity).packs());
    CHECK(plan.patterns.packs() <= ballast::plan_bin_completion(classes, capacity).packs());
    CHECK(plan.count.gap() < 0.01);
  }
}

TEST_CASE("plan_near_optimal: several measures: corners", "[packing]") {
  auto const packs = [](vector_case const& c) {
    auto const plan = plan_near_optimal(c.classes(), c.capacity, little);
    require_right(plan, c.classes(), c.capacity);
    CHECK(plan.count.optimal());
    return plan.count.value;
  };
  CHECK(packs({{{}, {}}, {9, 4096}}) == 0);
  CHECK(packs({{{5}, {100}}, {9, 4096}}) == 1);
  CHECK(packs({{{9, 9, 9}, {1, 1, 1}}, {9, 4096}}) == 3);
  CHECK(packs({{{0, 0, 9}, {2000, 2000, 96}}, {9, 4096}}) == 1);
  CHECK(packs({{{1, 9, 1, 9}, {9, 1, 9, 1}}, {10, 10}}) == 2);
  CHECK(packs({{{0, 1, 0, 1}, {1, 0, 1, 0}}, {1, 1}}) == 2);
  CHECK(packs({{std::vector<std::int64_t>(100, 2), std::vector<std::int64_t>(100, 0)}, {9, 4}}) == 25);
  std::int64_t const vast[] = {std::int64_t{1} << 60, std::int64_t{1} << 61};
  measure_classes const many{2, {0, 7, 1, 500, 3, 900}, {1'000'000'000'000, 2'000'000'000'000, 700'000'000'000}};
  CHECK(std::string(fault_of(plan_near_optimal(many, vast, little).patterns, many, vast)) == "");
}

TEST_CASE("plan_near_optimal: several measures: starts from a plan, and more work never makes it worse", "[packing]") {
  auto const c = images(3000, 16, 5376, 4);
  auto const classes = c.classes();
  auto const start = ballast::plan_bin_completion(classes, c.capacity);
  CHECK(plan_near_optimal(classes, c.capacity, {.work = 0}, &start).patterns == start);
  std::int64_t before = (std::numeric_limits<std::int64_t>::max)();
  for (std::uint64_t const work : {0U, 1'000'000U, 4'000'000U, 16'000'000U, 64'000'000U}) {
    auto const plan = plan_near_optimal(classes, c.capacity, {.work = work});
    require_right(plan, classes, c.capacity);
    CHECK(plan.complete);
    CHECK(plan.count.value <= before);
    CHECK(plan.work <= work + 20'000'000);
    before = plan.count.value;
  }
}

TEST_CASE("plan_near_optimal: several measures: a stop leaves the start and says so; a good enough gap ends the search", "[packing]") {
  auto const c = images(2000, 9, 4096, 4);
  auto const classes = c.classes();
  auto const best_fit = static_cast<std::int64_t>(ballast::plan_vector_best_fit(classes, c.capacity).packs());
  std::stop_source source;
  source.request_stop();
  auto const stopped = plan_near_optimal(classes, c.capacity, {.stop = source.get_token()});
  CHECK_FALSE(stopped.complete);
  CHECK(stopped.count.value == best_fit);
  CHECK_FALSE(plan_near_optimal(classes, c.capacity, {.wall_clock = std::chrono::nanoseconds{1}}).complete);
  auto const content = plan_near_optimal(classes, c.capacity, {.gap = 0.5});
  CHECK((content.complete && content.count.value == best_fit));
}

TEST_CASE("near_optimal: several measures: valid under every option, and the same twice", "[packing][property]") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto c = random_vector_case(20 + seed, 1 + seed % 3, draw);
    if (seed % 2 == 0) c.columns[0][3] = c.capacity[0] + 1;
    ballast::vector_packing_options const o{.capacity = c.capacity,
                                            .max_samples = seed % 3 == 0 ? 0 : 1 + seed % 5,
                                            .pack_count_multiple = 1 + seed % 4,
                                            .oversize = seed % 4 == 0 ? ballast::oversize::set_aside : ballast::oversize::alone};
    auto const plan = near_optimal(c.samples(), o, little);
    REQUIRE(ballast::describe(ballast::check_packing(plan, c.samples(), o)) == "valid");
    REQUIRE(plan.packer == ballast::vector_packer::near_optimal);
    REQUIRE(plan.packs == near_optimal(c.samples(), o, little).packs);
    REQUIRE(ballast::hash(plan.packs) == ballast::hash(near_optimal<std::uint64_t>(c.samples(), o, little).packs));
  }
}

TEST_CASE("near_optimal: several measures: the same plan in every build", "[packing][determinism]") {
  auto const c = ballast_test::golden_vector_case();
  auto const plan = near_optimal(c.samples(), {.capacity = {16, 5376}}, {.work = 200'000'000});
  CHECK(plan.packs.size() == 801);
  CHECK(ballast::hash(plan.packs) == 0x9777b64492aaf760U);  // a release that changes it says so
}

TEST_CASE("check_duals: several measures: takes a proof and refuses what is none", "[packing]") {
  measure_classes const classes{2, {1, 3, 2, 2}, {4, 2}};
  std::vector<std::int64_t> const capacity{3, 6};
  using values = std::vector<std::int32_t>;
  CHECK(check_duals(classes, capacity, values{3, 2}, 6, 3));  // 16 of value: two of the first or one of each fit
  CHECK_FALSE(check_duals(classes, capacity, values{3, 2}, 6, 4));
  CHECK_FALSE(check_duals(classes, capacity, values{3, 4}, 6, 3));  // one of each is worth 7
  CHECK(check_duals(classes, capacity, values{3, 4}, 7, 3));
  auto const refusal = [&](values const& duals) {
    return ballast_test::refusal([&] { return check_duals(classes, capacity, duals, 6, 3); });
  };
  CHECK(refusal({3}) == "1 dual for 2 classes");
  CHECK(refusal({3, -1}) == "duals[1] = -1 must not be negative");
  CHECK(ballast_test::refusal([&] { return check_duals(classes, std::vector<std::int64_t>{1 << 15, 1 << 15}, values{3, 2}, 6, 3); }) ==
        "capacity[0] = 32768 makes a table of more than 2^28 entries");
}

}  // namespace test_packing_vector_near_optimal
