// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance.hpp>

#include "suite.hpp"

namespace test_balance_balance {

using namespace ballast_test;

namespace {
auto const best = [](auto const& items, balance_options const& o, auto const& cost, auto const& size) {
  return ballast::balance(items, o, cost, size);
};
auto const best64 = [](auto const& items, balance_options const& o, auto const& cost, auto const& size) {
  return ballast::balance<std::uint64_t>(items, o, cost, size);
};

/// Whether `plan` is at least as good as `other`: a plan where there is one, no more set aside, no larger load. What was set aside makes
/// loads incomparable where it differs.
void not_behind(balanced_sets<> const& plan, balanced_sets<> const& other) {
  if (other.status != status::feasible) return;
  REQUIRE(plan.status == status::feasible);
  REQUIRE(plan.set_aside.size() <= other.set_aside.size());
  if (plan.set_aside.size() == other.set_aside.size()) REQUIRE(plan.load.value <= other.load.value);
}

/// Compares with every method of the room, and those that are good alone refined. Returns how many of them it is strictly better than.
int against_every_method(numbers const& items, balance_options const& o, auto const& cost, auto const& size) {
  auto const plan = ballast::balance(items, o, cost, size);
  require_valid(check_balance(plan, items, o, cost, size));
  int beaten = 0;
  ballast::balance_workspace<> ws;
  auto const compare = [&](balanced_sets<> other, bool refined = false) {
    not_behind(plan, other);
    beaten += plan.load.value < other.load.value ? 1 : 0;
    if (!refined) return;
    ballast::refine(items, o, cost, size, ws, other);
    not_behind(plan, other);
  };
  compare(ballast::longest_processing_time(items, o, cost, size), true);
  compare(ballast::karmarkar_karp(items, o, cost, size), true);
  compare(ballast::snake(items, o, cost, size));
  compare(ballast::rate_matching(items, o, cost, cost, size));
  auto towards = o;
  towards.target = ballast::rate_target::capacity;
  if (o.capacity > 0) compare(ballast::rate_matching(items, towards, cost, cost, size));
  if (o.capacity == 0 && o.max_items == 0 && !o.equal_counts && std::ranges::all_of(items, [](auto l) { return l > 0; }))
    REQUIRE(plan.load.value <= ballast::bulk_longest_processing_time(items, o.sets, cost).load.value);
  return beaten;
}
}  // namespace

TEST_CASE("balance: valid, bounded, the same twice") { keeps_its_promises(best); }

TEST_CASE("balance: never behind any method of the room") {
  int beaten = 0;
  for (std::uint64_t seed = 0; seed < 800; ++seed) {
    CAPTURE(seed);
    auto const [items, o] = random_balance_case(seed);
    beaten += against_every_method(items, o, dear, ballast::token_cost{});
    auto const [both, limits] = two_measures_case(seed);
    beaten += against_every_method(both, limits, upper_digits, lower_digits);
  }
  CHECK(beaten > 500);
  // Rate matching by squares, which is what a caller who names no part gets, has the order of rates by cost.
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    auto const [items, o] = random_balance_case(seed);
    not_behind(ballast::balance(items, o, dear), ballast::rate_matching(items, o, dear));
  }
}

TEST_CASE("balance: never behind on global batches with long tails, of equal counts or not") {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    numbers items(seed % 3 == 0 ? 256 : 512);
    for (auto& l : items) {
      auto const tail = draw() % 64;
      l = 16 + static_cast<std::int64_t>(draw() % (tail == 0 ? 60'000U : tail < 16 ? 6'000U : 900U));
    }
    static_cast<void>(against_every_method(items, {.sets = 16, .equal_counts = seed % 2 == 0}, dear, ballast::token_cost{}));
    static_cast<void>(against_every_method(items, {.sets = 8, .capacity = 120'000}, dear, ballast::token_cost{}));
  }
}

TEST_CASE("balance: mostly the optimum of few items") {
  int optimal = 0, cases = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    auto [items, o] = random_balance_case(seed, 7, 3);
    o.misfit = ballast::misfit::refuse;
    auto const least = least_load(items, o);
    if (!least) continue;
    auto const plan = ballast::balance(items, o, dear);
    if (plan.status != status::feasible) continue;
    REQUIRE(plan.load.value >= *least);
    ++cases;
    optimal += plan.load.value == *least ? 1 : 0;
  }
  CHECK(cases > 400);
  CHECK(optimal * 100 > cases * 97);
}

TEST_CASE("balance: corners") { handles_corners(best, best64); }

TEST_CASE("balance: golden") { CHECK(golden_hash(best) == 5969990590362115655U); }

}  // namespace test_balance_balance
