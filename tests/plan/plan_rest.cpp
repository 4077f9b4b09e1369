// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/check.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/plan/compare.hpp>
#include <ballast/plan/figures.hpp>
#include <ballast/plan/plan_data.hpp>
#include <ballast/plan/plan_rest.hpp>

#include "support/archetypes.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace test_plan_plan_rest {

namespace {

using namespace ballast;
using namespace ballast_test;

/// Adds one to each sample for each time that steps first ... last - 1 train on it.
void train(data_plan<> const& plan, std::size_t first, std::size_t last, std::vector<int>& trained) {
  for (auto s = first; s < last; ++s)
    for (auto const pack : plan.steps.packs_of(s))
      for (auto const i : pack) ++trained[i];
}

/// The result of the validator for a plan of the samples that are not set aside.
std::string checked_alone(data_plan<> const& plan, batching_options const& o, quadratic_cost cost) {
  auto listed = plan.steps;
  listed.dropped.insert(listed.dropped.end(), plan.samples.set_aside.begin(), plan.samples.set_aside.end());
  std::sort(listed.dropped.begin(), listed.dropped.end());
  return describe(check_batching(listed, plan.samples.tokens, o, cost));
}

constexpr quadratic_cost modelled{.linear = 4000, .quadratic = 1}, measured{.linear = 400, .quadratic = 1};

}  // namespace

TEST_CASE("plan_rest: what is done and what comes train on every sample as often as promised, under every policy", "[property]") {
  splitmix64 draw(21);
  for (auto const where : {synchronisation::per_step, synchronisation::per_micro_batch, synchronisation::pipeline})
    for (auto const policy : {oversize::set_aside, oversize::split})
      for (auto const left : {left_over::split, left_over::shorten, left_over::repeat, left_over::drop})
        for (std::size_t const n : {0U, 1U, 40U, 700U}) {
          CAPTURE(static_cast<int>(where), static_cast<int>(policy), static_cast<int>(left), n);
          auto const lengths = random_lengths(n, 130, draw);
          data_plan_options const o{.steps = {.capacity = 100,
                                              .ranks = 4,
                                              .micro_batches = 2,
                                              .synchronisation = where,
                                              .stages = 3,
                                              .left_over = left,
                                              .seed = draw(),
                                              .cost_per_micro_batch = 50,
                                              .cost_per_step = 70},
                                    .oversize = policy,
                                    .max_samples = draw() % 3};
          auto plan = plan_data(lengths, o, modelled);
          auto const aside = plan.samples.set_aside;
          std::vector<int> trained(plan.samples.tokens.size(), 0);
          for (int again = 0; again < 3; ++again) {  // the rest of a rest, too
            auto const done = static_cast<std::size_t>(uniform_below(plan.steps.steps() + 1, draw));
            train(plan, 0, done, trained);
            auto const kept = keep_rest(plan, done, o, measured);
            auto const rest = plan_rest(plan, done, o, measured);
            REQUIRE(hash(rest.plan.steps) == hash(plan_rest(plan, done, o, measured).plan.steps));
            CHECK(kept.steps.steps() == plan.steps.steps() - done);
            CHECK(kept.steps.slowest.value == rest.going_on);
            CHECK(kept.steps.slowest.lower_bound <= kept.steps.slowest.value);
            CHECK(rest.plan.steps.slowest.value == (rest.anew ? rest.found : rest.going_on));
            CHECK(rest.plan.packs.lower_bound <= rest.plan.packs.value);
            if (left == left_over::split || left == left_over::shorten) CHECK(rest.plan.steps.slowest.value <= rest.going_on);
            if (rest.anew || left != left_over::repeat) CHECK(checked_alone(rest.plan, o.steps, measured) == "valid");
            CHECK(compare_with_usual(rest.plan, o, 1.0).planned == figures_of(rest.plan.steps, rest.plan.samples, o.steps, 1.0));
            for (auto const* const next : {&kept, &rest.plan}) {
              for (auto const pack : next->steps.packs) CHECK((o.max_samples == 0 || pack.size() <= o.max_samples));
              std::vector<int> comes(trained.size(), 0), expected(trained.size(), 0);
              for (std::size_t i = 0; i < trained.size(); ++i) expected[i] = trained[i] == 0;
              for (auto const* const never : {&aside, &next->steps.dropped})
                for (auto const i : *never) --expected[i];
              for (auto const i : next->steps.repeated) ++expected[i];
              train(*next, 0, next->steps.steps(), comes);
              CHECK(comes == expected);
            }
            plan = rest.plan;
            if (plan.steps.steps() == 0) break;
          }
        }
}

TEST_CASE("plan_rest: goes on under the old cost, and plans anew where the new cost shows that ranks wait") {
  splitmix64 draw(22);
  std::vector<std::int64_t> lengths;
  for (int i = 0; i < 6000; ++i) lengths.push_back(between(20, draw() % 8 == 0 ? 4000 : 300, draw));
  data_plan_options const o{.steps = {.capacity = 4096, .ranks = 8, .seed = 4}};
  auto const plan = plan_data(lengths, o, modelled);
  auto const done = plan.steps.steps() / 4;
  auto const idle = [&](data_plan<> const& of) { return figures_of(of.steps, of.samples, o.steps, 1.0).idle; };
  auto const before = keep_rest(plan, done, o, measured);
  auto const rest = plan_rest(plan, done, o, measured);
  CHECK(rest.anew);
  CHECK(idle(before) > 1.5 * idle(rest.plan));
  CHECK(rest.found < rest.going_on);
  auto other = o;
  other.steps.seed = 5;
  CHECK(hash(rest.plan.steps) != hash(plan_rest(plan, done, other, measured).plan.steps));
  auto const whole = keep_rest(plan, 0, o, modelled);
  for (std::size_t s = 0; s < plan.steps.steps(); ++s)
    CHECK(std::ranges::equal(whole.steps.packs_of(s), plan.steps.packs_of(s), std::ranges::equal));
  CHECK((whole.steps.slowest.value == plan.steps.slowest.value && whole.steps.cost == plan.steps.cost));
  CHECK((whole.packs.lower_bound == plan.packs.lower_bound && whole.samples == plan.samples));
}

TEST_CASE("plan_rest: throws for steps that the plan does not have, other ranks, and costs out of range") {
  data_plan_options o{.steps = {.capacity = 10, .ranks = 2}};
  auto const plan = plan_data(std::vector{3, 4, 5}, o, token_cost{});
  CHECK(refusal([&] { return plan_rest(plan, 2, o, token_cost{}); }) == "done = 2 is out of range: the plan has 1 step");
  CHECK(refusal([&] { return plan_rest(plan, 0, o, [](std::int64_t l) { return l - 4; }); }) ==
        "samples.tokens[0] = 3 has cost -1, outside [0, 2^63)");
  CHECK(refusal([&] { return plan_rest(plan, 0, o, [](std::int64_t) { return 0; }); }).find("has cost 0") != std::string::npos);
  o.steps.ranks = 3;
  CHECK(refusal([&] { return plan_rest(plan, 0, o, token_cost{}); }) == "ranks = 3 must be those of the plan, 2");
}

}  // namespace test_plan_plan_rest
