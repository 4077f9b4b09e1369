// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/vector/portfolio.hpp>

#include <ballast/core/hash.hpp>
#include <ballast/packing/vector/check.hpp>
#include <ballast/packing/vector/rank_distance.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

namespace test_packing_vector_portfolio {

namespace {

using enum ballast::vector_packer;
using enum ballast::portfolio_criterion;

struct pairs {
  std::vector<std::int64_t> tiles, tokens;
  [[nodiscard]] ballast::sample_measures view() const { return {tiles, tokens}; }
};

// Tiles and text of four kinds: together, apart, few distinct, mostly large.
pairs mixture(int kind, std::size_t count, std::uint64_t seed) {
  ballast::splitmix64 random(seed);
  auto const below = [&](std::uint64_t bound) { return static_cast<std::int64_t>(ballast::uniform_below(bound, random)); };
  pairs out;
  for (std::size_t i = 0; i < count; ++i) {
    auto const tiles = kind == 3 ? 5 - below(7) / 5 : kind == 2 ? 1 + 2 * below(2) : 1 + below(5);
    auto const text = kind == 1 ? below(1500) : kind == 2 ? 100 + 50 * below(3) : 256 * tiles + below(300);
    out.tiles.push_back(tiles);
    out.tokens.push_back(1 + text);
  }
  return out;
}

struct judged {
  std::int64_t packs;
  double distance;
};

// One packer alone, its packs in the portfolio's random order.
judged alone(ballast::vector_packer member, pairs const& data, ballast::vector_packing_options const& o) {
  auto const plan = member == completion ? ballast::bin_completion(data.view(), o)
                    : member == best_fit ? ballast::vector_best_fit(data.view(), o)
                                         : ballast::iterative_sampling(data.view(), o);
  std::vector<std::size_t> order(plan.packs.size());
  for (std::size_t p = 0; p < order.size(); ++p) order[p] = p;
  ballast::splitmix64 random(o.seed);
  ballast::detail::shuffle(std::span(order), random);
  ballast::groups<> mixed;
  for (auto const p : order) mixed.push_back(plan.packs[p]);
  auto const distances = ballast::rank_distances(mixed, data.view(), 8);
  return {plan.count.value, distances[0] + distances[1]};
}

}  // namespace

TEST_CASE("pack_portfolio: the plan of the best member, legal and certified") {
  bool won[4] = {};
  for (int kind = 0; kind < 4; ++kind)
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      CAPTURE(kind, seed);
      auto const data = mixture(kind, 60 + 60 * seed, seed);
      ballast::vector_packing_options const o{.capacity = {9 + static_cast<std::int64_t>(seed), 4096}, .seed = seed};
      auto const plan = ballast::pack_portfolio(data.view(), o);
      CHECK(ballast::describe(ballast::check_packing(plan, data.view(), o)) == "valid");
      auto best = alone(best_fit, data, o);
      for (auto const member : {completion, iterative_sampling}) best.packs = (std::min)(best.packs, alone(member, data, o).packs);
      CHECK(plan.count.value <= best.packs);
      if (plan.packer == near_optimal)
        CHECK(plan.count.value < best.packs);
      else
        CHECK(alone(plan.packer, data, o).packs == plan.count.value);
      CHECK(plan.packs == ballast::pack(data.view(), o).packs);
      CHECK(ballast::hash(plan.packs) == ballast::hash(ballast::pack<std::uint64_t>(data.view(), o).packs));
      won[static_cast<std::size_t>(plan.packer)] = true;
    }
  for (auto const member : {completion, best_fit, near_optimal}) CHECK(won[static_cast<std::size_t>(member)]);
}

TEST_CASE("pack_portfolio: over-size samples, limits per pack and the count constraint") {
  auto data = mixture(1, 200, 3);
  data.tiles[17] = 10;
  for (auto const policy : {ballast::oversize::set_aside, ballast::oversize::alone}) {
    ballast::vector_packing_options const o{.capacity = {9, 4096}, .max_samples = 3, .pack_count_multiple = 8, .oversize = policy};
    auto const plan = ballast::pack(data.view(), o);
    CHECK(ballast::describe(ballast::check_packing(plan, data.view(), o)) == "valid");
    CHECK(plan.set_aside.size() == (policy == ballast::oversize::set_aside ? 1U : 0U));
    CHECK(plan.packs.size() % 8 == 0);
  }
  CHECK(ballast_test::refusal([&] { return ballast::pack(data.view(), {.capacity = {9, 4096}}); }) ==
        "measures[0][17] = 10 exceeds capacity[0] = 9 (see oversize policy)");
  pairs const none;
  CHECK(ballast::pack(none.view(), {.capacity = {9, 4096}}).packs.empty());
}

TEST_CASE("pack_portfolio: the criteria decide in their order") {
  bool differ = false;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    CAPTURE(seed);
    auto const data = mixture(3, 400, seed);
    ballast::vector_packing_options const o{.capacity = {18, 6016}, .seed = seed};
    auto const fewest = ballast::pack_portfolio(data.view(), o);
    auto const level = ballast::pack_portfolio(data.view(), o, {.order = {rank_distance, packs}});
    auto const best = alone(level.packer, data, o);
    for (auto const member : {best_fit, completion, iterative_sampling}) {
      auto const other = alone(member, data, o);
      CHECK(best.distance <= other.distance);
      CHECK(fewest.count.value <= other.packs);
    }
    differ = differ || fewest.packer != level.packer;
  }
  CHECK(differ);
}

TEST_CASE("pack_portfolio: ties go to the next criterion, and then to the earlier member") {
  pairs const data{std::vector<std::int64_t>(64, 5), std::vector<std::int64_t>(64, 100)};  // any plan: each sample alone
  ballast::vector_packing_options const o{.capacity = {9, 4096}};
  for (auto const first : {completion, best_fit, iterative_sampling})
    CHECK(ballast::pack_portfolio(data.view(), o, {.members = {first, completion, best_fit, iterative_sampling}}).packer == first);
}

TEST_CASE("pack_portfolio: ends at the gap, at the work and at a stop") {
  auto const data = mixture(3, 400, 1);
  ballast::vector_packing_options const o{.capacity = {18, 6016}};
  auto const all = ballast::pack_portfolio(data.view(), o);
  auto const first = ballast::vector_best_fit(data.view(), o);
  REQUIRE(all.count.value < first.count.value);  // so that it shows who ran

  auto const with = [&](ballast::search_limits const& limits) {
    return ballast::pack_portfolio(data.view(), o, {.members = {best_fit, completion, iterative_sampling}, .limits = limits});
  };
  CHECK(with({.gap = first.count.gap()}).packs == first.packs);
  CHECK(with({.gap = first.count.gap() / 2}).count.value < first.count.value);
  CHECK(with({.work = 0}).packs == first.packs);
  CHECK(with({.work = 0}).complete);
  CHECK(ballast::pack_portfolio(data.view(), o, {.limits = {.work = 0}}).packer == best_fit);  // the cheapest of all
  std::stop_source stop;
  CHECK(with({.stop = stop.get_token()}).complete);
  stop.request_stop();
  auto const stopped = with({.stop = stop.get_token()});
  CHECK(stopped.packs == first.packs);
  CHECK_FALSE(stopped.complete);
  CHECK(ballast::check_packing(stopped, data.view(), o).valid());
  CHECK_FALSE(with({.wall_clock = std::chrono::nanoseconds{1}}).complete);
  CHECK(all.complete);
}

TEST_CASE("pack_portfolio: bad options are named") {
  auto const data = mixture(0, 3, 1);
  auto const refused = [&](ballast::portfolio_options const& p) {
    return ballast_test::refusal([&] { return ballast::pack_portfolio(data.view(), {.capacity = {9, 4096}}, p); });
  };
  CHECK(refused({.members = {}}) == "a portfolio needs at least one member");
  CHECK(refused({.order = {}}) == "a portfolio needs at least one criterion");
  CHECK(refused({.ranks = 0}) == "ranks = 0 must be positive");
}

TEST_CASE("pack: limits are those of the portfolio") {
  auto const data = mixture(3, 400, 1);
  ballast::vector_packing_options const o{.capacity = {18, 6016}};
  ballast::search_limits const none{.work = 0};
  auto const cheapest = ballast::pack(data.view(), o, none), usual = ballast::pack(data.view(), o);
  CHECK(cheapest.packs == ballast::pack_portfolio(data.view(), o, {.limits = none}).packs);
  CHECK(usual.packs == ballast::pack_portfolio(data.view(), o).packs);
  CHECK(usual.packs == ballast::pack(data.view(), o, {}).packs);
  CHECK(usual.count.value < cheapest.count.value);
}

}  // namespace test_packing_vector_portfolio
