// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/recompute/chain.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace test_recompute_chain {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;

namespace {

using steps = std::vector<chain_step>;

std::vector<chain_block> random_chain(std::size_t n, splitmix64& draw) {
  std::vector<chain_block> chain(n);
  for (auto& s : chain) {
    s.forward = between(0, 9, draw);
    s.backward = between(0, 9, draw);
    s.output = between(0, 5, draw);
    s.saved = s.output + between(0, 6, draw);
    s.gradient = between(0, 5, draw);
    s.forward_overhead = between(0, 3, draw);
    s.backward_overhead = between(0, 3, draw);
  }
  return chain;
}

/// Every persistent schedule of blocks s … t.
std::vector<steps> all_schedules(std::uint32_t s, std::uint32_t t) {
  std::vector<steps> out;
  auto const rest = s == t ? std::vector<steps>(1) : all_schedules(s + 1, t);
  for (auto const& r : rest) {
    steps one{{chain_action::save, s}};
    one.insert(one.end(), r.begin(), r.end());
    one.push_back({chain_action::backward, s});
    out.push_back(std::move(one));
  }
  for (auto j = s + 1; j <= t; ++j)
    for (auto const& right : all_schedules(j, t))
      for (auto const& left : all_schedules(s, j - 1)) {
        steps one;
        for (auto k = s; k < j; ++k) {
          one.push_back({chain_action::forward, k});
          if (k > s) one.push_back({chain_action::drop, k - 1});
        }
        one.insert(one.end(), right.begin(), right.end());
        one.push_back({chain_action::drop, j - 1});
        one.insert(one.end(), left.begin(), left.end());
        out.push_back(std::move(one));
      }
  return out;
}

}  // namespace

TEST_CASE("chain: the schedule is the best of all, and never above the budget") {
  std::vector<std::vector<steps>> const every{
      {}, all_schedules(0, 0), all_schedules(0, 1), all_schedules(0, 2), all_schedules(0, 3), all_schedules(0, 4)};
  REQUIRE(every[5].size() > 80);
  std::size_t planned = 0, again = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    splitmix64 draw(seed);
    auto const n = static_cast<std::size_t>(between(1, 5, draw));
    auto const chain = random_chain(n, draw);
    chain_options const asked{.budget = between(0, 45, draw), .input = between(0, 4, draw)};
    std::int64_t best = -1, once = 0;
    for (auto const& s : chain) once += s.forward + s.backward;
    for (auto const& s : every[n]) {
      auto const figures = chain_peak(chain, asked.input, s);
      REQUIRE(figures);
      if (figures->peak <= asked.budget && (best < 0 || figures->time < best)) best = figures->time;
    }
    auto const plan = checkpoint_chain(chain, asked);
    CAPTURE(seed, n, asked.budget, best);
    REQUIRE((plan.status == status::feasible) == (best >= 0));
    if (best < 0) {
      CHECK(plan.status == status::infeasible);
      continue;
    }
    ++planned;
    again += best > once ? 1U : 0U;
    CHECK(plan.time == certificate{best, best});
    auto const figures = chain_peak(chain, asked.input, plan.steps);
    REQUIRE(figures);
    CHECK(figures->time == best);
    CHECK(figures->peak <= asked.budget);
  }
  CHECK(planned > 500);
  CHECK(again > 200);
}

TEST_CASE("chain: coarse units keep the budget and bracket the optimum") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    splitmix64 draw(seed);
    auto chain = random_chain(12, draw);
    for (auto& s : chain) s.saved = s.output + between(0, 30, draw);
    auto const exact = checkpoint_chain(chain, {.budget = 60, .input = 2});
    auto const coarse = checkpoint_chain(chain, {.budget = 60, .input = 2, .slots = 20});
    CAPTURE(seed);
    REQUIRE(exact.status != status::unknown);
    if (exact.status == status::infeasible) {
      CHECK(coarse.status != status::feasible);
      continue;
    }
    CHECK(coarse.status != status::infeasible);
    if (coarse.status != status::feasible) continue;
    CHECK(coarse.time.lower_bound <= exact.time.value);
    CHECK(coarse.time.value >= exact.time.value);
    auto const figures = chain_peak(chain, 2, coarse.steps);
    REQUIRE(figures);
    CHECK(figures->peak <= 60);
    CHECK(figures->time == coarse.time.value);
  }
}

TEST_CASE("chain: with all memory every block runs once, with the least each is reached from the start") {
  for (std::int64_t const n : {2, 5, 9}) {
    std::vector<chain_block> const chain(static_cast<std::size_t>(n), {.forward = 1, .output = 1, .saved = 2});
    CHECK(checkpoint_chain(chain, {.budget = 2 * n}).time == certificate{n, n});
    CHECK(checkpoint_chain(chain, {.budget = 1'000'000'000}).time == certificate{n, n});
    CHECK(checkpoint_chain(chain, {.budget = 3}).time == certificate{n * (n + 1) / 2, n * (n + 1) / 2});
    CHECK(checkpoint_chain(chain, {.budget = 2}).status == status::infeasible);
  }
}

TEST_CASE("chain: without blocks, the input and its gradient are live") {
  for (std::int64_t budget = 0; budget < 10; ++budget) {
    auto const fits = chain_peak({}, 4, {})->peak <= budget;
    CHECK((checkpoint_chain({}, {.budget = budget, .input = 4}).status == status::feasible) == fits);
  }
}

TEST_CASE("chain: times as large as sums allow") {
  constexpr auto most = std::int64_t{1} << 61;
  constexpr std::int64_t n = 130, in_all = n * (n + 1) / 2, forward = most / in_all;  // what 3 bytes take is just below 2^61
  std::vector<chain_block> chain(n, {.forward = forward, .output = 1, .saved = 2});
  auto const planned = checkpoint_chain(chain, {.budget = 3});
  CHECK(planned.time == certificate{in_all * forward, in_all * forward});
  auto const figures = chain_peak(chain, 0, planned.steps);
  CHECK((figures && *figures == chain_figures{in_all * forward, 3}));
  chain[0].backward = most - in_all * forward;
  CHECK(refusal([&] { return checkpoint_chain(chain, {.budget = 3}); }) ==
        "130 blocks may take 2^61 or more if each runs again for all that follow: count time in a larger unit");
  for (auto& s : chain) s.forward = (std::int64_t{1} << 55) / n;
  CHECK_THROWS_AS(checkpoint_chain(chain, {.budget = 5}), invalid_input);
  steps again;
  for (int i = 0; i < 300; ++i) again.insert(again.end(), {{chain_action::forward, 0}, {chain_action::drop, 0}});
  std::vector<chain_block> const one(1, {.forward = std::int64_t{1} << 55, .output = 1, .saved = 1});
  CHECK(refusal([&] { return chain_peak(one, 0, again); }) == "the steps up to steps[510] take 2^63 or more");
}

TEST_CASE("chain: input that makes no sense is named") {
  std::vector<chain_block> const two(2, {.forward = 1, .backward = 2, .output = 3, .saved = 4, .gradient = 3});
  CHECK(refusal([&] { return checkpoint_chain(two, {.budget = -1}); }) == "budget = -1 must not be negative");
  CHECK(refusal([&] { return checkpoint_chain(two, {.budget = 1, .slots = 0}); }) ==
        "slots = 0 for 2 blocks must make a table of 1 to 2^28 cells");
  auto wrong = two;
  wrong[1].saved = 2;
  CHECK(refusal([&] { return checkpoint_chain(wrong, {.budget = 1}); }) == "blocks[1].saved = 2 is below its output = 3");
}

}  // namespace test_recompute_chain
