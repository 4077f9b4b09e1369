// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/degree_cost.hpp>
#include <ballast/sharding/check_prices.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <vector>

namespace test_sharding_check_prices {

// One rank, ten tokens in a pass, ten nanoseconds for a pass and one for a token. Eighteen tokens need two passes: 38 nanoseconds.
ballast::degree_cost const cost{.linear = 1000};
ballast::sharding_options const one_rank{.capacity = 10, .ranks = 1, .cost_per_pass = 10};
std::vector<int> const lengths{6, 6, 6};
constexpr auto budget = ballast::price_certificate::budget;
ballast::price_certificate const proof{37, {budget / 10, 0, 0}, {0, budget / 17, budget / 7}};

TEST_CASE("check_prices: one pass lacks room and two lack time", "[sharding]") {
  CHECK(check_prices(proof, lengths, one_rank, cost));
  CHECK(proof.lower_bound() == 38);
  CHECK(ballast::price_certificate{}.lower_bound() == 0);
}

TEST_CASE("check_prices: false proofs are rejected", "[sharding]") {
  auto const rejects = [](auto const& change) {
    auto p = proof;
    change(p);
    return !check_prices(p, lengths, one_rank, cost);
  };
  CHECK(rejects([](auto& p) { p.time = 38; }));  // a rank with two passes has time for all
  CHECK(rejects([](auto& p) {
    ++p.per_token[0];
    p.per_token[0] += 10;
  }));  // above the budget
  CHECK(rejects([](auto& p) {
    p.per_time[1] += 1;
    p.per_token[1] = budget / 1000;
  }));
  CHECK(rejects([](auto& p) { p.per_time[2] += 1 + budget / 100; }));
  CHECK(rejects([](auto& p) { p.per_time[1] = budget / 19; }));  // too cheap
  CHECK(rejects([](auto& p) { p.per_token[1] = -1; }));
  CHECK(rejects([](auto& p) { p.per_time[0] = -1; }));
  CHECK(rejects([](auto& p) { p.time = -1; }));
  CHECK(rejects([](auto& p) { p = {}; }));
  // Without its last entry, the second class has three passes too. With one entry alone, it may hold all tokens.
  CHECK(!rejects([](auto& p) {
    p.per_token.pop_back();
    p.per_time.pop_back();
  }));
  CHECK(rejects([](auto& p) { p = {37, {budget / 10}, {0}}; }));
}

TEST_CASE("check_prices: a sample that takes longer alone is proof enough", "[sharding]") {
  ballast::price_certificate const any{15, {0}, {0}};
  CHECK(check_prices(any, std::vector{6}, one_rank, cost));
  CHECK(!check_prices(any, std::vector{5}, one_rank, cost));
  CHECK(check_prices(any, std::vector{11}, one_rank, cost));  // no rank has room
  auto shared = one_rank;
  shared.ranks = 4;
  CHECK(!check_prices(any, std::vector{12}, shared, cost));
  shared.most_ranks_shared = 2;
  CHECK(check_prices(any, std::vector{12}, shared, cost));
  CHECK(!check_prices(any, std::vector<int>{}, one_rank, cost));
}

TEST_CASE("check_prices: beside whole samples, a share counts one token less", "[sharding]") {
  // Two ranks, one pass each: 20 tokens fit, 21 do not. Where passes are mixed, the proof needs two more.
  ballast::sharding_options o{.capacity = 10, .ranks = 2, .cost_per_pass = 10, .execution = ballast::execution::independent};
  ballast::price_certificate const tokens{19, {budget / 11}, {0}};
  CHECK(check_prices(tokens, std::vector{8, 8, 7}, o, cost));
  CHECK(!check_prices(tokens, std::vector{8, 7, 7}, o, cost));
  ballast::price_certificate const tight{19, {budget / 10}, {0}};
  CHECK(check_prices(tight, std::vector{7, 7, 7}, o, cost));
  o.execution = ballast::execution::mixed;
  CHECK(!check_prices(tight, std::vector{7, 7, 7}, o, cost));
  CHECK(check_prices(tokens, std::vector{8, 8, 7}, o, cost));
}

TEST_CASE("check_prices: misuse throws", "[sharding]") {
  auto p = proof;
  p.per_time.pop_back();
  CHECK_THROWS_AS(check_prices(p, lengths, one_rank, cost), ballast::invalid_input);
  CHECK_THROWS_AS(check_prices(proof, std::vector{0}, one_rank, cost), ballast::invalid_input);
  CHECK_THROWS_AS(check_prices(proof, lengths, ballast::sharding_options{}, cost), ballast::invalid_input);
  auto const negative = [](std::int64_t, std::int64_t) { return std::int64_t{-1}; };
  CHECK_THROWS_AS(check_prices(proof, lengths, one_rank, negative), ballast::invalid_input);
}

}  // namespace test_sharding_check_prices
