// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/time_stages.hpp>

#include <ballast/batching/result.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/cluster.hpp>
#include <ballast/staging/chunks.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace test_plan_time_stages {

namespace {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;
using cut = std::vector<std::uint32_t>;

/// Steps of packs of one sample each, and the sizes of the packs.
struct some_steps {
  batching<> steps;
  std::vector<batch_shape> packs;
  some_steps(std::uint32_t count, std::uint64_t ranks, std::uint64_t micro_batches) {
    steps.ranks = ranks;
    steps.micro_batches = micro_batches;
    splitmix64 draw(3);
    for (std::uint32_t p = 0; p < count * ranks * micro_batches; ++p) {
      steps.packs.push_back(std::vector{p});
      steps.table.push_back(p);
      auto const tokens = between(100, 4096, draw);
      packs.push_back({.tokens = tokens, .squares = tokens * tokens, .tiles = between(0, 9, draw)});
    }
  }
};
/// Each layer with the option that a plan takes.
std::vector<layer> taken(std::vector<layer> layers, joint_stages<> const& plan) {
  for (std::size_t i = 0; i < layers.size(); ++i) layers[i].options = {layer_option(layers[i].options[plan.option[i]])};
  return layers;
}
auto const rates = rates_of({.device = device_named("a100")}, 8);
model_setting const by{.spread = {.tensor = 4, .data = 2, .zero = 1}};

}  // namespace

TEST_CASE("time_stages: the stages of a plan have the plan's times and memory") {
  some_steps const data(3, 2, 4);
  auto const layers = layers_of(vision_language_preset("internvl-chat-1.5"), by);
  for (auto const* const name : {"1f1b", "gpipe", "interleaved", "zb1p", "zbv"}) {
    CAPTURE(name);
    training_options const o{.stages = 4, .memory = 150'000'000'000, .schedule = schedule_named(name)};
    auto const plan = plan_training<std::uint32_t>(data.steps, data.packs, layers, o, rates);
    REQUIRE(plan.status == status::feasible);
    auto const timed =
        time_stages<std::uint32_t>(data.steps, data.packs, taken(layers, plan.stages), plan.stages.partition.boundaries, o, rates);
    CHECK(timed.status == status::feasible);
    CHECK(timed.steps == plan.steps);
    CHECK(timed.time == plan.time);
    CHECK(timed.shares == plan.shares);
    CHECK(timed.memory == plan.memory);
    CHECK(timed.in_flight == plan.in_flight);
    CHECK(timed.stages.partition.bottleneck.value == plan.stages.partition.bottleneck.value);
    CHECK(timed.stages.partition.bottleneck.lower_bound <= timed.stages.partition.bottleneck.value);
  }
}

TEST_CASE("time_stages: with several chunks, a plan is no slower than chunks of equal time, nor than the moved ones") {
  some_steps const data(2, 2, 8);
  auto const layers = layers_of(transformer_preset("llama-3.1-8b"), {.spread = {.data = 2, .zero = 1}});
  std::vector<std::int64_t> const capacity(4, 45'000'000'000);
  int even_better = 0, moved_better = 0;
  for (auto const& schedule :
       {any_schedule{interleaved_schedule{.chunks = 2}}, any_schedule{interleaved_schedule{.chunks = 4}}, any_schedule{zbv_schedule{}}}) {
    training_options const o{.stages = 4, .memory = capacity[0], .schedule = schedule};
    auto const plan = plan_training<std::uint32_t>(data.steps, data.packs, layers, o, rates);
    REQUIRE(plan.status == status::feasible);
    auto const held = held_by_chunk(schedule, 4, 8);
    std::vector<std::int64_t> times;
    for (auto const moved : {false, true}) {
      auto const stages = plan_chunks<>(plan.layers, held, {.capacity = capacity, .move_cuts = moved});
      REQUIRE(stages.partition.status == status::feasible);
      times.push_back(
          time_stages<std::uint32_t>(data.steps, data.packs, taken(layers, stages), stages.partition.boundaries, o, rates).time.value);
    }
    CHECK(plan.time.value == (std::min)(times[0], times[1]));
    even_better += times[0] < times[1] ? 1 : 0;
    moved_better += times[1] < times[0] ? 1 : 0;
  }
  CHECK(even_better > 0);
  CHECK(moved_better > 0);
}

TEST_CASE("time_stages: too little memory is an answer with times") {
  some_steps const data(2, 2, 4);
  auto const layers = layers_of(vision_language_preset("internvl-chat-1.5"), by);
  cut const by_parameters{0, 49, 65, 81, 97};
  auto const timed = [&](std::int64_t memory) {
    return time_stages<std::uint32_t>(data.steps, data.packs, layers, by_parameters, {.stages = 4, .memory = memory}, rates);
  };
  auto const roomy = timed(std::int64_t{1} << 50);
  REQUIRE(roomy.status == status::feasible);
  std::int64_t most = 0;
  for (auto const& m : roomy.memory) most = (std::max)(most, m.bytes());
  CHECK(timed(most).status == status::feasible);
  CHECK(timed(most - 1).status == status::infeasible);
  CHECK(timed(most - 1).time == roomy.time);
  CHECK(timed(most - 1).memory.size() == 4);
}

TEST_CASE("time_stages: bad cuts are named") {
  some_steps const data(1, 1, 1);
  auto const layers = layers_of(vision_language_preset("internvl-chat-1.5"), by);
  for (auto const& boundaries : {cut{0, 49, 97}, cut{0, 49, 40, 97}, cut{1, 49, 60, 97}, cut{0, 0, 60, 97}, cut{0, 49, 60, 96}, cut{}})
    CHECK(refusal([&] { return time_stages<std::uint32_t>(data.steps, data.packs, layers, boundaries, {.stages = 3}, rates); }) ==
          "boundaries must be 4 numbers that rise from 0 to the number of layers, 97");
  CHECK(refusal([&] { return time_stages<std::uint32_t>(data.steps, data.packs, layers, cut{0, 97}, {.stages = 0}, rates); }) ==
        "stages = 0 must be in 1 ... 2^20");
  CHECK(refusal([&] { return time_stages<std::uint32_t>(data.steps, {}, layers, cut{0, 97}, {.stages = 1}, rates); }) ==
        "packs has 0 entries for 1 packs");
}

}  // namespace test_plan_time_stages
