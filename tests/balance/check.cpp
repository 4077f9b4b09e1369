// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/check.hpp>

#include "suite.hpp"

#include <limits>

namespace test_balance_check {

using namespace ballast_test;
using ballast::check_balance;

namespace {
std::string says(ballast::groups<> const& sets, numbers const& items, balance_options const& o) {
  return describe(check_balance(sets, items, o));
}
std::string const fine = "valid";
}  // namespace

TEST_CASE("check_balance: names the first rule that bare groups break, and where") {
  numbers const items{5, 3, 8, 2};
  balance_options const o{.sets = 2, .capacity = 10};
  CHECK(says({{0, 2, 4}, {0, 1, 2, 3}}, items, o) == fine);
  CHECK(says({{0, 0, 0}, {}}, {}, o) == fine);
  CHECK(says({{1, 2, 4}, {0, 1, 2, 3}}, items, o) == "offsets[0] = 1: offsets must rise from 0 to 4");
  CHECK(says({{0, 3, 2, 4}, {0, 1, 2, 3}}, items, o) == "offsets[2] = 2: offsets must rise from 0 to 4");
  CHECK(says({{0, 2, 9}, {0, 1, 2, 3}}, items, o) == "offsets[2] = 9: offsets must rise from 0 to 4");
  CHECK(says({{0, 2, 3}, {0, 1, 2, 3}}, items, o) == "offsets[2] = 3: offsets must rise from 0 to 4");
  CHECK(says({{0, 4}, {0, 1, 2, 3}}, items, o) == "there are 1 sets, not 2");
  CHECK(says({{0, 2, 4}, {0, 1, 2, 4}}, items, o) == "members[3] = 4 must be below 4");
  CHECK(says({{0, 2, 4}, {0, 1, 2, 1}}, items, o) == "item 1 occurs twice, the second time in set 1");
  CHECK(says({{0, 2, 3}, {0, 1, 2}}, items, o) == "item 3 is in no set");
  CHECK(says({{0, 1, 4}, {0, 1, 2, 3}}, items, o) == "set 1 holds 13, more than its capacity 10");
  CHECK(says({{0, 1, 4}, {0, 1, 2, 3}}, items, {.sets = 2, .max_items = 2}) == "set 1 has 3 items, more than 2");
  CHECK(says({{0, 1, 4}, {0, 1, 2, 3}}, items, {.sets = 2, .equal_counts = true}) ==
        "set 0 has 1 item, another 3: counts must differ by at most one");
  CHECK(says({{0, 1, 4}, {0, 1, 2, 3}}, items, {.sets = 2}) == fine);
  auto const most = (std::numeric_limits<std::int64_t>::max)();
  CHECK(says({{0, 3}, {0, 1, 2}}, {most, most, most}, {.sets = 1, .capacity = most}) ==
        "set 0 holds 9223372036854775807 or more, more than its capacity 9223372036854775807");  // saturated, not wrapped around
  CHECK(refusal([&] { return check_balance(ballast::groups<>{{0, 1}, {0}}, numbers{3}, {.sets = 1}, [](std::int64_t) { return -1; }); }) ==
        "items[0] = 3 has cost -1, outside [0, 2^63)");
}

TEST_CASE("check_balance: a whole result must also be true to its word") {
  numbers const items{5, 3, 8, 2};
  balance_options const aside{.sets = 2, .capacity = 7, .misfit = ballast::misfit::set_aside};
  balanced_sets<> good;
  good.sets = {{0, 2, 3}, {0, 3, 1}};
  good.load = {7, 5};
  good.set_aside = {2};
  auto const verdict = [&](auto change, balance_options const& o) {
    auto p = good;
    change(p);
    return describe(check_balance(p, items, o));
  };
  auto const wrong = [](int at) {
    return "set_aside[" + std::to_string(at) + "] must name items, ascending, and only where the policy allows it";
  };
  CHECK(verdict([](auto&) {}, aside) == fine);
  CHECK(verdict([](auto&) {}, {.sets = 2, .capacity = 7}) == wrong(0));
  CHECK(verdict([](auto& p) { p.set_aside = {4}; }, aside) == wrong(0));
  CHECK(verdict([](auto& p) { p.set_aside = {2, 2}; }, aside) == wrong(1));
  CHECK(verdict([](auto& p) { p.set_aside = {}; }, aside) == "item 2 is in no set");
  CHECK(verdict([](auto& p) { p.set_aside = {0, 2}; }, aside) == "item 0 occurs twice, the second time in set 0");
  CHECK(verdict([](auto& p) { p.load.value = 6; }, aside) == "the value of the certificate is 6, not 7");
  CHECK(verdict([](auto& p) { p.load.lower_bound = 8; }, aside) == "the lower bound 8 contradicts 7, the value or the limit");
  CHECK(verdict([](auto& p) { p.status = status::unknown; }, aside) ==
        "the result says that there is no plan, but has 3 sets or items set aside");
  auto const nothing = [](std::int64_t needed) {
    return [needed](auto& p) {
      p.sets.clear();
      p.set_aside.clear();
      p.status = status::infeasible;
      p.load = {7, needed};
    };
  };
  CHECK(verdict(nothing(8), aside) == fine);
  CHECK(verdict(nothing(7), aside) == "the lower bound 7 contradicts 7, the value or the limit");
}

}  // namespace test_balance_check
