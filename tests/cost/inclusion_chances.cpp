// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/inclusion_chances.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace test_cost_inclusion_chances {

namespace {

using namespace ballast;
using ballast_test::refusal;

constexpr auto one = static_cast<double>(certain);

/// Adds the chance of every order in which `left` more experts are drawn to each of those drawn, this one's among them.
double enumerate(std::vector<std::int64_t> const& weights, std::vector<double>& chances, std::vector<bool>& drawn, std::int64_t left,
                 double chance) {
  if (left == 0) return chance;
  double all = 0, sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) all += drawn[i] ? 0.0 : static_cast<double>(weights[i]);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (drawn[i]) continue;
    drawn[i] = true;
    auto const of = enumerate(weights, chances, drawn, left - 1, chance * static_cast<double>(weights[i]) / all);
    drawn[i] = false;
    chances[i] += of;
    sum += of;
  }
  return sum;
}

std::int64_t sum_of(std::vector<std::int64_t> const& q) { return std::accumulate(q.begin(), q.end(), std::int64_t{0}); }

}  // namespace

TEST_CASE("inclusion_chances: those of all draws, enumerated", "[property]") {
  splitmix64 draw(3);
  for (int round = 0; round < 200; ++round) {
    auto const n = 1 + uniform_below(6, draw);
    auto const active = static_cast<std::int64_t>(1 + uniform_below(n, draw));
    std::vector<std::int64_t> weights;
    while (weights.size() < n)
      weights.push_back(static_cast<std::int64_t>(1 + uniform_below(std::uint64_t{1} << uniform_below(40, draw), draw)));
    CAPTURE(weights, active);
    std::vector<double> exact(n);
    std::vector<bool> drawn(n);
    enumerate(weights, exact, drawn, active, 1);
    auto const q = inclusion_chances(weights, active);
    REQUIRE(sum_of(q) == active * certain);
    for (std::size_t i = 0; i < n; ++i) REQUIRE(std::abs(static_cast<double>(q[i]) - one * exact[i]) < 2);
  }
}

TEST_CASE("inclusion_chances: equal weights share equally, and larger ones have larger chances", "[property]") {
  for (auto const& [experts, active] : {std::pair{64, 4}, {256, 8}, {130, 128}, {600, 100}, {8, 8}}) {
    CAPTURE(experts, active);
    auto const uniform = uniform_chances({.experts = experts, .active = active});
    auto const equal = zipf_chances(experts, 0, active);
    CHECK(sum_of(equal) == active * certain);
    for (std::size_t i = 0; i < equal.size(); ++i) REQUIRE(std::abs(equal[i] - uniform[i]) <= 1);
    for (std::int64_t halves = 1; halves <= 4; ++halves) {
      auto const q = zipf_chances(experts, halves, active);
      CHECK(sum_of(q) == active * certain);
      for (std::size_t i = 1; i < q.size(); ++i) REQUIRE((q[i] >= 0 && q[i] <= q[i - 1] + 1 && q[i - 1] <= certain));
    }
  }
  CHECK(zipf_chances(64, 2, 1) == zipf_chances(64, 2));
}

TEST_CASE("inclusion_chances: drawn routers drop as many rows, within 0.3 points") {
  splitmix64 draw(4);
  constexpr std::int64_t tokens = 8192, experts = 64, active = 4;
  for (std::int64_t const halves : {1, 2}) {
    auto const capacity = expert_capacity(tokens, {.experts = experts, .active = active, .capacity = 1250});
    double dropped = 0;
    constexpr int times = 3;
    for (int time = 0; time < times; ++time) {
      std::vector<std::int64_t> loads(experts);
      std::vector<std::pair<double, std::size_t>> arrivals(experts);
      for (std::int64_t t = 0; t < tokens; ++t) {
        for (std::size_t i = 0; i < arrivals.size(); ++i)
          arrivals[i] = {-std::log(static_cast<double>((draw() >> 11) + 1) * 0x1p-53) *
                             std::pow(static_cast<double>(i + 1), 0.5 * static_cast<double>(halves)),
                         i};
        std::partial_sort(arrivals.begin(), arrivals.begin() + active, arrivals.end());
        for (std::size_t k = 0; k < active; ++k) ++loads[arrivals[k].second];
      }
      dropped += static_cast<double>(count_routed_rows(loads, capacity).dropped) / times;
    }
    auto const expected = expect_rows(tokens, capacity, zipf_chances(experts, halves, active));
    CHECK(std::abs(100 * dropped / (tokens * active) - 1e-4 * static_cast<double>(expected.drop_share)) < 0.3);
    CHECK((expected.drop_share + 500) / 1000 == (halves == 1 ? 141 : 380));  // 14.1 % and 38.0 %
  }
}

TEST_CASE("inclusion_chances: arguments out of range throw") {
  std::vector<std::int64_t> const ones(200, 1), zero{1, 0}, large{std::int64_t{1} << 61, std::int64_t{1} << 61};
  CHECK(refusal([&] { return inclusion_chances(ones, 129).size(); }) == "active = 129 must be in [1, 128]");
  CHECK(refusal([&] { return inclusion_chances(zero, 1).size(); }) ==
        "weights[1] = 0 is not positive, or brings the sum of weights to 2^62 or more");
  CHECK(refusal([&] { return inclusion_chances(large, 1).size(); }) ==
        "weights[1] = 2305843009213693952 is not positive, or brings the sum of weights to 2^62 or more");
  CHECK(refusal([&] { return inclusion_chances(zero, 3).size(); }) == "active = 3 must be in [1, 2]");
  CHECK(refusal([] { return zipf_chances(0, 2, 1).size(); }) == "experts = 0 must be in [1, 2048]");
}

}  // namespace test_cost_inclusion_chances
