// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/bounds.hpp>

#include "suite.hpp"

namespace test_balance_bounds {

using namespace ballast_test;
using ballast::balance_bound;
using ballast::balance_lower_bound;
using ballast::capacity_bound;
using ballast::load_bound;

TEST_CASE("balance_lower_bound: each argument where it is the strongest") {
  CHECK(balance_lower_bound({}, 3) == load_bound{});
  CHECK(balance_lower_bound(numbers{5, 4, 4}, 3) == load_bound{5, balance_bound::mean});  // 13 / 3, rounded up
  CHECK(balance_lower_bound(numbers{9, 1, 1}, 2) == load_bound{9, balance_bound::largest_item});
  CHECK(balance_lower_bound(numbers{5, 5, 5}, 2) == load_bound{10, balance_bound::pigeonhole});
  CHECK(balance_lower_bound(numbers{5, 5, 5, 5, 5, 1}, 2) == load_bound{15, balance_bound::pigeonhole});  // three of the five
  CHECK(balance_lower_bound(numbers{9, 2, 2, 1}, 2, 2) == load_bound{10, balance_bound::item_counts});
  CHECK(balance_lower_bound(numbers{7, 7, 7, 1, 1, 1}, 2, 3) == load_bound{15, balance_bound::item_counts});  // two of three, and a third
}

TEST_CASE("capacity_bound: what the other sets cannot hold joins the most expensive item") {
  numbers const size{6, 3, 3, 4}, cost{60, 10, 10, 20};
  CHECK(capacity_bound(cost, size, 2, 8) == load_bound{67, balance_bound::capacity});  // 2 of size are left, at 10 / 3 each, rounded up
  CHECK(capacity_bound(cost, size, 2, 10) == load_bound{});
  CHECK(capacity_bound(cost, size, 1, 16) == load_bound{94, balance_bound::capacity});
  CHECK(capacity_bound({}, {}, 3, 1) == load_bound{});
  CHECK(capacity_bound(numbers{4, 2}, numbers{0, 0}, 2, 1) == load_bound{});
  auto const most = std::int64_t{1} << 61;
  CHECK(capacity_bound(numbers{most, most}, numbers{most, most}, 1, 2 * most).load == 2 * most);  // products of 122 bits
}

TEST_CASE("bounds: never above the optimum, alone or with limits") {
  int tight = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    auto const [items, o] = random_balance_case(seed, 7, 3);
    auto const best = least_load(items, o);
    if (!best) continue;
    numbers costs;
    for (auto l : items) costs.push_back(dear(l));
    auto const company = o.capacity != 0 ? capacity_bound(costs, items, o.sets, o.capacity) : load_bound{};
    std::sort(costs.begin(), costs.end(), std::greater<>{});
    auto const n = items.size();
    auto const least = o.equal_counts                                       ? n / o.sets
                       : o.max_items != 0 && n > (o.sets - 1) * o.max_items ? n - (o.sets - 1) * o.max_items
                                                                            : 0;
    auto const bound = balance_lower_bound(costs, o.sets, least);
    REQUIRE(bound.load <= *best);
    REQUIRE(company.load <= *best);
    tight += (std::max)(bound.load, company.load) == *best ? 1 : 0;
  }
  CHECK(tight > 400);
}

}  // namespace test_balance_bounds
