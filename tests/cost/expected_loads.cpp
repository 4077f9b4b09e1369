// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/expected_loads.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace test_cost_expected_loads {

namespace {

using namespace ballast;
using ballast_test::refusal;

constexpr auto one = static_cast<double>(certain);

/// The expected excess of a binomial load over the capacity, term by term.
double excess_of(std::int64_t tokens, std::int64_t capacity, double chance) {
  if (chance <= 0) return 0;
  if (chance >= 1) return static_cast<double>((std::max)(std::int64_t{0}, tokens - capacity));
  auto const n = static_cast<double>(tokens);
  double sum = 0;
  for (auto load = capacity + 1; load <= tokens; ++load) {
    auto const l = static_cast<double>(load);
    sum += (l - static_cast<double>(capacity)) * std::exp(std::lgamma(n + 1) - std::lgamma(l + 1) - std::lgamma(n - l + 1) +
                                                          l * std::log(chance) + (n - l) * std::log1p(-chance));
  }
  return sum;
}

/// Loads of tokens that are each sent to one expert.
std::vector<std::int64_t> drawn_loads(std::int64_t tokens, std::vector<std::int64_t> const& chances, splitmix64& draw) {
  std::vector<std::int64_t> below(chances.size()), loads(chances.size());
  std::partial_sum(chances.begin(), chances.end(), below.begin());
  for (std::int64_t t = 0; t < tokens; ++t) {
    auto const at = static_cast<std::int64_t>(uniform_below(static_cast<std::uint64_t>(certain), draw));
    ++loads[static_cast<std::size_t>(std::upper_bound(below.begin(), below.end(), at) - below.begin())];
  }
  return loads;
}

}  // namespace

TEST_CASE("expected_loads: chances add up, and fall as the router says", "[property]") {
  for (std::int64_t const experts : {1, 2, 3, 60, 256, 2048}) {
    for (std::int64_t const active : {std::int64_t{1}, (experts + 1) / 2, experts}) {
      auto const q = uniform_chances({.experts = experts, .active = active});
      CHECK(std::accumulate(q.begin(), q.end(), std::int64_t{0}) == active * certain);
      auto const [least, most] = std::minmax_element(q.begin(), q.end());
      CHECK((*most - *least <= 1 && *most <= certain));
    }
    for (std::int64_t halves = 0; halves <= 4; ++halves) {
      auto const q = zipf_chances(experts, halves);
      CHECK(std::accumulate(q.begin(), q.end(), std::int64_t{0}) == certain);
      double all = 0;
      for (std::size_t i = 1; i <= q.size(); ++i) all += std::pow(static_cast<double>(i), -0.5 * static_cast<double>(halves));
      for (std::size_t i = 0; i < q.size(); ++i) {
        auto const exact = one * std::pow(static_cast<double>(i + 1), -0.5 * static_cast<double>(halves)) / all;
        CHECK(std::abs(static_cast<double>(q[i]) - exact) < 2 + 1e-3 * exact);
      }
    }
  }
}

TEST_CASE("expected_loads: drops are those of the binomial distribution, within the stated error", "[property]") {
  splitmix64 draw(11);
  auto const any = [&](std::uint64_t bound) { return static_cast<std::int64_t>(uniform_below(bound, draw)); };
  for (int i = 0; i < 300; ++i) {
    auto const tokens = 1 + any(std::uint64_t{1} << any(13));
    std::vector<std::int64_t> chances;
    for (auto n = 1 + any(5); n > 0; --n) chances.push_back(any(5) == 0 ? any(2) * certain : any(std::uint64_t{1} << (8 + any(17))));
    auto const capacity = any(static_cast<std::uint64_t>(tokens) + 2);
    CAPTURE(tokens, capacity, chances);
    double dropped = 0, all = 0;
    for (auto const q : chances) {
      dropped += excess_of(tokens, capacity, static_cast<double>(q) / one);
      all += static_cast<double>(q) / one;
    }
    auto const found = expect_rows(tokens, capacity, chances);
    auto const n = static_cast<double>(chances.size());
    CHECK(std::abs(static_cast<double>(found.dropped) / 1000 - dropped) <= n * (1e-3 + 1e-6 * dropped) + 1e-3);
    if (all > 0) {
      auto const share = dropped / all / static_cast<double>(tokens);
      CHECK(std::abs(static_cast<double>(found.drop_share) - 1e6 * share) <= 1.1 + 1e6 * n * 1e-3 / all / static_cast<double>(tokens));
    }
  }
  // a million tokens for half of the mean, and for the mean: with variance v, root(v / 2 pi)
  std::int64_t const half[] = {certain / 2};
  CHECK(std::abs(static_cast<double>(expect_rows(1 << 20, 1 << 18, half).dropped) - 1000.0 * (1 << 18)) < 2);
  CHECK(std::abs(static_cast<double>(expect_rows(1 << 20, 1 << 19, half).dropped) - 1000 * std::sqrt((1 << 18) / 6.283185307179586)) < 2);
}

TEST_CASE("expected_loads: a uniform router has the variation (N - k) / (k T), and drops below the bound", "[property]") {
  for (std::int64_t const experts : {1, 2, 16, 64, 512})
    for (std::int64_t const active : {1, 2, 8})
      for (std::int64_t const tokens : {1, 100, 4096}) {
        if (active > experts) continue;
        for (std::int64_t const capacity : {900, 1000, 1250}) {
          expert_routing const by{.experts = experts, .active = active, .capacity = capacity};
          CAPTURE(experts, active, tokens, capacity);
          auto const found = expect_rows(tokens, expert_capacity(tokens, by), uniform_chances(by));
          auto const exact = 1000 * std::sqrt(static_cast<double>(experts - active) / static_cast<double>(active * tokens));
          CHECK(std::abs(static_cast<double>(found.imbalance) + 0.5 - exact) <= 1.5);
          CHECK(found.dropped <= 1000 * most_expected_drops(tokens, by) + 1 + experts);
        }
      }
}

TEST_CASE("expected_loads: drawn loads agree") {
  struct setting {
    std::int64_t experts, halves, tokens, capacity;
  };
  setting const settings[] = {{64, 0, 4096, 1000}, {64, 0, 4096, 1250}, {64, 1, 4096, 1250}, {64, 2, 4096, 1250}, {16, 4, 1024, 2000}};
  splitmix64 draw(12);
  for (auto const& [experts, halves, tokens, gamma] : settings) {
    CAPTURE(experts, halves, tokens, gamma);
    auto const chances = zipf_chances(experts, halves);
    auto const capacity = expert_capacity(tokens, {.experts = experts, .capacity = gamma});
    auto const expected = expect_rows(tokens, capacity, chances);
    constexpr int draws = 200;
    double dropped = 0, drops2 = 0, variation2 = 0, n = draws;
    for (int i = 0; i < draws; ++i) {
      auto const rows = count_routed_rows(drawn_loads(tokens, chances, draw), capacity);
      auto const drops = static_cast<double>(rows.dropped), v = static_cast<double>(rows.imbalance);
      dropped += drops / n;
      drops2 += drops * drops / n;
      variation2 += (v + 0.5) * (v + 0.5) / n;
    }
    auto const error = 4 * std::sqrt((drops2 - dropped * dropped) / n) + 0.01;  // four standard errors of the mean
    CHECK(std::abs(dropped - static_cast<double>(expected.dropped) / 1000) <= error);
    CHECK(std::abs(std::sqrt(variation2) / static_cast<double>(expected.imbalance) - 1) < 0.02);
    CHECK(expected.drop_share == (expected.dropped * 1000 + tokens - 1) / tokens);
  }
}

TEST_CASE("expected_loads: k top-1 drops as k routers of N / k experts do", "[property]") {
  for (std::int64_t const k : {2, 4}) {
    expert_routing const by{.experts = 64, .active = k, .capacity = 1000}, within{.experts = 64 / k, .capacity = 1000};
    auto const top_k = expect_rows(4096, expert_capacity(4096, by), uniform_chances(by));
    auto const k_top_1 = expect_rows(4096, expert_capacity(4096, within), uniform_chances(within));
    CHECK((k * (k_top_1.dropped - 1) < top_k.dropped && top_k.dropped <= k * k_top_1.dropped));  // each is rounded up
    CHECK(k_top_1.drop_share == top_k.drop_share);
  }
}

TEST_CASE("expected_loads: arguments out of range throw, and nothing routed is nothing") {
  std::vector<std::int64_t> const one_expert{certain}, low{-1}, high{certain + 1}, none, many(129, certain);
  CHECK(expect_rows(0, 0, one_expert) == expected_rows{});
  CHECK(expect_rows(5, 0, std::vector<std::int64_t>{0, 0}) == expected_rows{});
  CHECK(expect_rows(10, 4, one_expert) == expected_rows{.dropped = 6000, .drop_share = 600'000, .imbalance = 0});
  CHECK(refusal([&] { return expect_rows(-1, 0, one_expert).dropped; }) == "tokens = -1 must be in [0, 16777216]");
  CHECK(refusal([&] { return expect_rows(1, -1, one_expert).dropped; }) == "capacity = -1 must not be negative");
  CHECK(refusal([&] { return expect_rows(1, 0, none).dropped; }) == "0 chances: 1 to 2048 experts are expected");
  CHECK(refusal([&] { return expect_rows(1, 0, low).dropped; }) == "chances[0] = -1 must be in [0, 2^24]");
  CHECK(refusal([&] { return expect_rows(1, 0, high).dropped; }) == "chances[0] = 16777217 must be in [0, 2^24]");
  CHECK(refusal([&] { return expect_rows(1, 0, many).dropped; }) ==
        "chances[128] = 16777216 brings the chances above 128 experts for each token");
  CHECK(refusal([] { return zipf_chances(0, 2).size(); }) == "experts = 0 must be in [1, 2048]");
  CHECK(refusal([] { return zipf_chances(4, 5).size(); }) == "halves = 5 must be in [0, 4]");
}

}  // namespace test_cost_expected_loads
