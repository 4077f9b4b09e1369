// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/deal_steps.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/packing/shuffled.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace test_batching_deal_steps {

// What all of them owe is in planners.cpp.

using namespace ballast_test;
using ballast::left_over;
using options = ballast::batching_options;

TEST_CASE("deal_steps: sorted, like with like, and the emissions are permutations of the same steps") {
  ballast::splitmix64 draw(2);
  std::vector<std::int64_t> lengths(4000);
  for (auto& l : lengths) l = 1 + static_cast<std::int64_t>(draw() % (draw() % 8 == 0 ? 4000 : 500));
  options const o{.capacity = 4096, .ranks = 8, .left_over = left_over::drop, .seed = 5};
  ballast::quadratic_cost const attention{.linear = 0, .quadratic = 1};
  auto const packs = ballast::best_fit_shuffled(lengths, {.capacity = o.capacity, .seed = o.seed}).packs;
  auto const random = ballast::deal_steps(packs, lengths, o, attention, {.how = ballast::dealing::random});
  std::vector<std::vector<std::uint32_t>> steps[3];
  for (auto const how : {ballast::emission::cyclic, ballast::emission::shuffled, ballast::emission::decreasing}) {
    auto const made = ballast::deal_steps(packs, lengths, o, attention, {.emission = how});
    CHECK(made.slowest_over_mean() - 1 < (random.slowest_over_mean() - 1) / 5);
    auto& mine = steps[static_cast<std::size_t>(how)];
    for (std::size_t s = 0; s < made.steps(); ++s) mine.emplace_back(made.step(s).begin(), made.step(s).end());
  }
  CHECK((steps[0] != steps[1] && steps[1] != steps[2]));
  for (auto& s : steps) std::sort(s.begin(), s.end());
  CHECK((steps[0] == steps[1] && steps[1] == steps[2]));

  auto const windows = ballast::deal_steps(packs, lengths, o, attention, {.window = 16});
  auto const redealt = ballast::deal_steps(packs, lengths, o, attention, {.window = 16, .redeal = true});
  CHECK(redealt.slowest.value < windows.slowest.value);
  CHECK(redealt.cost == windows.cost);
}

TEST_CASE("deal_steps: nearly full ranks of several micro-batches are balanced by exchanges after which they still fit") {
  int better = 0, balanced = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    std::vector<std::int64_t> lengths(200 + draw() % 400);
    for (auto& l : lengths) l = 1 + static_cast<std::int64_t>(draw() % 100);
    options const o{.capacity = 100, .ranks = 2 + draw() % 7, .micro_batches = 2 + draw() % 3, .seed = seed};
    auto const samples = ballast::weigh(lengths, o, ballast::quadratic_cost{.linear = 0, .quadratic = 1});
    auto const packs = ballast::best_fit_shuffled(lengths, {.capacity = o.capacity, .seed = seed}).packs;
    auto const plain = ballast::deal_steps(packs, samples, o, {.window = 1});
    auto const redealt = ballast::deal_steps(packs, samples, o, {.window = 1, .redeal = true});
    REQUIRE(redealt.slowest.value <= plain.slowest.value);
    REQUIRE(redealt.cost == plain.cost);
    REQUIRE(std::ranges::all_of(redealt.packs, [&](auto const pack) { return ballast::detail::sum_of(samples.tokens, pack) <= 100; }));
    better += redealt.slowest.value < plain.slowest.value ? 1 : 0;
    balanced += redealt.slowest.value - redealt.slowest.lower_bound < (plain.slowest.value - plain.slowest.lower_bound) / 2 ? 1 : 0;
  }
  CHECK(better == 40);
  CHECK(balanced > 18);
}

TEST_CASE("deal_steps: in order, it deals as trainers do, and packs that are none are refused") {
  std::vector<std::int64_t> const l{1, 2, 3, 4, 5};
  options const o{.capacity = 8, .ranks = 2, .micro_batches = 2, .left_over = left_over::shorten};
  ballast::groups<> const packs{{0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4}};
  auto const made = ballast::deal_steps(packs, l, o, ballast::dense_4096_cost, {.how = ballast::dealing::in_order});
  CHECK(made.table == std::vector<std::uint32_t>{0, 2, 1, 3, 4, made.none, made.none, made.none});
  auto const refused = [&](ballast::groups<> const& p) {
    return refusal([&] { return ballast::deal_steps(p, l, o, ballast::dense_4096_cost, {.how = ballast::dealing::in_order}); });
  };
  CHECK(refused({{0, 0, 1}, {0}}) == "packs[0] is empty");
  CHECK(refused({{0, 1}, {5}}) == "packs[0] has member 5 of 5 samples");
  CHECK(refused({{0, 1, 2}, {3, 3}}) == "packs[1] has sample 3, which is in a pack already");
  CHECK(refused({{0, 2}, {3, 4}}) == "packs[0] holds 9 tokens, more than capacity 8");
  CHECK(ballast::deal_steps(ballast::groups<>{{0, 1}, {3}}, l, o, ballast::dense_4096_cost, {.how = ballast::dealing::in_order}).dropped ==
        std::vector<std::uint32_t>{0, 1, 2, 4});
}

TEST_CASE("deal_steps: a step is dealt by rates alike in every unit of tokens, whose products fit in fewer bits or more") {
  using dealer = ballast::detail::step_dealer<std::uint32_t>;
  std::size_t outside = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const ranks = std::uint64_t{1} << draw() % 5;
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(ranks) * (1 + draw() % 9));
    for (auto& l : lengths) l = 16 * (1 + static_cast<std::int64_t>(draw() % (draw() % 3 == 0 ? 256 : 40)));  // shares are whole
    std::vector<std::uint32_t> all(lengths.size());
    std::iota(all.begin(), all.end(), 0U);
    for (auto const rule : {ballast::detail::deal_rule::rate_cap, ballast::detail::deal_rule::rate_mean}) {
      std::vector<std::vector<std::uint32_t>> plans;
      for (std::int64_t const unit : {1, 16, 512}) {  // whole numbers, products of 64 bits, and of 128
        options const o{.capacity = 4096 * unit, .ranks = ranks};
        auto scaled = lengths;
        for (auto& l : scaled) l *= unit;
        auto const samples = ballast::weigh(scaled, o, [&](std::int64_t l) { return (l / unit) * (l / unit + 1000); });
        dealer deal(samples, ranks, 1, o.capacity);
        deal(all, std::span(&rule, 1));
        auto& plan = plans.emplace_back();
        for (std::size_t r = 0; r < ranks; ++r) {
          auto const got = deal.place(r, 0);
          plan.insert(plan.end(), got.begin(), got.end());
          plan.push_back(~std::uint32_t{0});
        }
        outside += deal.left().size();
      }
      REQUIRE((plans[0] == plans[1] && plans[0] == plans[2]));
    }
  }
  CHECK(outside > 100);
}

}  // namespace test_batching_deal_steps
