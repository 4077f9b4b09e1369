// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/balance_unequal.hpp>
#include <ballast/balance/check_unequal.hpp>
#include <ballast/balance/share_units.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace test_balance_check_unequal {
namespace {

using ballast::balance_fault;
using numbers = std::vector<std::int64_t>;

TEST_CASE("check_unequal: names the first broken rule", "[balance]") {
  numbers const items{7, 3, 2};
  ballast::unequal_options const options{.unit_time = {1, 2}, .capacity = {12, 5}, .largest = {7, 3}};
  auto const good = ballast::balance_unequal(items, options);
  REQUIRE(ballast::check_unequal(good, items, options).valid());
  auto const broken = [&](auto const& change) {
    auto plan = good;
    change(plan);
    return ballast::check_unequal(plan, items, options).fault;
  };
  CHECK(broken([](auto& p) { p.sets.members.pop_back(); }) == balance_fault::bad_offsets);
  CHECK(broken([](auto& p) { p.sets.members[1] = p.sets.members[0]; }) == balance_fault::item_twice);
  CHECK(broken([](auto& p) { p.sets = {{0, 2, 3}, {1, 2, 0}}; }) == balance_fault::item_too_large);
  CHECK(broken([](auto& p) { ++p.time.value; }) == balance_fault::wrong_value);
  CHECK(broken([](auto& p) { p.time.lower_bound = p.time.value + 1; }) == balance_fault::wrong_bound);
  CHECK(broken([](auto& p) { p.status = ballast::status::unknown; }) == balance_fault::sets_without_plan);
  ballast::unequal_options const tight{.unit_time = {1, 2}, .capacity = {6, 5}};
  CHECK(ballast::check_unequal(good, items, tight).fault == balance_fault::overfull_set);
}

TEST_CASE("check_unequal and check_shares: options and times out of range", "[balance]") {
  using ballast_test::refusal;
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  ballast::unit_shares shares{.units = {5, 0}, .time = {5, 5}};
  CHECK(refusal([&] { return ballast::check_shares(shares, 5, {.unit_time = {1, 0}}); }) == "unit_time[1] = 0 must be in 1 ... 2^31");
  CHECK(refusal([&] { return ballast::check_shares(shares, -1, {.unit_time = {1, 1}}); }) == "units = -1 must not be negative");
  shares.units = {most, 1};
  CHECK(ballast::check_shares(shares, most, {.unit_time = {1, 1}}).fault == balance_fault::item_missing);
  CHECK(ballast::check_shares(shares, most, {.unit_time = {2, 1}}).fault == balance_fault::wrong_value);
  ballast::unequal_sets<> const sets{.status = ballast::status::feasible, .sets = {{0, 1, 2}, {0, 1}}, .time = {}};
  CHECK(refusal([&] { return ballast::check_unequal(sets, numbers{1, 2}, {.unit_time = {1, 2}, .capacity = {9}}); }) ==
        "capacity has 1 entry for 2 sets");
  CHECK(ballast::check_unequal(sets, numbers{most - 1, 1}, {.unit_time = {2, 1}}).fault == balance_fault::wrong_value);
}

TEST_CASE("check_shares: names the first broken rule", "[balance]") {
  ballast::unequal_options const options{.unit_time = {1, 2}, .capacity = {9, 9}};
  auto const good = ballast::share_units(12, options);
  REQUIRE(ballast::check_shares(good, 12, options).valid());
  auto const broken = [&](auto const& change) {
    auto plan = good;
    change(plan);
    return ballast::check_shares(plan, 12, options).fault;
  };
  CHECK(broken([](auto& p) { p.units.pop_back(); }) == balance_fault::wrong_set_count);
  CHECK(broken([](auto& p) { p.units = {10, 2}; }) == balance_fault::overfull_set);
  CHECK(broken([](auto& p) { --p.units[0]; }) == balance_fault::item_missing);
  CHECK(broken([](auto& p) { --p.time.value; }) == balance_fault::wrong_value);
  CHECK(broken([](auto& p) { p = {.units = {9, 3}, .time = {9, 9}}; }) == balance_fault::wrong_bound);
  CHECK(broken([](auto& p) { p = {.status = ballast::status::infeasible, .shortage = 1}; }) == balance_fault::wrong_bound);
}

}  // namespace
}  // namespace test_balance_check_unequal
