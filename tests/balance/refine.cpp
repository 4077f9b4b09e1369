// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/karmarkar_karp.hpp>
#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/balance/refine.hpp>
#include <ballast/balance/snake.hpp>

#include "suite.hpp"

namespace test_balance_refine {

using namespace ballast_test;

namespace {
template <class Index = std::uint32_t>
balanced_sets<Index> refined(balanced_sets<Index> plan, auto const& items, balance_options const& o, auto const& cost, auto const& size,
                             ballast::refinement const& how = {}) {
  ballast::balance_workspace<Index> workspace;
  ballast::refine(items, o, cost, size, workspace, plan, how);
  return plan;
}
auto const lpt_refined = [](auto const& items, balance_options const& o, auto const& cost, auto const& size) {
  return refined(ballast::longest_processing_time(items, o, cost, size), items, o, cost, size);
};
auto const lpt_refined64 = [](auto const& items, balance_options const& o, auto const& cost, auto const& size) {
  return refined(ballast::longest_processing_time<std::uint64_t>(items, o, cost, size), items, o, cost, size);
};

/// Whether moving one item, or swapping two, between the most expensive set and another would leave both below its load.
bool could_be_better(balanced_sets<> const& plan, numbers const& items, std::uint64_t most) {
  numbers load;
  for (auto const set : plan.sets) {
    load.push_back(0);
    for (auto i : set) load.back() += dear(items[i]);
  }
  auto const x = static_cast<std::size_t>(std::max_element(load.begin(), load.end()) - load.begin());
  for (std::size_t y = 0; y < load.size(); ++y)
    for (auto i : plan.sets[x]) {
      auto const gives = [&](std::int64_t back) { return y != x && back < dear(items[i]) && load[y] + dear(items[i]) - back < load[x]; };
      if (plan.sets[y].size() < most && gives(0)) return true;
      for (auto j : plan.sets[y])
        if (gives(dear(items[j]))) return true;
    }
  return false;
}
}  // namespace

TEST_CASE("refine: valid, bounded, the same twice") { keeps_its_promises(lpt_refined); }

TEST_CASE("refine: never worse, keeps the limits, and stops only where no exchange helps") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    auto const [items, o] = random_balance_case(seed);
    auto const plan = ballast::snake(items, o, dear);
    auto const better = refined(plan, items, o, dear, ballast::token_cost{});
    require_valid(check_balance(better, items, o, dear));
    REQUIRE(better.load.value <= plan.load.value);
    REQUIRE(better.load.lower_bound == plan.load.lower_bound);
    REQUIRE(better.set_aside == plan.set_aside);
    if (o.capacity != 0 || o.equal_counts || plan.status != status::feasible) continue;
    auto const best = refined(plan, items, o, dear, ballast::token_cost{}, {.rounds = 1'000'000, .partners = 0});
    REQUIRE((best.load.optimal() || !could_be_better(best, items, o.max_items != 0 ? o.max_items : items.size())));
  }
}

TEST_CASE("refine: after longest processing time, as good as Karmarkar-Karp on a global batch") {
  auto const equal = GENERATE(false, true);
  int optimal = 0;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    CAPTURE(equal, seed);
    ballast::splitmix64 draw(seed);
    numbers items(1024);
    auto const tail = seed % 2 == 0 ? 2000U : 100000U;  // even batches, and batches that one sample dominates
    for (auto& l : items) {
      auto const value = draw();
      l = 16 + static_cast<std::int64_t>(value % (draw() % 64 == 0 ? tail : 1200));
    }
    balance_options const o{.sets = 64, .equal_counts = equal};
    auto const kk = ballast::karmarkar_karp(items, o, dear);
    auto const plan = lpt_refined(items, o, dear, ballast::token_cost{});
    CHECK(plan.load.lower_bound == kk.load.lower_bound);
    if (equal || kk.load.optimal()) CHECK(plan.load.value <= kk.load.value);
    CHECK(plan.load.value * 1000 <= kk.load.value * 1001);
    optimal += kk.load.optimal() ? 1 : 0;
  }
  CHECK((equal || optimal > 0));
}

TEST_CASE("refine: a swap repairs what dealing in order cannot, within its rounds") {
  numbers const items{3, 3, 2, 2, 2};
  auto const plan = ballast::longest_processing_time(items, {.sets = 2});
  ballast::token_cost const id;
  CHECK(plan.load.value == 7);
  auto const better = refined(plan, items, {.sets = 2}, id, id);
  CHECK((better.load == ballast::certificate{6, 6} && better.sets == ballast::groups<>{{0, 3, 5}, {2, 3, 4, 0, 1}}));
  auto const hand_made = [](ballast::groups<> sets) {
    balanced_sets<> p;
    p.sets = std::move(sets);
    return p;
  };
  auto const one = refined(hand_made({{0, 5, 5}, {0, 1, 2, 3, 4}}), items, {.sets = 2}, id, id, {.rounds = 1});
  CHECK(one.load.value == 9);
  CHECK(refined(hand_made({{0, 5, 5}, {0, 1, 2, 3, 4}}), items, {.sets = 2}, id, id).load.optimal());
  CHECK(refined(hand_made({{0, 5}, {0, 1, 2, 3, 4}}), items, {.sets = 1}, id, id).load.optimal());
  CHECK(refined(hand_made({{0, 2, 3}, {0, 2, 4}}), items, {.sets = 2}, id, id).set_aside == std::vector<std::uint32_t>{1, 3});
  auto const full =
      refined(hand_made({{0, 2, 3}, {0, 1, 2}}), numbers{6002, 4008, 3009}, {.sets = 2, .capacity = 10}, upper_digits, lower_digits);
  CHECK(full.load.value == 10);  // any exchange would overfill one of the two
  CHECK(refusal([&] { return refined(hand_made({{0, 1}, {0}}), items, {.sets = 2}, id, id); }) == "the plan has 1 sets, not 2");
  CHECK(refusal([&] { return refined(hand_made({{0, 1, 2}, {0, 5}}), items, {.sets = 2}, id, id); }) ==
        "set 1 holds 5, which is not the index of an item");
  CHECK(refusal([&] { return refined(hand_made({{0, 1, 2}, {0, 0}}), items, {.sets = 2}, id, id); }) ==
        "item 0 occurs twice, the second time in set 1");
}

TEST_CASE("refine: corners") { handles_corners(lpt_refined, lpt_refined64); }

TEST_CASE("refine: golden") { CHECK(golden_hash(lpt_refined) == 2399656585632469217U); }

}  // namespace test_balance_refine
