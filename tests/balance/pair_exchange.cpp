// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/pair_exchange.hpp>
#include <ballast/balance/refine.hpp>

#include "suite.hpp"

namespace test_balance_pair_exchange {

using namespace ballast_test;

namespace {
ballast::dealt_sets<> refined(numbers const& costs, std::uint64_t count, std::int64_t capacity) {
  ballast::dealt_sets<> sets;
  sets.sets = count;
  sets.capacity = capacity;
  sets.cost = sets.size = costs;
  sets.sort_by(sets.cost);
  sets.start();
  sets.deal_to_least_loaded(sets.order);
  ballast::refine(sets, 0);
  return sets;
}
std::int64_t largest(ballast::dealt_sets<> const& sets) { return *std::max_element(sets.load.begin(), sets.load.end()); }

/// Whether the sets say of themselves what their items are.
bool consistent(ballast::dealt_sets<> const& sets, std::int64_t capacity) {
  numbers load(static_cast<std::size_t>(sets.sets));
  std::vector<std::uint64_t> count(load.size());
  for (std::size_t i = 0; i < sets.items(); ++i) {
    if (sets.set_of[i] == sets.none) continue;
    load[sets.set_of[i]] += sets.cost[i];
    ++count[sets.set_of[i]];
  }
  for (std::size_t s = 0; s < load.size(); ++s) {
    if (sets.load[s] != load[s] || sets.count[s] != count[s] || sets.room[s] != capacity - load[s] || sets.room[s] < 0) return false;
    if (sets.sorted_sets[s].size() != count[s]) return false;
    for (auto const& item : sets.sorted_sets[s])
      if (sets.set_of[item.item] != s) return false;
  }
  return true;
}
}  // namespace

TEST_CASE("exchange_pairs: two for two where one swap does not help") {
  // 17 + 11 + 3 = 31 against 13 + 9 + 7 = 29; no move and no swap leaves less than 31, two for two leave 30 and 30.
  auto sets = refined({17, 11, 3, 13, 9, 7}, 2, 100);
  sets.start();
  for (std::size_t i = 0; i < 6; ++i) sets.put(i, i < 3 ? 0 : 1);
  ballast::refine(sets, 0);
  CHECK(largest(sets) == 31);
  ballast::pair_exchange_workspace<> workspace;
  auto stopped = sets;
  ballast::exchange_pairs(stopped, 31, workspace);  // enough
  CHECK(largest(stopped) == 31);
  ballast::exchange_pairs(sets, 0, workspace);
  CHECK(largest(sets) == 30);
  CHECK(consistent(sets, 100));
}

TEST_CASE("exchange_pairs: never worse, within the capacity, the same twice, and often better") {
  int better = 0;
  ballast::pair_exchange_workspace<> workspace;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const count = 2 + draw() % 7;
    auto const costs = random_lengths(count * (1 + draw() % 5), 900, draw);
    auto const capacity = std::accumulate(costs.begin(), costs.end(), std::int64_t{0}) / static_cast<std::int64_t>(count) + 900;
    auto const before = refined(costs, count, capacity);
    auto after = before, again = before;
    ballast::exchange_pairs(after, 0, workspace);
    ballast::pair_exchange_workspace<> fresh;
    ballast::exchange_pairs(again, 0, fresh);
    REQUIRE(largest(after) <= largest(before));
    REQUIRE(after.set_of == again.set_of);
    REQUIRE(consistent(after, capacity));
    better += largest(after) < largest(before) ? 1 : 0;
  }
  CHECK(better > 40);
}

TEST_CASE("refine and exchange_pairs: the first exchange that a set does not accept is undone, and is the last") {
  int better = 0, ended = 0;
  ballast::pair_exchange_workspace<> workspace;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const count = 2 + draw() % 7;
    auto const costs = random_lengths(count * (2 + draw() % 4), 900, draw);
    ballast::dealt_sets<> sets;
    sets.sets = count;
    sets.capacity = std::accumulate(costs.begin(), costs.end(), std::int64_t{0});
    sets.cost = sets.size = costs;
    sets.sort_by(sets.cost);
    sets.start();
    for (std::size_t i = 0; i < costs.size(); ++i) sets.put(i, i % count);
    auto const most = *std::max_element(sets.count.begin(), sets.count.end());
    auto const before = largest(sets);
    int asked = 0, refused = 0;
    auto const accepts = [&](std::uint32_t s) {  // refuses what fills a set with more items than any has now, or with an odd few of them
      auto const yes = sets.count[s] <= most && sets.load[s] % 7 != 0;
      ++asked;
      refused += yes ? 0 : 1;
      return yes;
    };
    std::vector<std::int64_t> first;
    for (auto s = std::uint32_t{0}; s < count; ++s) first.push_back(sets.load[s]);
    ballast::refine(sets, 0, {}, accepts);
    REQUIRE(refused <= 1);
    ballast::exchange_pairs(sets, 0, workspace, accepts);
    REQUIRE(refused <= 2);
    for (std::size_t s = 0; s < count; ++s) {
      REQUIRE(sets.count[s] <= most);
      REQUIRE((sets.load[s] % 7 != 0 || sets.load[s] == first[s]));
    }
    REQUIRE(largest(sets) <= before);
    REQUIRE(consistent(sets, sets.capacity));
    better += largest(sets) < before ? 1 : 0;
    ended += refused != 0 ? 1 : 0;
  }
  CHECK(better > 100);
  CHECK(ended > 20);
}

}  // namespace test_balance_pair_exchange
