// SPDX-License-Identifier: Apache-2.0
#include <ballast/staging.hpp>

#include "suite.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

namespace test_staging_joint {

using namespace ballast;
using namespace ballast_test;

namespace {
using cut = std::vector<std::uint32_t>;

void require_same(joint_stages<> const& a, joint_stages<> const& b) {
  REQUIRE(a.partition.status == b.partition.status);
  REQUIRE(a.partition.bottleneck == b.partition.bottleneck);
  REQUIRE(a.partition.boundaries == b.partition.boundaries);
  REQUIRE(a.figures == b.figures);
  REQUIRE(a.option == b.option);
}
}  // namespace

TEST_CASE("plan_stages: as good as the best of all plans, and a refusal only where there is none") {
  int feasible = 0, infeasible = 0, recomputed = 0, beside = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    auto const c = random_staging_case(seed, 7, 4);
    auto const chain = fold_layers(c.layers);
    auto const plan = plan_stages(chain, c.options());
    auto const verdict = check_stages(plan, chain, c.options());
    INFO(describe(verdict));
    REQUIRE(verdict.valid());
    auto const best = try_all(c);
    REQUIRE(best.has_value() == (plan.partition.status == status::feasible));
    auto const sequential = plan_stages_in_sequence(chain, c.options());
    REQUIRE(check_stages(sequential, chain, c.options()).valid());
    if (!best) {
      REQUIRE(sequential.partition.status == status::infeasible);
      ++infeasible;
      continue;
    }
    REQUIRE(plan.partition.bottleneck == certificate{*best, *best});
    if (sequential.partition.status == status::feasible)
      REQUIRE(sequential.partition.bottleneck.value >= *best);
    else
      ++beside;
    ++feasible;
    std::int64_t added = 0;
    for (auto const& s : plan.figures) added += s.added;
    recomputed += added > 0 ? 1 : 0;
  }
  CHECK((feasible > 500 && infeasible > 300 && recomputed > 150 && beside > 100));  // the cases are no trifles
}

TEST_CASE("plan_stages: the dynamic programme agrees on longer chains") {
  int feasible = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    auto const c = random_staging_case(seed, 40, 6);
    auto const chain = fold_layers(c.layers);
    auto const plan = plan_stages(chain, c.options());
    auto const verdict = prove_stages(plan, chain, c.options());
    INFO(describe(verdict));
    REQUIRE(verdict.valid());
    feasible += plan.partition.status == status::feasible ? 1 : 0;
    if (plan.partition.status == status::feasible) REQUIRE(plan.partition.bottleneck.optimal());
  }
  CHECK(feasible > 40);
}

TEST_CASE("plan_stages: light layers, whose stages' bounds decrease where the stage grows") {
  int feasible = 0;
  for (std::uint64_t seed = 0; seed < 10'000; seed += round_step) {
    CAPTURE(seed);
    auto const c = light_staging_case(seed, 24, 8);
    auto const chain = fold_layers(c.layers);
    auto const plan = plan_stages(chain, c.options());
    auto const verdict = check_stages(plan, chain, c.options());
    INFO(describe(verdict));
    REQUIRE(verdict.valid());
    auto const least = least_stage_bottleneck(chain, c.options());  // as `prove_stages`, and that the value is no more
    REQUIRE(least.has_value() == (plan.partition.status == status::feasible));
    if (!least) continue;
    REQUIRE(plan.partition.bottleneck == certificate{*least, *least});
    ++feasible;
  }
  CHECK(feasible > 5'000 / round_step);
  for (std::uint64_t seed = 0; seed < 5'000; seed += round_step) {
    CAPTURE(seed);
    auto const c = light_staging_case(~seed, 5, 4);
    auto const best = try_all(c);
    auto const plan = plan_stages(fold_layers(c.layers), c.options());
    REQUIRE(best.has_value() == (plan.partition.status == status::feasible));
    if (best) REQUIRE(plan.partition.bottleneck == certificate{*best, *best});
  }
}

TEST_CASE("plan_stages: folded or not, and asked twice, the same plan") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    auto const c = random_staging_case(seed, 24, 5);
    auto const folded = plan_stages(fold_layers(c.layers), c.options());
    require_same(folded, plan_stages(fold_layers(c.layers), c.options()));
    require_same(folded, plan_stages(std::span<stage_layer const>(c.layers), c.options()));
    layer_chain single{c.layers, {}};  // every layer a class of its own
    for (std::size_t i = 0; i < c.layers.size(); ++i) {
      single.runs.values.push_back(static_cast<std::int64_t>(i));
      single.runs.counts.push_back(1);
    }
    auto const unfolded = plan_stages(single, c.options());
    REQUIRE(unfolded.partition.status == folded.partition.status);
    REQUIRE(unfolded.partition.bottleneck == folded.partition.bottleneck);
    REQUIRE(unfolded.partition.boundaries == folded.partition.boundaries);
  }
}

TEST_CASE("plan_stages: cut for time, and the first stage does not fit; cut for both, all do") {
  // Four equal layers on two stages; the first holds two micro-batches. Kept 10 bytes, recomputed 4 for a third of the time.
  std::vector<stage_layer> const layers(4, {.time = 30, .state = 10, .options = {{.memory = 10}, {.memory = 4, .time = 10}}});
  std::vector<std::int64_t> capacity{35, 60};
  std::vector<std::uint64_t> const in_flight{2, 1};
  staging_options const options{.stages = 2, .capacity = capacity, .in_flight = in_flight};
  auto const chain = fold_layers(layers);
  auto const sequential = plan_stages_in_sequence(chain, options);
  CHECK(sequential.partition.status == status::infeasible);
  CHECK(sequential.partition.bound == partition_bound::capacity);
  CHECK(sequential.partition.bottleneck == certificate{35, 36});  // two layers: 20 of states, 2 * 2 * 4
  auto const joint = plan_stages(chain, options);
  CHECK(joint.partition.boundaries == cut{0, 1, 4});
  CHECK(joint.partition.bottleneck == certificate{90, 90});
  CHECK(joint.option == std::vector<std::uint32_t>{0, 0, 0, 0});
  CHECK((joint.figures[0] == staged_figures{.time = 30, .state = 10, .activations = 10, .memory = 30}));
  CHECK(joint.figures[1].memory == 60);
  capacity[1] = 59;  // one of the three is computed again
  auto const tight = plan_stages(chain, options);
  CHECK(tight.partition.bottleneck == certificate{100, 100});
  CHECK(tight.option == std::vector<std::uint32_t>{0, 0, 0, 1});
  capacity[1] = 41;  // 30 of states and 3 * 4 are 42
  auto const none = plan_stages(chain, options);
  CHECK(none.partition.status == status::infeasible);
  CHECK((none.partition.boundaries.empty() && none.figures.empty() && none.option.empty()));
  CHECK(none.partition.bottleneck == certificate{3, 4});  // layers placed at most, layers in all
}

TEST_CASE("plan_stages: the largest working set of a stage exists once, whatever is in flight") {
  std::vector<stage_layer> layers(4, {.time = 30, .state = 10, .options = {{.memory = 10}, {.memory = 4, .time = 10}}});
  layers[0].working = 3;
  layers[2].working = 7;
  layers[3].working = 5;
  std::vector<std::int64_t> capacity{33, 67};
  std::vector<std::uint64_t> const in_flight{2, 1};
  staging_options const options{.stages = 2, .capacity = capacity, .in_flight = in_flight};
  auto const plan = plan_stages(std::span<stage_layer const>(layers), options);
  CHECK(plan.partition.boundaries == cut{0, 1, 4});
  CHECK(plan.partition.bottleneck == certificate{90, 90});
  CHECK((plan.figures[0] == staged_figures{.time = 30, .state = 10, .working = 3, .activations = 10, .memory = 33}));
  CHECK((plan.figures[1] == staged_figures{.time = 90, .state = 30, .working = 7, .activations = 30, .memory = 67}));
  capacity[1] = 66;  // one of the three is computed again
  CHECK(plan_stages(std::span<stage_layer const>(layers), options).partition.bottleneck == certificate{100, 100});
  capacity[1] = 48;  // 30 of states, 7 of the working set and 3 * 4 are 49
  CHECK(plan_stages(std::span<stage_layer const>(layers), options).partition.status == status::infeasible);
}

TEST_CASE("plan_stages: a transfer costs what does not hide") {
  std::vector<stage_layer> const layers(
      2, {.time = 100, .options = {{.memory = 8}, {.memory = 1, .time = 30}, {.memory = 0, .transfer = 60}}});
  std::vector<std::int64_t> const capacity{8};
  std::vector<std::uint64_t> const in_flight{1};
  auto const value = [&](std::int64_t percent) {
    auto const plan = plan_stages(std::span<stage_layer const>(layers),
                                  {.stages = 1, .capacity = capacity, .in_flight = in_flight, .hidden_percent = percent});
    return plan.partition.bottleneck.value;
  };
  CHECK(value(0) == 260);    // both computed again; 8 + 1 bytes would be too many
  CHECK(value(20) == 220);   // one kept, one sent, 40 of its 60 hidden
  CHECK(value(100) == 200);  // all hidden
}

TEST_CASE("plan_stages: selections cut short leave a true bound") {
  splitmix64 draw(5);
  std::vector<stage_layer> layers;
  for (int i = 0; i < 60; ++i) {
    stage_layer layer;
    layer.time = between(100, 200, draw);
    auto const bytes = between(10000, 90000, draw);
    auto const half = between(3000, 9000, draw);
    auto const again = between(20, 60, draw);
    layer.options = {{.memory = bytes}, {.memory = half, .time = again}, {.memory = 500, .time = again + bytes / 2000}};
    layers.push_back(layer);
  }
  std::vector<std::int64_t> const capacity{900000, 700000, 500000};
  std::vector<std::uint64_t> const in_flight{3, 2, 1};
  staging_options options{.stages = 3, .capacity = capacity, .in_flight = in_flight};
  auto const chain = fold_layers(layers);
  auto const whole = plan_stages(chain, options);
  REQUIRE(whole.partition.bottleneck.optimal());
  auto const cut_short = plan_stages(chain, options, {.work = 0});
  REQUIRE(check_stages(cut_short, chain, options).valid());
  CHECK(cut_short.partition.bottleneck.value >= whole.partition.bottleneck.value);
  CHECK(cut_short.partition.bottleneck.lower_bound <= whole.partition.bottleneck.value);
  CHECK_FALSE(cut_short.partition.bottleneck.optimal());
  CHECK(cut_short.complete);
  std::stop_source stopped;
  stopped.request_stop();
  auto const ended = plan_stages(chain, options, {.stop = stopped.get_token()});
  REQUIRE(check_stages(ended, chain, options).valid());
  CHECK_FALSE(ended.complete);
  CHECK(ended.partition.bottleneck.value >= whole.partition.bottleneck.value);
  CHECK(ended.partition.bottleneck.lower_bound <= whole.partition.bottleneck.value);
}

namespace {
/// Layers of which no two are alike, what an option saves nearly proportional to what it costs: `kind` says how nearly, and by which link.
std::vector<stage_layer> unlike_layers(std::uint64_t kind, std::size_t count) {
  splitmix64 draw(96);
  std::vector<stage_layer> layers(count);
  for (auto& layer : layers) {
    auto const bytes = between(500'000, 900'000, draw);
    layer.time = between(20'000, 40'000, draw);
    if (kind == 0) layer.options = {{.memory = bytes}, {.memory = bytes / 14, .time = between(3'000, 9'000, draw)}, {.transfer = 25'000}};
    if (kind == 1)
      layer.options = {{.memory = bytes},
                       {.memory = bytes / 2, .time = bytes / 100 + between(0, 3, draw)},
                       {.memory = bytes / 20, .transfer = bytes / 50 + between(0, 9, draw)}};
    if (kind == 2)
      layer.options = {
          {.memory = bytes}, {.memory = bytes / 20, .time = bytes / 100 + 5'000}, {.memory = bytes / 2, .transfer = bytes / 50}};
  }
  return layers;
}
}  // namespace

TEST_CASE("plan_stages: one budget for the whole call, and a true bound wherever it ends") {
  for (std::uint64_t kind = 0; kind < 3; ++kind)
    for (std::int64_t const tight : {12, 25})
      for (std::int64_t const hidden : {0, 20, 40}) {
        auto const layers = unlike_layers(kind, 24);
        std::vector<std::int64_t> const capacity(4, 24 * 700'000 * tight / 100);
        auto const in_flight = held_by_stage(one_f_one_b_schedule{}, 4, 16);
        staging_options options{.stages = 4, .capacity = capacity, .in_flight = in_flight, .hidden_percent = hidden};
        auto const chain = fold_layers(layers);
        auto const whole = plan_stages(chain, options);
        CAPTURE(kind, tight, hidden, whole.work);
        REQUIRE(whole.partition.status == status::feasible);
        CHECK(whole.partition.bottleneck.optimal());
        auto const least = plan_stages(chain, options, {.work = 0});  // one greedy selection a stage
        CHECK(least.work < 1'000'000);
        for (std::uint64_t work = 10'000; work <= 10'000'000; work *= 10) {
          auto const plan = plan_stages(chain, options, {.work = work});
          REQUIRE(check_stages(plan, chain, options).valid());
          CHECK(plan.work <= 2 * work + least.work);
          CHECK(plan.partition.bottleneck.value >= whole.partition.bottleneck.value);
          CHECK(plan.partition.bottleneck.value <= least.partition.bottleneck.value);
          CHECK(plan.partition.bottleneck.lower_bound <= whole.partition.bottleneck.value);
        }
      }
}

TEST_CASE("plan_stages: by default no chain takes more than the page says") {
  for (std::uint64_t kind = 0; kind < 3; ++kind)
    for (std::int64_t const hidden : {0, 40}) {
      auto const layers = unlike_layers(kind, 80);
      std::vector<std::int64_t> const capacity(8, 80 * 700'000 * 20 / 100);
      auto const in_flight = held_by_stage(one_f_one_b_schedule{}, 8, 16);
      staging_options const options{.stages = 8, .capacity = capacity, .in_flight = in_flight, .hidden_percent = hidden};
      auto const plan = plan_stages(std::span<stage_layer const>(layers), options);
      CAPTURE(kind, hidden, plan.work);
      CHECK(plan.partition.status == status::feasible);
      CHECK(plan.work <= 2 * staging_work);
    }
}

TEST_CASE("plan_stages: corners and refusals") {
  std::vector<std::int64_t> capacity{5, 5};
  std::vector<std::uint64_t> in_flight{2, 1};
  staging_options const options{.stages = 2, .capacity = capacity, .in_flight = in_flight, .min_layers = 0};
  CHECK((plan_stages(layer_chain{}, options).partition.boundaries == cut{0, 0, 0}));
  auto one = options;
  one.min_layers = 1;
  CHECK(plan_stages(layer_chain{}, one).partition.bound == partition_bound::min_layers);
  std::vector<stage_layer> layers(1, {.time = 7, .options = {{.memory = 5}}});
  CHECK((plan_stages(fold_layers(layers), options).partition.boundaries == cut{0, 0, 1}));  // only the last stage can hold it
  auto const sentence = [&] { return refusal([&] { return plan_stages(fold_layers(layers), options); }); };
  layers[0].options.clear();
  CHECK(sentence() == "class 0 has no options");
  layers[0] = {.time = -1, .options = {{}}};
  CHECK(sentence() == "classes[0].time = -1 is negative, or brings the sum above 2^58");
  layers[0].time = 0;
  in_flight[1] = 0;
  CHECK(sentence() == "in_flight[1] = 0 must be in 1 ... 2^32");
  in_flight[1] = 1;
  capacity[0] = -3;
  CHECK(sentence() == "capacity[0] = -3 must not be negative");
  CHECK(refusal([&] { return plan_stages(layer_chain{}, {.stages = 3, .capacity = capacity, .in_flight = in_flight}); }) ==
        "capacity has 2 entries for 3 stages");
  CHECK(refusal([&] { return plan_stages(layer_chain{{}, {{0}, {1}}}, options); }) == "runs.values[0] = 0 must be in [0, 0), the classes");
}

}  // namespace test_staging_joint
