// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/dealt_sets.hpp>
#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/balance/refine.hpp>

#include "suite.hpp"

namespace test_balance_dealt_sets {

using namespace ballast_test;

TEST_CASE("dealt_sets: longest first and refined, it is what the balancers return") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    auto const [items, o] = random_balance_case(seed);
    ballast::dealt_sets<> sets;
    sets.sets = o.sets;
    if (o.capacity != 0) sets.capacity = o.capacity;
    sets.max_items = o.max_items;
    sets.equal = o.equal_counts;
    for (auto const l : items) {
      sets.cost.push_back(dear(l));
      sets.size.push_back(l);
    }
    sets.sort_by(sets.cost);
    sets.start();
    sets.deal_to_least_loaded(sets.order);
    auto plan = ballast::longest_processing_time(items, o, dear);
    auto const same = [&] {
      for (std::size_t s = 0; s < plan.sets.size(); ++s)
        for (auto const i : plan.sets[s]) REQUIRE(sets.set_of[i] == s);
      REQUIRE(*std::max_element(sets.load.begin(), sets.load.end()) == plan.load.value);
    };
    if (plan.status != status::feasible) continue;
    same();
    ballast::refine(sets, plan.load.lower_bound);
    ballast::balance_workspace<> workspace;
    ballast::refine(items, o, dear, ballast::token_cost{}, workspace, plan);
    same();
    for (std::size_t s = 0; s < plan.sets.size(); ++s) {
      std::vector<std::uint32_t> listed;
      for (auto const& item : sets.sorted_sets[s]) listed.push_back(item.item);
      REQUIRE(listed == std::vector<std::uint32_t>(plan.sets[s].begin(), plan.sets[s].end()));
    }
  }
}

TEST_CASE("dealt_sets: the least loaded set is the same by a tournament of loads and by comparing sets, whatever they hold") {
  std::size_t outside = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    auto [items, o] = random_balance_case(seed);
    ballast::splitmix64 draw(seed);
    ballast::dealt_sets<> sets;
    sets.sets = o.sets;
    for (auto const l : items) {
      sets.cost.push_back(dear(l));
      sets.size.push_back(seed % 3 == 0 ? 1 + l / 100 : l);
    }
    sets.sort_by(sets.cost);
    sets.start();
    for (std::size_t s = 0; s < sets.load.size(); ++s) {
      sets.load[s] = between(0, 3, draw) * dear(300);
      sets.room[s] = between(-100, 2500, draw);
    }
    auto other = sets;
    sets.deal_to_least_loaded(sets.order);
    other.deal_in_order(
        std::span<ballast::keyed_item<> const>(other.order), [&](auto a, auto b) { return other.load[a] < other.load[b]; },
        [](auto, auto) {});
    REQUIRE(sets.set_of == other.set_of);
    REQUIRE((sets.load == other.load && sets.room == other.room && sets.count == other.count));
    outside += static_cast<std::size_t>(std::ranges::count(sets.set_of, sets.none));
  }
  CHECK(outside > 100);
}

TEST_CASE("dealt_sets: any rule, and items that find no room stay outside") {
  ballast::dealt_sets<> sets;
  sets.sets = 2;
  sets.capacity = 10;
  sets.cost = {7, 4, 5, 3};
  sets.size = sets.cost;
  sets.sort_by(sets.size);
  sets.start();
  std::vector<std::size_t> told;
  sets.deal_in_order(
      std::span<ballast::keyed_item<> const>(sets.order), [&](auto a, auto b) { return sets.room[a] < sets.room[b]; },
      [&](std::size_t i, std::size_t) { told.push_back(i); });  // best fit
  CHECK(sets.set_of == std::vector<std::uint32_t>{0, 1, 1, 0});
  CHECK(told == std::vector<std::size_t>{0, 2, 1, 3});
  CHECK(sets.load == std::vector<std::int64_t>{10, 9});
  CHECK(sets.room == std::vector<std::int64_t>{0, 1});
  sets.max_items = 1;
  sets.start();
  sets.deal_to_least_loaded(sets.order);
  CHECK(sets.set_of == std::vector<std::uint32_t>{0, sets.none, 1, sets.none});
  CHECK(!sets.open(0));
  CHECK(sets.room_of(1) == -1);
}

}  // namespace test_balance_dealt_sets
