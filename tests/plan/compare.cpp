// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/compare.hpp>

#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/next_fit.hpp>
#include <ballast/plan/export/describe.hpp>

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
    auto const others = usual_batchings_of(plan, o);
    auto const again = compare_with_usual(plan, others, o, ms);
    CHECK(again.naive == compared.naive);
    CHECK(again.usual == compared.usual);
    for (auto const* const made : {&others.naive, &others.usual}) {  // samples of the plan, each once
      auto samples_of = made->packs.members;
      samples_of.insert(samples_of.end(), made->dropped.begin(), made->dropped.end());
      for (auto const i : plan.samples.set_aside) samples_of.push_back(i);
      std::sort(samples_of.begin(), samples_of.end());
      samples_of.erase(std::unique(samples_of.begin(), samples_of.end()), samples_of.end());
      CHECK(samples_of.size() == lengths.size());
    }
  }
}

TEST_CASE("compare_training: each plan has its own stages, as plan_training makes them") {
  splitmix64 draw(13);
  auto const lengths = random_lengths(400, 512, draw);
  auto const model = transformer_preset("qwen2.5-0.5b");
  data_plan_options const o{
      .steps = {.capacity = 512, .ranks = 2, .micro_batches = 4, .synchronisation = synchronisation::pipeline, .stages = 2}};
  auto const plan = plan_data(lengths, o, model);
  auto const others = usual_batchings_of(plan, o);
  auto const layers = layers_of(model, {.spread = {.data = 2}});
  auto const rates = rates_of({}, 2);
  auto const compared = [&](std::int64_t memory) { return compare_training(plan, others, layers, {.stages = 2, .memory = memory}, rates); };
  auto const roomy = compared(std::int64_t{80} << 30);
  auto const alone = plan_training(plan, {.stages = 2, .memory = std::int64_t{80} << 30}, model, {.mfu = 0.4}, {.spread = {.data = 2}});
  CHECK(roomy.planned.steps == alone.steps);
  for (auto const* const run : {&roomy.planned, &roomy.naive, &roomy.usual}) {
    REQUIRE(run->status == status::feasible);
    CHECK(run->time.value > 0);
    CHECK(run->shares.total() == run->time.value * 4);
  }
  CHECK(roomy.naive.steps.size() == others.naive.steps());
  CHECK(roomy.usual.steps.size() == others.usual.steps());
  CHECK(roomy.planned.time.value < roomy.usual.time.value);
  CHECK(describe(roomy).empty());

  auto const slower = training_comparison{.planned = roomy.naive, .naive = roomy.naive, .usual = roomy.planned};
  REQUIRE(describe(slower).size() == 1);
  CHECK(describe(slower)[0].starts_with("The usual plan takes "));
  CHECK(describe(slower)[0].ends_with(" % less time than this plan, by simulation."));
  auto const tight = training_comparison{.planned = roomy.planned, .naive = compared(1).naive, .usual = roomy.usual};
  CHECK(tight.naive.status == status::infeasible);
  REQUIRE(describe(tight).size() == 1);
  CHECK(describe(tight)[0].starts_with("The naive plan does not fit in memory: "));
  CHECK(describe(compared(1)).empty());
  auto unknown = tight;  // as with several chunks a stage, where no shortage is known
  unknown.naive.shortage = {};
  CHECK(describe(unknown) == std::vector<std::string>{"The naive plan does not fit in memory."});
}

}  // namespace test_plan_compare
