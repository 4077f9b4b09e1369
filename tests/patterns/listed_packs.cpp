// SPDX-License-Identifier: Apache-2.0
#include <ballast/patterns/cutting_stock.hpp>

#include <ballast/core/random.hpp>

#include "support/bpplib.hpp"
#include "support/brute_force.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/pattern_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_patterns_listed_packs {

namespace {

using ballast::status;
using ballast::detail::listed_packs;
using ballast_test::between;
using ballast_test::counted;
using ballast_test::rows_of;

/// Samples that leave `room` tokens of `packs` packs.
std::vector<std::int64_t> nearly_full(std::size_t packs, std::int64_t capacity, std::int64_t room, ballast::splitmix64& draw) {
  std::vector<std::int64_t> out;
  auto left = static_cast<std::int64_t>(packs) * capacity - room;
  for (; left > capacity; left -= out.back()) out.push_back(between(capacity / 5, capacity * 7 / 10, draw));
  out.push_back(left - left / 3);
  if (left / 3 > 0) out.push_back(left / 3);
  return out;
}

}  // namespace

TEST_CASE("listed_packs: finds a plan or none as exhaustive search does, by any values", "[patterns][property]") {
  std::size_t found = 0, refuted_by_values = 0, refuted_by_search = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    ballast::splitmix64 draw(seed);
    auto const capacity = between(15, 120, draw);
    auto const packs = static_cast<std::uint64_t>(between(2, 4, draw));
    auto const lengths = nearly_full(static_cast<std::size_t>(packs), capacity, between(0, capacity / 15, draw), draw);
    auto const rows = rows_of(counted(lengths), capacity, seed % 3 == 0 ? static_cast<std::uint64_t>(between(3, 5, draw)) : 0);
    auto const fewest = static_cast<std::uint64_t>(ballast_test::fewest_packs(lengths, capacity, rows.max_samples).value());
    ballast::search_budget budget(ballast::search_limits{});
    ballast::detail::pattern_knapsack<> knapsack(rows, 1);
    listed_packs<> list(rows, budget);
    CAPTURE(seed, capacity, lengths, rows.max_samples, packs, fewest);
    auto says = status::unknown;
    if (seed % 2 == 0) {
      std::vector<double> values(rows.size());
      for (std::size_t i = 0; i < rows.size(); ++i)
        values[i] = static_cast<double>(rows.length[i] * between(0, 1000, draw)) / static_cast<double>(1000 * capacity);
      says = list.list(packs, values, knapsack, ~std::uint64_t{0});
    } else {
      ballast::detail::pattern_attempt shared(rows, seed, false, budget, ~std::uint64_t{0});
      says = list.list(packs, shared, knapsack, {});
    }
    if (says == status::infeasible) ++refuted_by_values;
    if (says == status::unknown) {
      REQUIRE(list.complete());
      says = list.search(~std::uint64_t{0});
      if (says == status::infeasible) ++refuted_by_search;
    }
    REQUIRE(says == (fewest <= packs ? status::feasible : status::infeasible));
    if (says == status::infeasible) continue;
    ++found;
    auto left = rows.count;
    std::uint64_t used = 0;
    list.for_each_pack([&](auto const& pack) {
      std::int64_t tokens = 0;
      for (auto const i : pack) {
        REQUIRE(left[i]-- > 0);
        tokens += rows.length[i];
      }
      REQUIRE(tokens <= capacity);
      REQUIRE((rows.max_samples == 0 || pack.size() <= rows.max_samples));
      ++used;
    });
    REQUIRE(used <= packs);
    REQUIRE(std::all_of(left.begin(), left.end(), [](auto n) { return n == 0; }));
  }
  CHECK((found > 300 && refuted_by_values > 300 && refuted_by_search > 300));
}

TEST_CASE("listed_packs: are not complete where a search would go too deep, or the work is spent", "[patterns]") {
  auto const rows = rows_of({{3, 20'000}}, 7);
  ballast::search_budget budget(ballast::search_limits{});
  ballast::detail::pattern_knapsack<> knapsack(rows, 1);
  listed_packs<> deep(rows, budget);
  CHECK((deep.list(10'000, {0.5}, knapsack, ~std::uint64_t{0}) == status::unknown && !deep.complete()));
  ballast::splitmix64 draw(3);
  auto const many = rows_of(counted(nearly_full(40, 1000, 30, draw)), 1000);
  std::vector<double> values;
  for (auto const l : many.length) values.push_back(static_cast<double>(l) / 1000);
  ballast::detail::pattern_knapsack<> pricing(many, 1);
  for (std::uint64_t const work : {0U, 10'000U}) {
    listed_packs<> list(many, budget);
    auto const before = budget.spent();
    CHECK((list.list(40, values, pricing, before + work) == status::unknown && !list.complete()));
    CHECK(budget.spent() <= before + work + 100 * 1001 * 40);  // the pricing
  }
}

TEST_CASE("solve_cutting_stock: published instances that need a pack more than their program", "[patterns][traces]") {
  for (auto const& each : ballast_test::bpplib({"Hard28_BPP119", "Hard28_BPP175", "Hard28_BPP716", "Waescher_TEST0065"})) {
    CAPTURE(each.name);
    auto const found = ballast::solve_cutting_stock(each.lengths, {.capacity = each.capacity, .packs = each.best - 1});
    CHECK(found.status == status::infeasible);
  }
}

}  // namespace test_patterns_listed_packs
