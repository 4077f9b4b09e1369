// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/vector_data.hpp>

#include <ballast/core/hash.hpp>
#include <ballast/cost/chain_cost.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/workspace.hpp>
#include <ballast/plan/balance_report.hpp>
#include <ballast/plan/compare.hpp>
#include <ballast/plan/figures.hpp>
#include <ballast/plan/plan_training.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace test_plan_vector_data {

namespace {

using namespace ballast;
using namespace ballast_test;

struct images_and_text {
  std::vector<std::int64_t> tiles, tokens;
  [[nodiscard]] sample_measures view() const { return {tiles, tokens}; }
};

/// Tiles of 256 tokens and some text; every fifth sample is text alone, and some have more tiles than a pack may hold.
images_and_text draw_samples(std::size_t n, splitmix64& draw, bool too_large = false) {
  images_and_text out;
  for (std::size_t i = 0; i < n; ++i) {
    auto const tiles = i % 5 == 0 ? 0 : between(1, too_large && draw() % 50 == 0 ? 12 : 7, draw);
    out.tiles.push_back(tiles);
    out.tokens.push_back(256 * tiles + between(1, 700, draw));
  }
  return out;
}

/// Throws unless each sample is in one place or named, and no pack exceeds a capacity.
void check_places(batching<> const& steps, data_plan<> const& plan, data_plan_options const& o) {
  std::vector<int> seen(plan.samples.tokens.size());
  for (std::size_t s = 0; s < steps.steps(); ++s)
    for (auto const pack : steps.packs_of(s)) {
      std::int64_t tiles = 0, tokens = 0;
      REQUIRE((o.max_samples == 0 || pack.size() <= o.max_samples));
      for (auto const i : pack) ++seen[i], tiles += plan.others[0][i], tokens += plan.samples.tokens[i];
      REQUIRE(tiles <= o.others[0]);
      REQUIRE(tokens <= o.steps.capacity);
    }
  for (auto const i : steps.repeated) --seen[i];
  for (auto const i : steps.dropped) ++seen[i];
  for (auto const i : plan.samples.set_aside) ++seen[i];
  REQUIRE(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
}

}  // namespace

TEST_CASE("plan_data: samples of tiles and tokens are placed or named within both capacities, and the proofs hold") {
  splitmix64 draw(31);
  auto const& model = vision_language_preset("internvl-chat-1.5");
  for (auto const rest : {left_over::split, left_over::shorten, left_over::repeat, left_over::drop})
    for (std::size_t const n : {0U, 1U, 30U, 900U})
      for (bool const aside : {false, true})
        for (std::uint64_t const stages : {1U, 4U}) {
          auto const samples = draw_samples(n, draw, aside);
          auto const most = draw() % 5;  // some 3 samples fill a place
          CAPTURE(static_cast<int>(rest), n, aside, stages, most);
          data_plan_options const o{.steps = {.capacity = 4096,
                                              .ranks = 4,
                                              .micro_batches = 4,
                                              .synchronisation = stages > 1 ? synchronisation::pipeline : synchronisation::per_step,
                                              .stages = stages,
                                              .left_over = rest,
                                              .seed = 3,
                                              .cost_per_micro_batch = 5,
                                              .cost_per_step = 7},
                                    .oversize = aside ? oversize::set_aside : oversize::reject,
                                    .others = {9},
                                    .max_samples = most};
          auto const plan = plan_data(samples.view(), o, model);
          check_places(plan.steps, plan, o);
          CHECK(plan.packs.lower_bound <= plan.packs.value);
          std::int64_t trained = 0;
          for (std::size_t s = 0; s < plan.steps.steps(); ++s)
            for (auto const pack : plan.steps.packs_of(s)) trained += static_cast<std::int64_t>(pack.size());
          if (most != 0) CHECK(plan.packs.lower_bound * static_cast<std::int64_t>(most) >= trained);
          CHECK(std::accumulate(plan.samples.cost.begin(), plan.samples.cost.end(), std::int64_t{0}) == plan.samples.all_cost);
          CHECK(hash(plan.steps) == hash(plan_data(samples.view(), o, model).steps));
          auto const f = figures_of(plan.steps, plan.samples, o.steps, 1.0);
          CHECK(std::accumulate(f.loads.begin(), f.loads.end(), std::int64_t{0}) == plan.steps.cost);
          if (stages == 1) {  // the slowest ranks are those of the loads
            std::int64_t slowest = 0;
            for (std::size_t s = 0; s < plan.steps.steps(); ++s)
              slowest += *std::max_element(f.loads.begin() + static_cast<std::ptrdiff_t>(4 * s),
                                           f.loads.begin() + static_cast<std::ptrdiff_t>(4 * s + 4));
            CHECK(plan.steps.slowest.value == slowest);
          }
          auto const limits = report_balance(plan.steps, plan.samples, o.steps);
          CHECK(limits.bound <= plan.steps.slowest.value);
          auto const others = usual_batchings_of(plan, o);
          check_places(others.naive, plan, o);
          check_places(others.usual, plan, o);
        }
}

TEST_CASE("plan_data: many samples of tiles and tokens are balanced by the cost of a vision-language model") {
  splitmix64 draw(32);
  auto const samples = draw_samples(9000, draw);
  auto const& model = vision_language_preset("internvl-chat-1.5");
  auto const plan_for = [&](data_plan_options const& o) {
    auto const plan = plan_data(samples.view(), o, model);
    return compare_with_usual(plan, o, 1.0);
  };
  for (std::uint64_t const micro_batches : {1U, 8U}) {
    CAPTURE(micro_batches);
    auto const compared = plan_for({.steps = {.capacity = 4096, .ranks = 8, .micro_batches = micro_batches}, .others = {9}});
    CHECK(compared.planned.idle < 0.01);
    CHECK(compared.planned.idle < compared.usual.idle / 5);
    CHECK(compared.usual.idle < 1);
    CHECK(compared.planned.packs <= compared.usual.packs);
    CHECK(compared.planned.packs < compared.naive.packs);
  }
}

TEST_CASE("plan_training: a vision-language model on a plan of tiles and tokens") {
  splitmix64 draw(33);
  auto const samples = draw_samples(2000, draw);
  auto const& model = vision_language_preset("internvl-chat-1.5");
  data_plan_options const o{
      .steps = {.capacity = 4096, .ranks = 4, .micro_batches = 8, .synchronisation = synchronisation::pipeline, .stages = 4},
      .others = {9}};
  model_setting by{.spread = {.tensor = 4, .data = 4, .zero = 1}};
  training_options const training{.stages = 4, .memory = std::int64_t{80'000'000'000}};
  auto const plan = plan_data(samples.view(), o, model, by);
  auto const run = plan_training(plan, training, model, {.device = device_named("a100"), .mfu = 0.5}, by);
  REQUIRE(run.status == status::feasible);
  CHECK(run.shares.total() == run.time.value * 4 * 4);
  CHECK(run.largest.tiles <= 9);
  CHECK(run.largest.tokens <= 4096);
  CHECK(run.largest.tiles == std::int64_t{9});
  CHECK(run.time.lower_bound <= run.time.value);
  for (auto const& m : run.memory) CHECK(m.bytes() <= m.budget);

  auto const rates = rates_of({.device = device_named("a100"), .mfu = 0.5}, 16);
  auto const compared = compare_training(plan, usual_batchings_of(plan, o), layers_of(model, by), training, rates);
  CHECK(compared.planned.steps == run.steps);
  CHECK(compared.planned.time.value < compared.usual.time.value * 9 / 10);
  CHECK(compared.planned.time.value < compared.naive.time.value);

  by.vision.what = trained::none;  // its tiles cost a third, so it takes less time and holds less
  auto const frozen = plan_training(plan, training, model, {.device = device_named("a100"), .mfu = 0.5}, by);
  REQUIRE(frozen.status == status::feasible);
  CHECK(frozen.time.value < run.time.value);

  by.framework = framework_named("eager");  // whose tensors are counted: pixels are on every device beside the stages
  auto const counted = plan_training(plan, training, model, {.device = device_named("a100"), .mfu = 0.5}, by);
  REQUIRE(counted.status == status::feasible);
  for (auto const& m : counted.memory) CHECK(m.budget == memory_for_stages(training.memory, model, by, counted.largest));

  auto const text = plan_data(samples.tokens, {.steps = o.steps}, model.language);
  CHECK(refusal([&] { return plan_training(text, training, model, {}, by); }) ==
        "others is empty: a vision-language model needs the image tiles of each sample");
}

TEST_CASE("plan_data: the steps of pipelines hold micro-batches of similar cost") {
  splitmix64 draw(34);
  auto const samples = draw_samples(4000, draw);
  auto const& model = vision_language_preset("internvl-chat-1.5");
  auto const spread = [&](synchronisation where) {  // of the costs of a rank's micro-batches in a step
    data_plan_options const o{.steps = {.capacity = 4096, .ranks = 4, .micro_batches = 8, .synchronisation = where, .stages = 4},
                              .others = {9}};
    auto const plan = plan_data(samples.view(), o, model);
    std::int64_t sum = 0;
    for (std::size_t s = 0; s < plan.steps.steps(); ++s)
      for (std::size_t r = 0; r < 4; ++r) {
        std::int64_t least = plan.samples.all_cost, most = 0;
        for (auto const pack : plan.steps.packs_of(s, r)) {
          std::int64_t cost = 0;
          for (auto const i : pack) cost += plan.samples.cost[i];
          least = (std::min)(least, cost), most = (std::max)(most, cost);
        }
        sum += most - least;
      }
    return sum;
  };
  CHECK(spread(synchronisation::pipeline) < spread(synchronisation::per_step) / 2);
}

TEST_CASE("plan_data: samples of several measures that make no sense are refused by name") {
  std::vector<std::int64_t> tiles{1, 2, 3}, tokens{300, 600, 900};
  auto const& model = vision_language_preset("llava-1.5-7b");
  auto const refused = [&](data_plan_options const& o) { return refusal([&] { return plan_data({tiles, tokens}, o, model); }); };
  data_plan_options const o{.steps = {.capacity = 1000, .ranks = 2}, .others = {4}};
  CHECK(refused(o) == "accepted");
  CHECK(refused({.steps = o.steps}) == "others has 0 capacities for 1 measure in front of the tokens");
  CHECK(refused({.steps = o.steps, .oversize = oversize::truncate, .others = {4}}) ==
        "oversize: a sample of several measures can be rejected or set aside");
  CHECK(refused({.steps = o.steps, .others = {2}}) != "accepted");
  CHECK(refusal([&] { return plan_data(sample_measures({tokens}), {.steps = o.steps}, model); }) ==
        "a vision-language model takes two measures, tiles and tokens, not 1");
  tokens[1] = 0;
  CHECK(refused(o) == "tokens[1] = 0 must be positive");
}

TEST_CASE("plan_data: layers with costs by tile and by token give the cost of samples and of micro-batches") {
  splitmix64 draw(77);
  std::vector<layer> const layers{{.name = "tower", .forward = {.per_tile = 900, .per_batch = 50}, .options = {{}}},
                                  {.name = "block", .forward = {.per_token = 3, .per_square = 1, .per_batch = 70}, .options = {{}}}};
  auto const samples = draw_samples(400, draw, false);
  data_plan_options const o{.steps = {.capacity = 4096, .ranks = 4, .micro_batches = 2}, .others = {9}};
  auto const cost = chain_cost_of(layers, {.tokens = 4096, .tiles = 9}, {.work_per_ms = 1'000'000'000});
  CHECK(cost == chain_cost{.tokens = {3, 1}, .per_tile = 900, .per_micro_batch = 120});
  auto const plan = plan_data(samples.view(), o, cost);
  check_places(plan.steps, plan, o);
  CHECK(plan.steps.cost == plan.samples.all_cost + 120 * plan.packs.value);
  CHECK(refusal([&] { return plan_data(sample_measures{samples.view().column(1)}, o, cost); }) ==
        "a chain of layers takes two measures, tiles and tokens, not 1");
}

}  // namespace test_plan_vector_data
