// SPDX-License-Identifier: Apache-2.0
#include <ballast/recompute/check.hpp>

#include <ballast/recompute/choose.hpp>

#include "support/catch.hpp"

#include <array>

namespace test_recompute_check {

using namespace ballast;

TEST_CASE("check_selection: names the rule broken") {
  option_classes items;
  items.add(std::array{memory_option{.memory = 10}, memory_option{.time = 5}}, 2);
  items.add(std::array{memory_option{.memory = 4}, memory_option{.transfer = 3}});
  selection_options const asked{.budget = 14, .hidden_transfer = 1};
  auto const good = choose_options(items, asked);
  REQUIRE(check_selection(good, items, asked) == verdict{});
  auto const broken = [&](auto const& change) {
    auto s = good;
    change(s);
    return check_selection(s, items, asked).fault;
  };
  CHECK(broken([](selection& s) { s.copies.pop_back(); }) == selection_fault::wrong_size);
  CHECK(broken([](selection& s) { ++s.copies[0]; }) == selection_fault::wrong_count);
  CHECK(describe(check_selection(good, items, asked)) == "valid");
  CHECK(describe(verdict{selection_fault::wrong_count, 1}) == "the copies of class 1 do not add up to its items");
  CHECK(broken([](selection& s) { ++s.memory; }) == selection_fault::wrong_memory);
  CHECK(broken([](selection& s) { ++s.transfer; }) == selection_fault::wrong_transfer);
  CHECK(broken([](selection& s) { ++s.time.value; }) == selection_fault::wrong_time);
  CHECK(broken([](selection& s) { s.time.lower_bound = s.time.value + 1; }) == selection_fault::wrong_bound);
  CHECK(check_selection(good, items, {.budget = 13}).fault == selection_fault::over_budget);
  CHECK(check_selection({.status = status::infeasible, .time = {}, .memory = 0, .transfer = 0, .copies = {}}, items, asked).fault ==
        selection_fault::over_budget);
}

}  // namespace test_recompute_check
