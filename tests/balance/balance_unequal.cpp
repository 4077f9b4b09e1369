// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/balance_unequal.hpp>
#include <ballast/balance/check_unequal.hpp>
#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/core/random.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace test_balance_balance_unequal {
namespace {

using numbers = std::vector<std::int64_t>;
using ballast::unequal_options;

constexpr auto none = (std::numeric_limits<std::int64_t>::max)();

/// The least time of all ways to put each item into a set; `none` if all break a limit.
std::int64_t least_time(numbers const& items, unequal_options const& o, std::size_t at, numbers& load) {
  auto const sets = o.unit_time.size();
  if (at == items.size()) {
    std::int64_t out = 0;
    for (std::size_t s = 0; s < sets; ++s) out = (std::max)(out, load[s] * o.unit_time[s]);
    return out;
  }
  auto best = none;
  for (std::size_t s = 0; s < sets; ++s) {
    if ((!o.largest.empty() && items[at] > o.largest[s]) || (!o.capacity.empty() && load[s] + items[at] > o.capacity[s])) continue;
    load[s] += items[at];
    best = (std::min)(best, least_time(items, o, at + 1, load));
    load[s] -= items[at];
  }
  return best;
}

struct instance {
  numbers items;
  unequal_options options;
};
instance drawn(ballast::splitmix64& random, bool limited) {
  instance out;
  auto const below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  auto const sets = 1 + below(3), count = below(9);
  for (std::int64_t i = 0; i < count; ++i) out.items.push_back(below(4) == 0 ? 20 + below(40) : below(12));
  auto const total = std::accumulate(out.items.begin(), out.items.end(), std::int64_t{0});
  for (std::int64_t s = 0; s < sets; ++s) {
    out.options.unit_time.push_back(1 + below(5));
    if (!limited) continue;
    out.options.capacity.push_back(total / sets + below(20));
    out.options.largest.push_back(below(2) == 0 ? 60 : 5 + below(40));
  }
  return out;
}

TEST_CASE("balance_unequal: against all ways to deal few items", "[balance]") {
  ballast::splitmix64 random(11);
  std::size_t optimal = 0, plans = 0, proven = 0, missed = 0, impossible = 0;
  for (int round = 0; round < 1500; ++round) {
    auto const [items, options] = drawn(random, round % 2 == 1);
    auto const plan = ballast::balance_unequal(items, options);
    auto const verdict = ballast::check_unequal(plan, items, options);
    INFO(ballast::describe(verdict));
    REQUIRE(verdict.valid());
    numbers load(options.unit_time.size());
    auto const least = least_time(items, options, 0, load);
    if (plan.status == ballast::status::infeasible) REQUIRE(least == none);
    if (plan.status != ballast::status::feasible) {
      missed += least != none;
      impossible += least == none;
      continue;
    }
    REQUIRE(plan.time.lower_bound <= least);
    REQUIRE(least <= plan.time.value);
    if (options.capacity.empty() && least > 0)
      REQUIRE(plan.time.value * static_cast<std::int64_t>(load.size() + 1) <= 2 * static_cast<std::int64_t>(load.size()) * least);
    ++plans;
    optimal += plan.time.value == least;
    proven += plan.time.optimal();
  }
  CHECK(impossible > 0);
  CHECK(missed * 20 < plans);       // limits that it cannot meet though they can be met
  CHECK(optimal * 10 > plans * 9);  // the exact counts may change with the rules
  CHECK(proven * 10 > plans * 6);
}

TEST_CASE("balance_unequal: sets of one speed are as level as by longest processing time first", "[balance]") {
  ballast::splitmix64 random(5);
  numbers items(500);
  for (auto& x : items) x = static_cast<std::int64_t>(random() % 1000);
  auto const plan = ballast::balance_unequal(items, {.unit_time = numbers(16, 1)});
  auto const usual = ballast::longest_processing_time(items, {.sets = 16});
  CHECK(plan.time.value <= usual.load.value);
  CHECK(plan.time.lower_bound == usual.load.lower_bound);
}

TEST_CASE("balance_unequal: a mixed group is used by its speed and memory", "[balance]") {
  ballast::splitmix64 random(3);
  numbers lengths(2000);
  for (auto& x : lengths) x = 1 + static_cast<std::int64_t>(random() % (random() % 16 == 0 ? 30'000 : 3'000));
  unequal_options mixed;
  for (int s = 0; s < 16; ++s) {
    mixed.unit_time.push_back(s < 8 ? 5 : 14);  // 312 and 112 TFLOP/s
    mixed.largest.push_back(s < 8 ? 32'768 : 8'192);
  }
  auto const plan = ballast::balance_unequal(lengths, mixed);
  REQUIRE(ballast::check_unequal(plan, lengths, mixed).valid());
  CHECK(plan.time.value * 1000 <= plan.time.lower_bound * 1001);
  CHECK(ballast::balance_unequal(lengths, mixed) == plan);
}

TEST_CASE("balance_unequal: what cannot be, and what is misuse", "[balance]") {
  using ballast::status;
  numbers const items{5, 9};
  CHECK(ballast::balance_unequal(items, {.unit_time = {1, 2}, .capacity = {6, 6}}).status == status::infeasible);
  CHECK(ballast::balance_unequal(items, {.unit_time = {1, 2}, .largest = {8, 8}}).status == status::infeasible);
  CHECK(ballast::balance_unequal(items, {.unit_time = {1, 2}, .capacity = {4, 9}}).status == status::infeasible);
  CHECK(ballast::balance_unequal(numbers{}, {.unit_time = {3}}).time.optimal());
  CHECK_THROWS_WITH(ballast::balance_unequal(items, {}), "unit_time is empty: it needs one entry for each set");
  CHECK_THROWS_WITH(ballast::balance_unequal(items, {.unit_time = {1, 0}}), "unit_time[1] = 0 must be in 1 ... 2^31");
  CHECK_THROWS_WITH(ballast::balance_unequal(items, {.unit_time = {1}, .largest = {1, 2}}), "largest has 2 entries for 1 sets");
  CHECK_THROWS_WITH(ballast::balance_unequal(items, {.unit_time = {1}, .capacity = {-1}}), "capacity[0] = -1 must not be negative");
  CHECK_THROWS_AS(ballast::balance_unequal(numbers{std::int64_t{1} << 61}, {.unit_time = {4}}), ballast::invalid_input);
}

}  // namespace
}  // namespace test_balance_balance_unequal
