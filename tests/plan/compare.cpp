// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/compare.hpp>

#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/weigh.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/next_fit.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <algorithm>
#include <vector>

namespace test_plan_compare {

namespace {

using namespace ballast;
using namespace ballast_test;

}  // namespace

TEST_CASE("compare_with_usual: the plans that it compares are those of the rooms below") {
  splitmix64 draw(12);
  auto lengths = random_lengths(600, 512, draw);
  data_plan_options const o{.steps = {.capacity = 512, .ranks = 4, .micro_batches = 2, .seed = 5}, .oversize = oversize::set_aside};
  auto const model = transformer_preset("qwen2.5-0.5b");
  cluster const on{.device = device_named("a100"), .mfu = 0.5};
  auto const cost = sample_cost(model);
  auto const ms = ms_per_unit(cost, on);
  for (bool const aside : {false, true}) {
    CAPTURE(aside);
    auto placed = lengths;
    if (aside) lengths[100] = lengths[300] = 513;
    if (aside) placed = lengths, std::erase(placed, 513);
    auto const samples = weigh(placed, o.steps, cost);
    auto const plan = plan_data(lengths, o, model);
    auto const compared = compare_with_usual(plan, o, model, on);
    auto const scored = [&](batching<> const& b) { return figures_of(b, samples, o.steps, ms); };
    CHECK(compared.planned == scored(plan_steps(samples, o.steps)));
    CHECK(compared.planned == figures_of(plan.steps, plan.samples, o.steps, ms));
    CHECK(compared.usual ==
          scored(deal_steps(best_fit_decreasing(placed, {.capacity = 512}).packs, samples, o.steps, {.how = dealing::random})));
    CHECK(compared.naive == scored(deal_steps(next_fit(placed, {.capacity = 512}).packs, samples, o.steps, {.how = dealing::in_order})));
    CHECK(compared.planned.idle < compared.usual.idle);
  }
}

}  // namespace test_plan_compare
