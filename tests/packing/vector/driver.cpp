// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/vector/check.hpp>
#include <ballast/packing/vector/portfolio.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/vector_cases.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace test_packing_vector_driver {

// What all packers of several measures share, seen through one of them.

using ballast::oversize;
using ballast::sample_measures;
using ballast::vector_best_fit;
using ballast::vector_bound;
using ballast::vector_packing_options;
using ballast_test::refusal;

namespace {

std::vector<std::int64_t> const tiles{5, 0, 12, 4, 1}, tokens{1400, 5000, 900, 1000, 300};
sample_measures const samples{tiles, tokens};

}  // namespace

TEST_CASE("packers of several measures: samples above a capacity", "[packing]") {
  vector_packing_options o{.capacity = {9, 4096}};
  CHECK(refusal([&] { return vector_best_fit(samples, o); }) == "measures[0][2] = 12 exceeds capacity[0] = 9 (see oversize policy)");
  o.oversize = oversize::set_aside;
  auto const aside = vector_best_fit(samples, o);
  CHECK(aside.set_aside == std::vector<std::uint32_t>{1, 2});
  CHECK(aside.count.value == 2);
  CHECK(aside.count.optimal());
  CHECK(aside.totals == std::vector<std::int64_t>{10, 2700});
  CHECK(aside.fill(0, 9) == 10.0 / 18.0);
  o.oversize = oversize::alone;
  auto const own = vector_best_fit(samples, o);
  CHECK(own.set_aside.empty());
  CHECK(own.count.value == 4);
  CHECK(own.count.optimal());
  CHECK(own.totals == std::vector<std::int64_t>{22, 8600});
  CHECK(describe(check_packing(own, samples, o)) == "valid");
}

TEST_CASE("packers of several measures: a demanded multiple of packs", "[packing]") {
  std::vector<std::int64_t> const ones(7, 1);
  sample_measures const seven{ones, ones};
  auto const plan = [&](std::uint64_t multiple) { return vector_best_fit(seven, {.capacity = {3, 100}, .pack_count_multiple = multiple}); };
  CHECK(plan(1).count.value == 3);
  CHECK(plan(2).count.value == 4);
  CHECK(plan(2).count.lower_bound == 4);
  CHECK(plan(7).count.value == 7);
  CHECK(describe(check_packing(plan(7), seven, {.capacity = {3, 100}, .pack_count_multiple = 7})) == "valid");
  auto const too_many = plan(8);
  CHECK(too_many.status == ballast::status::infeasible);
  CHECK(too_many.bound == vector_bound::sample_count);
  CHECK(too_many.packs.empty());
  CHECK(too_many.count.value == 8);
}

TEST_CASE("packers of several measures: a limit of samples is one more measure", "[packing][property]") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const c = ballast_test::random_vector_case(1 + seed % 8, 1 + seed % 3, draw);
    auto const most = 1 + draw() % 3;
    auto const plan = vector_best_fit(c.samples(), {.capacity = c.capacity, .max_samples = most});
    auto const fewest = ballast_test::fewest_vector_packs(c, most).value();
    REQUIRE(plan.count.lower_bound <= fewest);
    REQUIRE(plan.count.value >= fewest);
    REQUIRE(plan.totals.size() == c.measures());
  }
  std::vector<std::int64_t> const ones(10, 1);
  auto const limited = vector_best_fit(sample_measures{ones}, {.capacity = {100}, .max_samples = 4});
  CHECK(limited.count.value == 3);
  CHECK(limited.bound == vector_bound::measure);
  CHECK(limited.measure == 1);  // behind the samples' own
  CHECK(vector_best_fit(sample_measures{ones}, {.capacity = {100}, .max_samples = ~std::uint64_t{0}}).count.value == 1);
}

TEST_CASE("packers of several measures: a solver's own bound stands", "[packing]") {
  std::vector<std::int64_t> const v{3, 3, 3};
  auto const plan = ballast::detail::drive<std::uint32_t>(sample_measures{v}, {.capacity = {4}}, ballast::vector_packer::near_optimal,
                                                          [](auto const& items, auto& out) {
                                                            for (std::uint32_t i : items.order) out.packs.push_back(std::span(&i, 1));
                                                            out.count.lower_bound = 2;
                                                            out.bound = vector_bound::linear_program;
                                                          });
  CHECK(plan.count.value == 3);
  CHECK(plan.count.lower_bound == 2);
  CHECK(plan.bound == vector_bound::linear_program);
  CHECK(plan.packer == ballast::vector_packer::near_optimal);
}

TEST_CASE("packers of several measures: nothing to pack", "[packing]") {
  std::vector<std::int64_t> const none;
  auto const plan = vector_best_fit(sample_measures{none, none}, {.capacity = {9, 4096}, .pack_count_multiple = 8});
  CHECK(plan.packs.empty());
  CHECK(plan.count.optimal());
  CHECK(plan.bound == vector_bound::none);
  CHECK(plan.fill(0, 9) == 0.0);
}

TEST_CASE("packers of several measures: refuse bad options", "[packing][error]") {
  auto const says = [](vector_packing_options const& o) { return refusal([&] { return vector_best_fit(samples, o); }); };
  CHECK(says({.capacity = {9}}) == "capacity has 1 entry for 2 measures");
  CHECK(says({.capacity = {9, 0}}) == "capacity[1] = 0 must be positive");
  CHECK(says({.capacity = {9, 4096}, .pack_count_multiple = 0}) == "pack_count_multiple = 0 must be in 1 ... 2^62");
  CHECK(says({.capacity = {9, 4096}, .oversize = oversize::split}) ==
        "oversize: a sample of several measures can be rejected, set aside or packed alone, but not cut");
}

TEST_CASE("packers of several measures: infeasible only where no plan exists", "[packing][property]") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const c = ballast_test::random_vector_case(1 + draw() % 9, 1 + seed % 3, draw);
    vector_packing_options const o{.capacity = c.capacity, .max_samples = draw() % 4, .pack_count_multiple = 1 + draw() % 8, .seed = seed};
    auto const multiple = static_cast<std::int64_t>(o.pack_count_multiple);
    auto const needed = (ballast_test::fewest_vector_packs(c, o.max_samples).value() + multiple - 1) / multiple * multiple;
    auto const exists = std::cmp_less_equal(needed, c.size());
    for (auto const& plan :
         {vector_best_fit(c.samples(), o), ballast::bin_completion(c.samples(), o), ballast::iterative_sampling(c.samples(), o),
          ballast::near_optimal(c.samples(), o), ballast::pack(c.samples(), o)}) {
      CAPTURE(to_string(plan.packer));
      REQUIRE((plan.status != ballast::status::infeasible || !exists));
      REQUIRE((plan.status != ballast::status::feasible || exists));
      REQUIRE(describe(check_packing(plan, c.samples(), o)) == "valid");
    }
  }
}

TEST_CASE("packers of several measures: what only a better plan can answer stays open", "[packing]") {
  std::vector<std::int64_t> const v{10, 10, 10, 4, 4, 3, 3, 3, 3};
  vector_packing_options const o{.capacity = {10}, .pack_count_multiple = 5};
  auto const open = vector_best_fit(sample_measures{v}, o);
  CHECK(open.status == ballast::status::unknown);
  CHECK(open.packs.empty());
  CHECK(open.count == ballast::certificate{10, 5});
  CHECK(open.totals == std::vector<std::int64_t>{0});
  auto const found = ballast::pack(sample_measures{v}, o);
  CHECK(found.status == ballast::status::feasible);
  CHECK(found.count == ballast::certificate{5, 5});
}

}  // namespace test_packing_vector_driver
