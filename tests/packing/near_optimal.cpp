// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/near_optimal.hpp>

#include <ballast/core/hash.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/check.hpp>
#include <ballast/packing/check_duals.hpp>
#include <ballast/packing/pack.hpp>

#include "support/brute_force.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/packer_suite.hpp"
#include "support/progress_log.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace test_packing_near_optimal {

namespace {

using ballast::histogram;
using ballast::near_optimal;
using ballast::near_optimal_plan;
using ballast::plan_near_optimal;
using ballast_test::between;

ballast::search_limits const little{.work = 3'000'000};

auto const pack = [](auto const& lengths, ballast::packing_options const& options, auto const& cost) {
  return near_optimal(lengths, options, cost, little);
};

/// Lengths as a share of the capacity: from `low` to `high` thousandths; with `two_kinds` half of them are 256 … 767 instead.
std::vector<std::int64_t> generated(std::size_t n, std::int64_t capacity, std::int64_t low, std::int64_t high, bool two_kinds,
                                    std::uint64_t seed) {
  ballast::splitmix64 draw(seed);
  std::vector<std::int64_t> lengths(n);
  for (auto& l : lengths) {
    auto const is_short = two_kinds && draw() % 2 == 0;
    l = is_short ? between(256, 767, draw) : between(capacity * low / 1000, capacity * high / 1000 - 1, draw);
  }
  return lengths;
}

/// No pack over the capacity, no class twice in a pattern, every class exactly as often as it occurs, and a certificate that is true.
void require_right(near_optimal_plan const& plan, histogram const& h, std::int64_t capacity, std::uint64_t max_samples = 0) {
  std::vector<std::uint64_t> placed(h.lengths.size(), 0);
  for (std::size_t p = 0; p < plan.patterns.size(); ++p) {
    std::int64_t tokens = 0;
    std::uint64_t samples = 0;
    std::vector<std::uint32_t> classes;
    REQUIRE(plan.patterns.repeats[p] > 0);
    for (auto const& [c, copies] : plan.patterns[p]) {
      REQUIRE((c < placed.size() && copies > 0));
      placed[c] += copies * plan.patterns.repeats[p];
      tokens += h.lengths[c] * copies;
      samples += copies;
      classes.push_back(c);
    }
    std::sort(classes.begin(), classes.end());
    REQUIRE(std::adjacent_find(classes.begin(), classes.end()) == classes.end());
    REQUIRE((tokens > 0 && tokens <= capacity && (max_samples == 0 || samples <= max_samples)));
  }
  REQUIRE(placed == h.counts);
  REQUIRE(plan.count.value == static_cast<std::int64_t>(plan.patterns.packs()));
  REQUIRE(plan.count.lower_bound == plan.bound.packs);
  REQUIRE(plan.count.lower_bound <= plan.count.value);
  if (plan.bound.bound == ballast::packing_bound::linear_program) {
    REQUIRE(check_duals(h, capacity, plan.duals, plan.dual_capacity, plan.bound.packs, max_samples));
    REQUIRE_FALSE(check_duals(h, capacity, plan.duals, plan.dual_capacity - 1, plan.bound.packs, max_samples));
    REQUIRE_FALSE(check_duals(h, capacity, plan.duals, plan.dual_capacity, plan.bound.packs + 1, max_samples));
  } else {
    REQUIRE(plan.duals.empty());
  }
}

struct hard_case {
  char const* name;
  std::vector<std::int64_t> lengths;
  std::int64_t capacity;
  std::int64_t over_bound;  // packs over the bound that the default work may leave
  std::uint64_t golden;     // hash of the packs with a tenth of that work
};
std::vector<hard_case> hard_cases() {
  auto few = generated(6000, 200, 180, 560, false, 21);
  return {{"a fifth to a half", generated(3000, 8192, 200, 500, false, 11), 8192, 1, 0x3fe5737682dbcc42U},
          {"big ones too", generated(3000, 8192, 150, 650, false, 12), 8192, 2, 0xdf0e30ce238012U},
          {"two kinds", generated(3000, 8192, 200, 500, true, 13), 8192, 1, 0x7550e3559be9aa49U},
          {"two kinds, wide", generated(1500, 131072, 200, 500, true, 15), 131072, 1, 0xf561c61935b6af9dU},
          {"few lengths, a row for each", std::move(few), 200, 1, 0xeccf0a6cdf88c01cU},
          {"few samples", generated(300, 1000, 220, 480, false, 17), 1000, 2, 0xbec7a8e3ba7d7afeU}};
}

}  // namespace

TEST_CASE("near_optimal: every plan is legal and never worse than best fit decreasing", "[packing][property]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    auto const [lengths, options] = ballast_test::random_case(seed);
    auto const plan = near_optimal(lengths, options, little);
    ballast_test::require_valid(check_packing(plan, lengths, options));
    REQUIRE(plan.complete);
    auto const best_fit = ballast::best_fit_decreasing(lengths, options);
    REQUIRE(plan.count.value <= best_fit.count.value);
    REQUIRE(plan.count.lower_bound >= best_fit.count.lower_bound);
    auto const again = near_optimal(lengths, options, little);
    REQUIRE((again.packs == plan.packs && again.count == plan.count && again.bound == plan.bound));
  }
}

TEST_CASE("near_optimal: meets demanded numbers of packs, corners and weak arguments", "[packing]") {
  ballast_test::handles_corners(pack, [](auto const& l, auto const& o) { return near_optimal<std::uint64_t>(l, o, little); });
  auto const lengths = generated(400, 1000, 220, 480, false, 5);
  auto const plain = near_optimal(lengths, {.capacity = 1000}, little);
  ballast::packing_options const rounded{.capacity = 1000, .pack_count_multiple = 16};
  auto const multiple = near_optimal(lengths, rounded, little);
  ballast_test::require_valid(check_packing(multiple, lengths, rounded));
  CHECK(multiple.count.value == (plain.count.value + 15) / 16 * 16);
  ballast::packing_options const exact{.capacity = 1000, .pack_count = 300};
  ballast_test::require_valid(check_packing(near_optimal(lengths, exact, little), lengths, exact));
  auto const impossible = near_optimal(lengths, {.capacity = 1000, .pack_count = 50}, little);
  CHECK(impossible.status == ballast::status::infeasible);
}

TEST_CASE("near_optimal: near the true optimum of a few samples", "[packing][property]") {
  int optimal = 0, improved = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const capacity = between(10, 60, draw);
    auto const count = 1 + draw() % 9;
    auto const lengths = ballast_test::random_lengths(static_cast<std::size_t>(count), capacity, draw);
    auto const h = ballast::fold(lengths);
    auto const plan = plan_near_optimal(h, {.capacity = capacity}, little);
    require_right(plan, h, capacity);
    auto const optimum = ballast_test::fewest_packs(lengths, capacity).value();
    REQUIRE(plan.count.lower_bound <= optimum);
    REQUIRE(plan.count.value >= optimum);
    if (plan.bound.bound == ballast::packing_bound::cutting_stock)
      REQUIRE(solve_cutting_stock(h, {.capacity = capacity, .packs = static_cast<std::uint64_t>(plan.bound.packs - 1)}).status ==
              ballast::status::infeasible);
    optimal += plan.count.value == optimum ? 1 : 0;
    improved += plan.count.value < ballast::best_fit_decreasing(lengths, {.capacity = capacity}).count.value ? 1 : 0;
  }
  CHECK(optimal >= 299);
  CHECK(improved >= 1);
}

TEST_CASE("near_optimal: what best fit loses is found, and the bound proves it", "[packing]") {
  for (auto const& c : hard_cases()) {
    CAPTURE(c.name);
    auto const h = ballast::fold(c.lengths);
    auto const plan = plan_near_optimal(h, {.capacity = c.capacity}, {.work = 100'000'000});
    require_right(plan, h, c.capacity);
    CHECK(plan.count.value - plan.count.lower_bound <= c.over_bound);
    CHECK(plan.count.value < ballast::count_packs(h, {.capacity = c.capacity}).count.value);
  }
}

TEST_CASE("near_optimal: with few lengths the linear program proves what no formula can", "[packing][property]") {
  int by_program = 0, optimal = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const capacity = between(50, 450, draw);
    std::vector<std::int64_t> few(3 + draw() % 6);
    for (auto& l : few) l = between(capacity / 7, capacity * 9 / 14, draw);
    std::vector<std::int64_t> lengths(600 + draw() % 1000);
    for (auto& l : lengths) l = few[draw() % few.size()];
    auto const h = ballast::fold(lengths);
    auto const plan = plan_near_optimal(h, {.capacity = capacity}, little);
    require_right(plan, h, capacity);
    optimal += plan.count.optimal() ? 1 : 0;
    if (plan.bound.bound != ballast::packing_bound::linear_program) continue;
    ++by_program;
    REQUIRE(plan.bound.packs > ballast::packing_lower_bound(h, capacity, lengths.size()).packs);
    auto const packed =
        near_optimal(lengths, {.capacity = capacity, .pack_count = static_cast<std::uint64_t>(plan.bound.packs - 1)}, little);
    REQUIRE(packed.status == ballast::status::infeasible);
    REQUIRE(packed.bound == ballast::packing_bound::linear_program);
  }
  CHECK(by_program >= 10);
  CHECK(optimal >= 50);
}

TEST_CASE("near_optimal: lengths too many for a search are rounded, and the program of those as they are proves the bound", "[packing]") {
  std::pair<std::int64_t, std::int64_t> const kinds[] = {{240'000, 270'000}, {160'000, 172'500}, {85'000, 110'000}};
  ballast::splitmix64 draw(1);
  std::vector<std::int64_t> lengths(60'000);
  for (auto& l : lengths) {
    auto const& [low, high] = kinds[draw() % 3];
    l = between(low, high, draw);
  }
  auto const h = ballast::fold(lengths);
  REQUIRE(h.lengths.size() > 32'768);
  auto const plan = plan_near_optimal(h, {.capacity = 500'000}, {.work = 300'000'000});
  REQUIRE(plan.bound.bound == ballast::packing_bound::linear_program);
  CHECK(check_duals(h, 500'000, plan.duals, plan.dual_capacity, plan.bound.packs));
  CHECK(plan.count.gap() < 0.002);  // by formulas it is .006
}

TEST_CASE("near_optimal: few samples under a limit of samples are packed exactly", "[packing][property]") {
  for (std::uint64_t seed = 0; seed < 36; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const limit = 3 + seed % 3;
    std::vector<std::int64_t> lengths(60);
    for (auto& l : lengths) {  // of one kind, or many short ones beside long ones
      auto const most = seed % 2 == 0 ? 2000 / static_cast<std::int64_t>(limit) : 1000;
      l = between(1, most, draw);
      if (seed % 2 != 0) l = (l * l + 1249) / 1250;
    }
    auto const h = ballast::fold(lengths);
    auto const plan = plan_near_optimal(h, {.capacity = 1000, .max_samples = limit}, {.work = 50'000'000});
    require_right(plan, h, 1000, limit);
    CHECK(plan.count.optimal());
  }
}

TEST_CASE("near_optimal: packs of a best plan are made first, so that what is left is packed exactly in little work", "[packing]") {
  // Four of five packs have a sample above half the capacity and one partner at most; the rest fills its packs to a few tokens.
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    auto lengths = generated(6000, 8192, 500, 1000, false, seed);
    auto const more = generated(4000, 8192, 100, 500, false, 10 + seed);
    lengths.insert(lengths.end(), more.begin(), more.end());
    auto const h = ballast::fold(lengths);
    auto const plan = plan_near_optimal(h, {.capacity = 8192}, {.work = 100'000'000});
    require_right(plan, h, 8192);
    CHECK(plan.count.optimal());
  }
}

TEST_CASE("near_optimal: the same plan in every build", "[packing][determinism]") {
  for (auto const& c : hard_cases()) {
    CAPTURE(c.name);
    auto const plan = near_optimal(c.lengths, {.capacity = c.capacity}, {.work = 15'000'000});
    CHECK(ballast::hash(plan.packs) == c.golden);  // a release that changes it says so
  }
}

TEST_CASE("near_optimal: one length, one sample, whole packs, the shortest", "[packing]") {
  auto const packs = [](std::vector<std::int64_t> const& lengths, std::int64_t capacity) {
    auto const h = ballast::fold(lengths);
    auto const plan = plan_near_optimal(h, {.capacity = capacity}, little);
    require_right(plan, h, capacity);
    CHECK(plan.count.optimal());
    return plan.count.value;
  };
  CHECK(packs({}, 7) == 0);
  CHECK(packs({3}, 7) == 1);
  CHECK(packs({7}, 7) == 1);
  CHECK(packs(std::vector<std::int64_t>(100, 3), 7) == 50);
  CHECK(packs(std::vector<std::int64_t>(100, 1), 7) == 15);
  CHECK(packs(std::vector<std::int64_t>(9, 7), 7) == 9);
  CHECK(packs({1, 1, 1, 7, 7, 4, 3}, 7) == 4);
}

TEST_CASE("near_optimal: a pattern is repeated only as often as its scarcest length allows", "[packing]") {
  // Many packs of each mix but few samples of each length; and lengths of which several are drawn into one pack, one after the other.
  using problem = std::pair<std::vector<std::int64_t>, std::int64_t>;
  for (auto const& [lengths, capacity] :
       {problem(generated(10000, 16384, 300, 360, false, 8), 16384), problem(generated(9000, 120, 180, 370, false, 9), 120)}) {
    auto const h = ballast::fold(lengths);
    auto const plan = plan_near_optimal(h, {.capacity = capacity}, {.work = 40'000'000});
    require_right(plan, h, capacity);
    CHECK(plan.count.gap() < 0.01);
  }
}

TEST_CASE("near_optimal: more work never gives a worse plan, and little more than allowed is spent", "[packing]") {
  auto const h = ballast::fold(generated(3000, 8192, 150, 650, false, 3));
  std::int64_t before = (std::numeric_limits<std::int64_t>::max)();
  for (std::uint64_t const work : {0U, 100'000U, 1'000'000U, 4'000'000U, 16'000'000U, 64'000'000U}) {
    auto const plan = plan_near_optimal(h, {.capacity = 8192}, {.work = work});
    require_right(plan, h, 8192);
    CHECK(plan.complete);
    CHECK(plan.count.value <= before);
    CHECK(plan.work <= work + 20'000'000);
    before = plan.count.value;
  }
}

TEST_CASE("near_optimal: with little work, the exact finish leaves enough for exchanges to meet the bound", "[packing]") {
  std::int64_t packs = 0, least = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    auto const h = ballast::fold(generated(200, 4096, 150, 400, false, seed));
    auto const plan = plan_near_optimal(h, {.capacity = 4096}, {.work = 16'000'000});
    require_right(plan, h, 4096);
    packs += plan.count.value;
    least += plan.count.lower_bound;
  }
  CHECK(packs == least);
}

TEST_CASE("near_optimal: a stop leaves best fit's plan and says so; a gap that is good enough ends the search", "[packing]") {
  auto const lengths = generated(2000, 8192, 200, 500, false, 4);
  auto const best_fit = ballast::best_fit_decreasing(lengths, {.capacity = 8192});
  std::stop_source source;
  source.request_stop();
  auto const stopped = near_optimal(lengths, {.capacity = 8192}, {.stop = source.get_token()});
  CHECK_FALSE(stopped.complete);
  CHECK(stopped.count.value == best_fit.count.value);
  ballast_test::progress_log told;
  CHECK(near_optimal(lengths, {.capacity = 8192}, {.progress = told}) == near_optimal(lengths, {.capacity = 8192}));
  CHECK((told.sound && told.calls > 4));
  auto const late = near_optimal(lengths, {.capacity = 8192}, {.wall_clock = std::chrono::nanoseconds{1}});
  CHECK_FALSE(late.complete);
  auto const content = plan_near_optimal(ballast::fold(lengths), {.capacity = 8192}, {.gap = 0.5});
  CHECK((content.complete && content.count.value == best_fit.count.value && content.work < 1'000'000));
}

TEST_CASE("near_optimal: many distinct lengths, at any capacity", "[packing]") {
  for (auto const capacity : {std::int64_t{1} << 30, std::int64_t{1} << 40}) {
    CAPTURE(capacity);
    auto const h = ballast::fold(generated(33'000, capacity, 200, 500, false, 11));
    auto const plan = plan_near_optimal(h, {.capacity = capacity}, {.work = 130'000'000, .gap = 0.002});
    require_right(plan, h, capacity);
    CHECK(plan.count.gap() <= 0.004);
  }
}

TEST_CASE("near_optimal: a capacity of 2^32 times the shortest length is no bad input", "[packing]") {
  constexpr std::int64_t unit = std::int64_t{1} << 40;
  ballast::packing_options options{.capacity = 10 * unit + 1};
  std::vector<std::int64_t> const lengths{4 * unit, 4 * unit, 3 * unit, 1, 3 * unit, 3 * unit, 3 * unit};  // best fit is not proven optimal
  auto const h = ballast::fold(lengths);
  for (auto const most : {0U, 3U}) {
    options.max_samples = most;
    auto const plan = near_optimal(lengths, options, little), searched = ballast::pack(lengths, options, little);
    CHECK(check_packing(plan, lengths, options).valid());
    CHECK(plan.packs == ballast::best_fit_decreasing(lengths, options).packs);
    CHECK(plan.count == count_near_optimal(h, options, little).count);
    CHECK(searched.count == count_packs(h, options, little).count);
    require_right(plan_near_optimal(h, options, little), h, options.capacity, most);
  }
}

TEST_CASE("near_optimal: a few long-tailed samples a pack, and many, are filled to the last token", "[packing]") {
  ballast::splitmix64 draw(4);
  std::vector<std::int64_t> lengths(30'000);
  for (auto& l : lengths) l = 16 + (between(1, 1 << 20, draw) >> between(8, 18, draw));
  for (std::int64_t const capacity : {4608, 16384}) {
    auto const h = ballast::fold(lengths);
    auto const plan = plan_near_optimal(h, {.capacity = capacity}, {.work = 60'000'000});
    require_right(plan, h, capacity);
    CHECK(plan.count.optimal());
  }
}

TEST_CASE("near_optimal: adversarial lengths cost no more than twice the work allowed", "[packing]") {
  auto const spent = [](std::vector<std::int64_t> const& lengths, std::int64_t capacity, std::uint64_t work) {
    auto const h = ballast::fold(lengths);
    auto const plan = plan_near_optimal(h, {.capacity = capacity}, {.work = work});
    require_right(plan, h, capacity);
    return plan.work;
  };
  auto const wide = std::int64_t{1} << 30;
  CHECK(spent(generated(100'000, wide, 200, 500, false, 11), wide, 20'000'000) <= 40'000'000);
  for (int const bits : {14, 30, 40}) {
    auto const capacity = std::int64_t{1} << bits;
    std::vector<std::vector<std::int64_t>> inputs{generated(9000, capacity, 200, 500, false, 1),
                                                  generated(3000, capacity, 150, 650, false, 2),
                                                  generated(9000, capacity, 300, 340, false, 3), generated(3, capacity, 200, 500, false, 4),
                                                  std::vector<std::int64_t>(5000, capacity * 3 / 10)};
    inputs[2].push_back(capacity / 7);
    inputs[4].push_back(capacity / 7);
    for (std::int64_t const k : {2, 3, 4})
      for (auto const l : generated(2000, capacity / 50, 0, 1000, false, 5)) inputs[3].push_back(capacity / k + 1 + l);
    for (auto const& lengths : inputs) {
      CAPTURE(bits, lengths.size());
      for (std::uint64_t const work : {3'000'000U, 8'000'000U}) CHECK(spent(lengths, capacity, work) <= 2 * work);
    }
  }
}

TEST_CASE("near_optimal: a limit of samples that binds is kept", "[packing]") {
  auto const lengths = generated(500, 1000, 100, 300, false, 6);
  for (std::uint64_t const most : {1U, 3U, 8U, 100U}) {
    ballast::packing_options const options{.capacity = 1000, .max_samples = most};
    auto const plan = near_optimal(lengths, options, little);
    ballast_test::require_valid(check_packing(plan, lengths, options));
    CHECK(plan.count.value <= ballast::best_fit_decreasing(lengths, options).count.value);
  }
}

TEST_CASE("near_optimal: with a limit of samples, near the true optimum of a few", "[packing][property]") {
  int optimal = 0, improved = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const capacity = between(10, 60, draw);
    auto const lengths = ballast_test::random_lengths(static_cast<std::size_t>(1 + draw() % 9), capacity / 2 + 1, draw);
    auto const most = 1 + draw() % 4;
    auto const h = ballast::fold(lengths);
    auto const plan = plan_near_optimal(h, {.capacity = capacity, .max_samples = most}, little);
    require_right(plan, h, capacity, most);
    auto const optimum = ballast_test::fewest_packs(lengths, capacity, most).value();
    REQUIRE(plan.count.lower_bound <= optimum);
    REQUIRE(plan.count.value >= optimum);
    optimal += plan.count.value == optimum ? 1 : 0;
    improved += plan.count.value < ballast::best_fit_decreasing(lengths, {.capacity = capacity, .max_samples = most}).count.value ? 1 : 0;
  }
  CHECK(optimal >= 299);
  CHECK(improved >= 3);
}

TEST_CASE("near_optimal: with a limit of samples that binds, what best fit loses is found and proven", "[packing]") {
  // Best fit by length fills packs with two long samples, and leaves the short ones to packs that have no place for enough of them.
  ballast::splitmix64 draw(9);
  histogram h;
  for (std::int64_t length = 5; length <= 128; ++length) {
    h.lengths.push_back(length);
    h.counts.push_back((400 + draw() % 4000) * 200 / static_cast<std::uint64_t>(length));
  }
  for (std::uint64_t const most : {2U, 3U, 5U}) {
    CAPTURE(most);
    ballast::packing_options const options{.capacity = 128, .max_samples = most};
    auto const plan = plan_near_optimal(h, options, {.work = 60'000'000});
    require_right(plan, h, 128, most);
    CHECK(plan.count.value <= plan.count.lower_bound + 1);
    auto const best_fit = ballast::count_packs(h, options).count.value;
    CHECK(plan.count.value <= best_fit);
    if (most > 2) CHECK(8 * plan.count.value < 7 * best_fit);
  }
  CHECK(plan_near_optimal(h, {.capacity = 128, .max_samples = 3}, {.work = 60'000'000}).bound.bound ==
        ballast::packing_bound::linear_program);
}

}  // namespace test_packing_near_optimal
