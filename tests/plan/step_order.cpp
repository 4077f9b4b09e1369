// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/check.hpp>
#include <ballast/batching/plan_steps.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/plan/step_order.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace test_plan_step_order {

namespace {
using namespace ballast;
using namespace ballast_test;
constexpr quadratic_cost cost_by_length{.linear = 10, .quadratic = 1};
}  // namespace

TEST_CASE("step_keys: lengths and costs of a step") {
  batching<> plan;
  plan.packs.push_back(std::vector<std::uint32_t>{0, 2});
  plan.packs.push_back(std::vector<std::uint32_t>{1});
  plan.table = {0, 1, plan.none, plan.none};
  plan.ranks = 2;
  auto const samples = weigh(std::vector<int>{3, 5, 2}, {.capacity = 10, .ranks = 2}, cost_by_length);
  CHECK(step_keys(plan, samples, step_key::mean_length) == std::vector<std::int64_t>{4, 0});  // 10 / 3, rounded up
  CHECK(step_keys(plan, samples, step_key::longest) == std::vector<std::int64_t>{5, 0});
  CHECK(step_keys(plan, samples, step_key::cost) == std::vector<std::int64_t>{39 + 75 + 24, 0});
  auto const fewer = weigh(std::vector<int>{3, 5}, {.capacity = 10}, cost_by_length);
  CHECK(refusal([&] { return step_keys(plan, fewer, step_key::cost); }) == "sample 2 has no tokens or no cost");
}

TEST_CASE("order_steps: the same steps in another order, with the samples that ranks share", "[property]") {
  splitmix64 draw(3);
  auto lengths = random_lengths(300, 400, draw);
  for (std::size_t i = 0; i < lengths.size(); i += 50) lengths[i] = 700;  // for two ranks
  batching_options const o{.capacity = 400, .ranks = 4};
  auto const plan = plan_steps(lengths, o, cost_by_length, {.most_ranks_shared = 2});
  REQUIRE(!plan.shared.empty());
  std::vector<std::uint32_t> order(plan.steps() - 1);
  std::iota(order.rbegin(), order.rend(), 0U);
  auto other = plan;
  order_steps(other, std::span<std::uint32_t const>(order));
  for (std::size_t s = 0; s < order.size(); ++s) CHECK(std::ranges::equal(other.step(s), plan.step(order[s])));
  CHECK(std::ranges::equal(other.step(order.size()), plan.step(order.size())));
  CHECK(describe(check_batching(other, lengths, o, cost_by_length)) == describe(check_batching(plan, lengths, o, cost_by_length)));
  CHECK(other.shared.size() == plan.shared.size());
  CHECK(hash(other) != hash(plan));
  order[0] = order[1];
  CHECK(refusal([&] { return order_steps(other, std::span<std::uint32_t const>(order)), 0; }) ==
        "order[1] = " + std::to_string(order[1]) + " is no step, or comes twice; the order must name " + std::to_string(order.size()) +
            " of the plan's " + std::to_string(plan.steps()) + " steps, each once");
}

}  // namespace test_plan_step_order
