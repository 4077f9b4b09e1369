// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/judge_setting.hpp>

#include <ballast/core/random.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/kernel_setting.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/footprint/workspace.hpp>
#include <ballast/plan/export/setting.hpp>
#include <ballast/plan/memory_of.hpp>
#include <ballast/plan/plan_training.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/measured_memory.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_plan_judge_setting {

namespace {

using namespace ballast;
using ballast_test::between;
using ballast_test::round_step;
using enum recompute_setting::kind;

transformer const& model = transformer_preset("llama-3.1-8b");
cluster const h100{};
constexpr std::int64_t plenty = std::int64_t{1} << 50;

training_setting four_stages() {
  training_setting by;
  by.model.spread = {.tensor = 2, .data = 4, .sequence_parallel = true, .zero = 1};
  by.pipeline = {.stages = 4, .memory = plenty};
  by.sequence = 8192;
  by.micro_batches = 8;
  return by;
}

}  // namespace

TEST_CASE("judge_setting: the setting of a plan has the figures of the plan") {
  std::vector<std::int64_t> lengths;
  for (int i = 0; i < 64; ++i) lengths.push_back(100 + i * 7919 % 8000);
  data_plan_options const options{.steps = {.capacity = 8192, .ranks = 4, .micro_batches = 2}};
  auto const data = plan_data(lengths, options, model);
  for (auto const& schedule : {schedule_named("1f1b"), schedule_named("gpipe"), schedule_named("interleaved", 2), schedule_named("zbv")}) {
    auto by = four_stages();
    by.pipeline.schedule = schedule;
    auto const plan = plan_training<std::uint32_t>(data, by.pipeline, model, h100, by.model);
    REQUIRE(plan.status == status::feasible);
    REQUIRE(plan.shares.recompute == 0);
    by.boundaries = plan.stages.partition.boundaries;
    auto const judged = judge_setting(data, model, by, h100);
    CHECK(judged.status == status::feasible);
    CHECK(judged.time == plan.time);
    CHECK(judged.shares == plan.shares);
    CHECK(judged.memory == plan.memory);
    CHECK(judged.in_flight == plan.in_flight);
    CHECK(judged.stages.partition.bottleneck.value == plan.stages.partition.bottleneck.value);
    for (std::size_t s = 0; s < 4; ++s) {
      CHECK(judged.stages.figures[s].time == plan.stages.figures[s].time);
      CHECK(judged.stages.figures[s].state == plan.stages.figures[s].state);
    }
    by.model.spread.data = 8;
    CHECK_THROWS_AS(judge_setting(data, model, by, h100), invalid_input);
  }
}

TEST_CASE("judge_setting: too little memory is an answer with figures") {
  auto by = four_stages();
  auto const roomy = judge_setting(model, by, h100);
  CHECK(roomy.status == status::feasible);
  auto most = std::max_element(roomy.memory.begin(), roomy.memory.end(), [](auto& a, auto& b) { return a.bytes() < b.bytes(); })->bytes();
  by.pipeline.memory = most;
  CHECK(judge_setting(model, by, h100).status == status::feasible);
  by.pipeline.memory = most - 1;
  auto const short_of = judge_setting(model, by, h100);
  CHECK(short_of.status == status::infeasible);
  CHECK(short_of.time == roomy.time);
  CHECK(short_of.memory.size() == 4);
}

TEST_CASE("improve_setting: never behind the setting, whatever it interleaves, cuts and recomputes") {
  int faster = 0, as_good = 0;
  auto small = model;
  small.layers = 16;
  for (std::uint64_t seed = 0; seed < 60; seed += round_step) {
    CAPTURE(seed);
    splitmix64 draw(seed);
    auto by = four_stages();
    by.model.spread.tensor = between(1, 2, draw);
    by.pipeline.stages = static_cast<std::uint64_t>(between(2, 4, draw));
    auto const chunks = static_cast<std::uint64_t>(between(1, 4, draw));
    by.pipeline.schedule = chunks == 1 ? schedule_named("1f1b") : schedule_named("interleaved", chunks);
    by.sequence = 1024 << between(0, 3, draw);
    by.micro_batches = between(1, 12, draw);
    by.recompute.what = static_cast<recompute_setting::kind>(between(0, 5, draw));
    if (by.recompute.what == modules) by.recompute.modules = {recompute_module::mlp};
    by.recompute.layers = between(1, 3, draw);
    if (between(0, 1, draw) == 0) {  // any cut with a layer in each chunk
      auto const cuts = by.pipeline.stages * chunks;
      std::vector<std::int64_t> layers(static_cast<std::size_t>(cuts), 1);
      for (auto left = small.layers - static_cast<std::int64_t>(cuts); left > 0; --left)
        ++layers[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(cuts) - 1, draw))];
      by.boundaries = cut_by_layers(small, layers);
    }
    auto const full = full_step_of(by);
    auto const judge = [&] { return judge_setting<std::uint32_t>(full.steps, full.packs, small, by, h100); };
    if (between(0, 2, draw) > 0) {  // just enough, or a little too little
      by.pipeline.memory = 0;
      for (auto const& m : judge().memory) by.pipeline.memory = (std::max)(by.pipeline.memory, m.bytes());
      by.pipeline.memory -= by.pipeline.memory / 50 * between(0, 1, draw);
    }
    auto const judged = judge();
    auto const best = improve_setting<std::uint32_t>(full.steps, full.packs, small, by, h100, judged);
    if (judged.status == status::feasible) {
      REQUIRE(best.status == status::feasible);
      REQUIRE(best.time.value <= judged.time.value);
    }
    (best.time.value < judged.time.value ? faster : as_good) += judged.status == status::feasible ? 1 : 0;
  }
  CHECK((round_step > 1 || (faster > 20 && as_good > 1)));  // few rounds may have neither
}

TEST_CASE("judge_setting: equal cuts, and cuts by numbers of layers") {
  auto by = four_stages();
  CHECK(boundaries_of(by, model) == std::vector<std::uint32_t>{0, 9, 17, 25, 34});
  by.pipeline.stages = 5;
  CHECK(boundaries_of(by, model) == std::vector<std::uint32_t>{0, 8, 15, 21, 27, 34});
  CHECK(cut_by_layers(model, std::vector<std::int64_t>{10, 22}) == std::vector<std::uint32_t>{0, 11, 34});
  CHECK_THROWS_AS(cut_by_layers(model, std::vector<std::int64_t>{10, 21}), invalid_input);
  CHECK_THROWS_AS(cut_by_layers(model, std::vector<std::int64_t>{10, 23}), invalid_input);
  CHECK_THROWS_AS(cut_by_layers(model, std::vector<std::int64_t>{-1, 33}), invalid_input);
  auto of_three = model;
  of_three.mtp_layers = 1;
  CHECK(cut_by_layers(of_three, std::vector<std::int64_t>{10, 22}) == std::vector<std::uint32_t>{0, 11, 35});
}

TEST_CASE("judge_setting: each form of recomputation keeps and repeats what it says") {
  auto by = four_stages();
  auto const kept = [&](recompute_setting const& again, std::size_t stage = 1) {
    by.recompute = again;
    return judge_setting(model, by, h100).stages.figures[stage];
  };
  auto const nothing = kept({}), all = kept({.what = uniform});
  CHECK(nothing.added == 0);
  auto const layer_keeps = nothing.activations / 8, layer_input = all.activations / 8, again = all.added / 8;  // 8 layers in stage 1
  CHECK(layer_input == 8192 * 2 * 4096 / 2);
  for (std::int64_t n = 1; n <= 8; ++n) {
    CHECK(kept({.what = block, .layers = n}).activations == n * layer_input + (8 - n) * layer_keeps);
    CHECK(kept({.what = block, .layers = n}).added == n * again);
    auto const unit = kept({.what = uniform, .layers = n});
    CHECK(unit.activations == (8 + n - 1) / n * layer_input);
    CHECK(unit.working == n * all.working);
    CHECK(unit.added == all.added);
    CHECK(kept({.what = alternate, .layers = n}).added == 8 / n * again);
  }
  CHECK(kept({.what = block, .layers = 9}) == all);
  auto const some = kept({.what = modules, .modules = {recompute_module::mlp}});
  CHECK(nothing.activations - some.activations == std::int64_t{8 * 8192} * (3 * 2 * 14336 / 2));
  // fused attention keeps no scores, but runs again if it is asked to
  auto const attention = kept({.what = modules, .modules = {recompute_module::core_attention}});
  CHECK((attention.activations == nothing.activations && attention.added > 0 && attention.added < all.added));
  CHECK(kept({.what = products}).activations == std::int64_t{8 * 8192} * (4 * 4096 + 1024 + 14336));
  CHECK(kept({.what = products}).added < all.added);
}

TEST_CASE("judge_setting: published memory of torchtitan and ms-swift, as the table of memory") {
  auto const check = [](std::vector<ballast_test::memory_row> const& rows) {
    for (auto const& row : rows) {
      if (row.window == 0) continue;
      training_setting by{.model = row.by};
      auto const policy = row.policy;
      by.recompute.what = policy == ballast_test::layer_policy::none   ? none
                          : policy == ballast_test::layer_policy::full ? uniform
                                                                       : products;
      by.sequence = row.tokens;
      by.micro_batches = 1000;
      by.pipeline = {.stages = (std::max)(row.stages.size(), std::size_t{1}), .memory = plenty};
      if (!row.stages.empty()) by.boundaries = cut_by_layers(row.model, std::vector<std::int64_t>(row.stages.begin(), row.stages.end()));
      std::int64_t most = 0;
      auto const judged = judge_setting(row.model, by, h100);
      for (std::size_t s = 0; s < judged.memory.size(); ++s)
        most = (std::max)(most, judged.memory[s].bytes() + ballast_test::fixed_bytes + (s == 0 ? 2 * row.unused_parameters : 0));
      CAPTURE(row.name, static_cast<double>(most) / ballast_test::gib, row.measured, ballast_test::computed(row).total());
      CHECK(std::abs(static_cast<double>(most) / ballast_test::gib / row.measured - 1) <= row.window);
    }
  };
  check(ballast_test::torchtitan_rows());
  check(ballast_test::megatron_swift_rows());
  check(ballast_test::deepspeed_swift_rows());
}

}  // namespace test_plan_judge_setting
