// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/longest_processing_time.hpp>

#include "suite.hpp"

namespace test_balance_longest_processing_time {

using namespace ballast_test;

namespace {
auto const lpt = [](auto const& items, balance_options const& o, auto const& cost, auto const& size) {
  return ballast::longest_processing_time(items, o, cost, size);
};
auto const lpt64 = [](auto const& items, balance_options const& o, auto const& cost, auto const& size) {
  return ballast::longest_processing_time<std::uint64_t>(items, o, cost, size);
};
}  // namespace

TEST_CASE("longest_processing_time: valid, bounded, the same twice") { keeps_its_promises(lpt); }

TEST_CASE("longest_processing_time: is its definition, under every limit") {
  auto const compare = [](balance_case const& c, auto const& cost, auto const& size) {
    auto const& [items, o] = c;
    auto const plan = lpt(items, o, cost, size);
    deal_by_definition const expected(
        items, decreasing(items, cost), o, [](auto const& d, auto a, auto b) { return d.load[a] < d.load[b]; }, size, cost, size);
    auto const left_out = std::count(expected.set_of.begin(), expected.set_of.end(), o.sets);
    REQUIRE((plan.status == status::feasible) == (left_out == 0 || o.misfit == ballast::misfit::set_aside));
    if (plan.status == status::feasible) same_sets(plan, expected.set_of);
  };
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    compare(random_balance_case(seed), dear, ballast::token_cost{});
    compare(two_measures_case(seed), upper_digits, lower_digits);
  }
}

TEST_CASE("longest_processing_time: within 4/3 - 1/(3k) of the optimum, and no better where that is tight") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    auto [items, o] = random_balance_case(seed, 8, 3);
    o = {.sets = o.sets};
    auto const k = static_cast<std::int64_t>(o.sets);
    REQUIRE(lpt(items, o, dear, ballast::token_cost{}).load.value * 3 * k <= *least_load(items, o) * (4 * k - 1));
  }
  CHECK(ballast::longest_processing_time(numbers{5, 5, 4, 4, 3, 3, 3}, {.sets = 3}).load ==
        ballast::certificate{11, 9});  // Graham's example
}

TEST_CASE("longest_processing_time: corners") { handles_corners(lpt, lpt64); }

TEST_CASE("longest_processing_time: golden") { CHECK(golden_hash(lpt) == 2186135559706291129U); }

}  // namespace test_balance_longest_processing_time
