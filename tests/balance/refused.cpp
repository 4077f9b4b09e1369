// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance.hpp>

#include "suite.hpp"

namespace test_balance_refused {

using namespace ballast_test;

TEST_CASE("balance: a refused call leaves the plan as it was") {
  numbers const good{5, 3, 2, 9}, negative{5, -3, 2, 9}, huge{std::int64_t{1} << 62, std::int64_t{1} << 62};
  ballast::token_cost const token;
  ballast::balance_workspace<> ws;
  ballast::bulk_balance_workspace bulk;
  ballast::balance_runs runs;
  balanced_sets<> plan;
  balance_options const two{.sets = 2};
  ballast::longest_processing_time(good, two, token, token, ws, plan);
  auto const untouched = [&](auto const& call) { return refused_untouched(plan, call); };
  auto const late = [](std::int64_t item) { return item == 9 ? std::int64_t{-1} : item; };
  for (auto const& [items, o] : {std::pair(good, balance_options{}), std::pair(negative, two), std::pair(huge, two),
                                 std::pair(good, balance_options{.sets = 2, .capacity = -1})}) {
    CHECK(untouched([&] { ballast::snake(items, o, token, token, ws, plan); }));
    CHECK(untouched([&] { ballast::karmarkar_karp(items, o, token, token, ws, plan); }));
    CHECK(untouched([&] { ballast::rate_matching(items, o, token, token, token, ws, plan); }));
    CHECK(untouched([&] { ballast::longest_processing_time(items, o, token, token, ws, plan); }));
    CHECK(untouched([&] { ballast::refine(items, o, token, token, ws, plan); }));
    if (o.capacity == 0) CHECK(untouched([&] { ballast::bulk_longest_processing_time(items, o.sets, token, bulk, runs, plan); }));
  }
  CHECK(untouched([&] { ballast::rate_matching(good, two, token, late, token, ws, plan); }));
  CHECK(untouched([&] { ballast::bulk_longest_processing_time(good, 2, late, bulk, runs, plan); }));
  CHECK(untouched([&] { ballast::refine(numbers{5, 3, 2}, two, token, token, ws, plan); }));  // the plan holds item 3
  CHECK(untouched([&] { ballast::refine(good, {.sets = 3}, token, token, ws, plan); }));
  plan.sets.members[0] = plan.sets.members[1];
  CHECK(untouched([&] { ballast::refine(good, two, token, token, ws, plan); }));
}

}  // namespace test_balance_refused
