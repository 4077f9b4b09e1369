// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/check.hpp>
#include <ballast/core/hash.hpp>

#include "support/archetypes.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// What holds for every balancer, and the definitions they are compared with.

namespace ballast_test {

using ballast::balance_options;
using ballast::balanced_sets;
using ballast::status;
using ballast_test::refusal;
using numbers = std::vector<std::int64_t>;

inline constexpr ballast::quadratic_cost dear{.linear = 50, .quadratic = 1};
/// Cost and size that have nothing to do with each other, in one item.
inline constexpr auto upper_digits = [](std::int64_t item) { return item / 1000; };
inline constexpr auto lower_digits = [](std::int64_t item) { return item % 1000; };

/// Items and options of every kind; with `size` the item and `dear` the cost.
struct balance_case {
  numbers items;
  balance_options options;
};
inline balance_case random_balance_case(std::uint64_t seed, std::size_t most_items = 90, std::uint64_t most_sets = 9) {
  ballast::splitmix64 draw(seed);
  balance_case c;
  auto& o = c.options;
  auto const longest = between(1, draw() % 3 == 0 ? 5 : 900, draw);
  c.items = random_lengths(draw() % (most_items + 1), longest, draw);
  o.sets = 1 + draw() % most_sets;
  auto const total = std::accumulate(c.items.begin(), c.items.end(), std::int64_t{0});
  if (draw() % 2 == 0) o.capacity = total / static_cast<std::int64_t>(o.sets) + between(1, longest, draw);
  if (draw() % 3 == 0) o.max_items = c.items.size() / o.sets + draw() % 3;
  o.equal_counts = draw() % 3 == 0;
  if (!o.equal_counts && draw() % 2 == 0) o.misfit = ballast::misfit::set_aside;
  return c;
}

/// The same with few costs, so that many loads are equal, and any sizes.
inline balance_case two_measures_case(std::uint64_t seed) {
  auto c = random_balance_case(seed);
  ballast::splitmix64 draw(seed);
  for (auto& item : c.items) item = 1000 * between(0, 3, draw) + item % 1000;
  return c;
}

inline void require_valid(ballast::verdict const& v) {
  INFO(describe(v));
  REQUIRE(v.valid());
}

/// The least largest load by trying every deal that keeps the limits; nothing if there is none.
inline std::optional<std::int64_t> least_load(numbers const& items, balance_options const& o) {
  auto const n = items.size();
  auto const k = static_cast<std::size_t>(o.sets);
  std::vector<std::size_t> set_of(n, 0);
  std::optional<std::int64_t> best;
  for (;;) {
    numbers load(k), size(k);
    std::vector<std::uint64_t> count(k);
    for (std::size_t i = 0; i < n; ++i) {
      load[set_of[i]] += dear(items[i]);
      size[set_of[i]] += items[i];
      ++count[set_of[i]];
    }
    auto const [few, many] = std::minmax_element(count.begin(), count.end());
    auto const allowed = (o.capacity == 0 || *std::max_element(size.begin(), size.end()) <= o.capacity) &&
                         (o.max_items == 0 || *many <= o.max_items) && (!o.equal_counts || *many - *few <= 1);
    auto const largest = *std::max_element(load.begin(), load.end());
    if (allowed && (!best || largest < *best)) best = largest;
    std::size_t i = 0;
    while (i < n && ++set_of[i] == k) set_of[i++] = 0;
    if (i == n) return best;
  }
}

/// Deals items in the given order, each to the best set with room by linear search; `better(a, b)` compares sets. Returns the set of each
/// item, or k.
struct deal_by_definition {
  numbers load, size, measure;
  std::vector<std::uint64_t> count;
  std::vector<std::size_t> set_of;

  template <class Better, class Measure, class Cost = ballast::quadratic_cost, class Size = ballast::token_cost>
  deal_by_definition(numbers const& items, std::vector<std::size_t> const& order, balance_options const& o, Better const& better,
                     Measure const& part, Cost const& cost = dear, Size const& weigh = {})
      : load(o.sets), size(o.sets), measure(o.sets), count(o.sets), set_of(items.size(), o.sets) {
    for (auto const i : order) {
      auto best = static_cast<std::size_t>(o.sets);
      for (std::size_t s = 0; s < o.sets; ++s)
        if (has_room(weigh(items[i]), items.size(), s, o) && (best == o.sets || better(*this, s, best))) best = s;
      if (best == o.sets) continue;
      set_of[i] = best;
      load[best] += cost(items[i]);
      size[best] += weigh(items[i]);
      measure[best] += part(items[i]);
      ++count[best];
    }
  }
  [[nodiscard]] bool has_room(std::int64_t needed, std::size_t n, std::size_t s, balance_options const& o) const {
    auto const k = static_cast<std::size_t>(o.sets);
    auto const more = static_cast<std::size_t>(std::count(count.begin(), count.end(), n / k + 1));
    return (!o.equal_counts || count[s] < n / k || (count[s] == n / k && more < n % k)) && (o.max_items == 0 || count[s] < o.max_items) &&
           (o.capacity == 0 || size[s] + needed <= o.capacity);
  }
};

/// The items by a key, largest first, lower index first.
template <class Key>
std::vector<std::size_t> decreasing(numbers const& items, Key const& key) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return key(items[a]) != key(items[b]) ? key(items[a]) > key(items[b]) : a < b; });
  return order;
}

/// The plan says what the definition does, item by item.
inline void same_sets(balanced_sets<> const& plan, std::vector<std::size_t> const& set_of) {
  auto found = std::vector<std::size_t>(set_of.size(), plan.sets.size());
  for (std::size_t s = 0; s < plan.sets.size(); ++s)
    for (auto i : plan.sets[s]) found[i] = s;
  REQUIRE(found == set_of);
}

/// On random cases: valid, the same twice, never below the optimum, the bound never above it, and "infeasible" only where that is so.
template <class Balance>
void keeps_its_promises(Balance const& balance) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    auto const [items, o] = random_balance_case(seed);
    auto const plan = balance(items, o, dear, ballast::token_cost{});
    require_valid(check_balance(plan, items, o, dear));
    if (plan.status != status::feasible) REQUIRE((o.misfit == ballast::misfit::refuse && (o.capacity != 0 || o.max_items != 0)));
    auto const again = balance(items, o, dear, ballast::token_cost{});
    REQUIRE((again.sets == plan.sets && again.load == plan.load && again.bound == plan.bound && again.set_aside == plan.set_aside));
  }
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    auto const [items, o] = two_measures_case(seed);
    require_valid(check_balance(balance(items, o, upper_digits, lower_digits), items, o, upper_digits, lower_digits));
  }
  int infeasible = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    auto [items, o] = random_balance_case(seed, 7, 3);
    o.misfit = ballast::misfit::refuse;
    auto const plan = balance(items, o, dear, ballast::token_cost{});
    auto const best = least_load(items, o);
    if (plan.status == status::feasible) {
      REQUIRE(best);
      REQUIRE(plan.load.lower_bound <= *best);
      REQUIRE(plan.load.value >= *best);
    } else if (plan.status == status::infeasible) {
      REQUIRE_FALSE(best);
      ++infeasible;
    }
  }
  CHECK(infeasible > 5);
}

/// Corners, refusals, the weakest arguments and the widest index.
template <class Balance, class Balance64>
void handles_corners(Balance const& balance, Balance64 const& balance64) {
  ballast::token_cost const id;
  auto const of = [&](std::vector<int> const& items, balance_options const& o) { return balance(items, o, id, id); };
  auto const none = of({}, {.sets = 3});
  CHECK((none.status == status::feasible && none.sets.size() == 3 && none.sets.members.empty() && none.load == ballast::certificate{}));
  auto const one = of({7}, {.sets = 3});
  CHECK((one.load == ballast::certificate{7, 7} && one.bound == ballast::balance_bound::largest_item));
  auto const equal =
      of({4, 4, 4, 4, 4, 4}, {.sets = 3, .capacity = 8, .max_items = 2, .equal_counts = true});  // every limit is met exactly
  CHECK((equal.status == status::feasible && equal.load == ballast::certificate{8, 8} && equal.bound == ballast::balance_bound::mean));
  CHECK(of({0, 0, 0}, {.sets = 2}).load == ballast::certificate{});

  auto const fails = [&](std::vector<int> const& items, balance_options const& o, ballast::balance_bound bound, ballast::certificate load) {
    auto const plan = of(items, o);
    CHECK((plan.status == status::infeasible && plan.sets.empty() && plan.bound == bound && plan.load == load));
  };
  using bound = ballast::balance_bound;
  fails({9, 1}, {.sets = 2, .capacity = 8}, bound::item_size, {8, 9});
  fails({8, 8, 1}, {.sets = 2, .capacity = 8}, bound::capacity, {16, 17});
  fails({5, 5, 5}, {.sets = 2, .capacity = 9}, bound::pigeonhole, {9, 10});
  fails({1, 1, 1}, {.sets = 1, .max_items = 2}, bound::item_counts, {2, 3});
  fails({8, 2, 2, 2}, {.sets = 2, .capacity = 9, .equal_counts = true}, bound::item_counts, {9, 10});
  auto const aside = of({9, 1, 8}, {.sets = 2, .capacity = 8, .misfit = ballast::misfit::set_aside});
  CHECK((aside.status == status::feasible && aside.set_aside == std::vector<std::uint32_t>{0} && aside.load == ballast::certificate{8, 8}));

  CHECK(refusal([&] { return of({1}, {}); }) == "sets = 0 must be in 1 ... 2^31");
  CHECK(refusal([&] { return of({1}, {.sets = 1, .capacity = -1}); }) == "capacity = -1 must not be negative (0 = no limit)");
  CHECK(refusal([&] { return of({1}, {.sets = 1, .equal_counts = true, .misfit = ballast::misfit::set_aside}); }) ==
        "equal_counts needs misfit::refuse: items set aside would make the counts uneven");
  CHECK(refusal([&] { return of({3, -1}, {.sets = 1}); }) ==
        "items[1] = -1 has a cost that is negative, not a number or too large for 63 bits");
  auto const half = std::int64_t{1} << 62;
  CHECK(refusal([&] { return balance(numbers{half, half}, {.sets = 1}, id, id); }) ==
        "items[1] = 4611686018427387904 brings the sum of costs to 2^63 or more");
  CHECK(refusal([&] { return balance(numbers{1}, {.sets = 1}, id, [](std::int64_t) { return -2; }); }) ==
        "items[0] = 1 has size -2, outside [0, 2^63)");
  auto const wide = balance(numbers{half, half - 1}, {.sets = 2, .capacity = half}, id, id);
  CHECK((wide.load == ballast::certificate{half, half}));

  ballast::splitmix64 draw(5);
  auto const items = random_lengths(300, 900, draw);
  balance_options const o{.sets = 7, .capacity = 30000};
  auto const plan = balance(items, o, id, id);
  CHECK(balance(weakest_lengths(items), o, id, id).sets == plan.sets);
  auto const plan64 = balance64(items, o, id, id);
  static_assert(std::same_as<decltype(plan64.sets.members), std::vector<std::uint64_t>>);
  CHECK((ballast::hash(plan64.sets) == ballast::hash(plan.sets) && plan64.load == plan.load));
  CHECK(balance(items, o, smallest_cost(2), smallest_cost(1)).sets == plan.sets);
}

/// The plan of one fixed input, the same in every build: a release that changes it says so in the CHANGELOG.
template <class Balance>
[[nodiscard]] std::uint64_t golden_hash(Balance const& balance) {
  return ballast::hash(balance(golden_lengths(), {.sets = 48, .capacity = 60000, .max_items = 130}, dear, ballast::token_cost{}).sets);
}

}  // namespace ballast_test
