// SPDX-License-Identifier: Apache-2.0
#include <ballast/partition/min_max.hpp>
#include <ballast/pipeline/simulate.hpp>
#include <ballast/staging/check.hpp>
#include <ballast/staging/chunks.hpp>
#include <ballast/staging/joint.hpp>

#include "chunk_suite.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace test_staging_chunks {

using namespace ballast;
using namespace ballast_test;

TEST_CASE("plan_chunks: against every plan of small chains: bound, optimum and value in this order, and no false refusal") {
  int feasible = 0, infeasible = 0, unknown = 0, missed = 0, best = 0, proven = 0;
  for (std::uint64_t seed = 0; seed < 800; seed += round_step) {
    CAPTURE(seed);
    auto const c = random_chunk_case(seed, true, 8);
    auto const plan = plan_chunks(std::span<stage_layer const>(c.layers), c.held, c.options(), {.work = little_work});
    auto const verdict = check_chunks(plan, std::span<stage_layer const>(c.layers), c.held, c.options());
    INFO(describe(verdict));
    REQUIRE(verdict.valid());
    auto const least = try_all_chunks(c);
    // A search that ends early leaves the bound to do.
    auto const first = plan_chunks(std::span<stage_layer const>(c.layers), c.held, c.options(), {.work = 0}).partition;
    if (first.status == status::infeasible) REQUIRE_FALSE(least.has_value());
    if (first.status == status::feasible) REQUIRE((least && first.bottleneck.lower_bound <= *least && first.bottleneck.value >= *least));
    if (plan.partition.status == status::infeasible) REQUIRE_FALSE(least.has_value());
    if (plan.partition.status != status::feasible) {
      ++(plan.partition.status == status::infeasible ? infeasible : least ? missed : unknown);
      continue;
    }
    REQUIRE(least.has_value());
    REQUIRE(plan.partition.bottleneck.lower_bound <= *least);
    REQUIRE(plan.partition.bottleneck.value >= *least);
    ++feasible;
    best += plan.partition.bottleneck.value == *least ? 1 : 0;
    proven += plan.partition.bottleneck.optimal() ? 1 : 0;
  }
  CAPTURE(feasible, infeasible, unknown, missed, best, proven);
  CHECK((feasible > 300 / round_step && infeasible > 60 / round_step && unknown < 30 && missed <= 2 && 100 * best >= 98 * feasible &&
         3 * proven > feasible));
}

TEST_CASE("plan_chunks: cuts that are not moved are those of equal times, and what they recompute fits") {
  int feasible = 0, unknown = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    auto const c = random_chunk_case(seed, true, 8);
    auto fixed = c.options();
    fixed.move_cuts = false;
    auto const plan = plan_chunks(std::span<stage_layer const>(c.layers), c.held, fixed, {.work = little_work});
    auto const verdict = check_chunks(plan, std::span<stage_layer const>(c.layers), c.held, fixed);
    INFO(describe(verdict));
    REQUIRE(verdict.valid());
    std::vector<std::int64_t> time;
    for (auto const& l : c.layers) time.push_back(l.time);
    auto const even = min_max_partition<std::uint32_t>(time, {.stages = c.held.stage_of.size(), .min_layers = fixed.min_layers});
    REQUIRE((plan.partition.status == status::infeasible) == (even.status == status::infeasible));
    unknown += plan.partition.status == status::unknown ? 1 : 0;
    if (plan.partition.status != status::feasible) continue;
    REQUIRE(plan.partition.boundaries == even.boundaries);
    auto const least = try_all_chunks(c);
    REQUIRE(least.has_value());
    REQUIRE(plan.partition.bottleneck.value >= *least);
    REQUIRE(plan.partition.bottleneck.lower_bound <= *least);
    ++feasible;
  }
  CAPTURE(feasible, unknown);
  CHECK((feasible > 60 && unknown > 20));
}

TEST_CASE("plan_chunks: with one chunk a stage, never better than plan_stages, and mostly as good") {
  int feasible = 0, best = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    auto const c = random_staging_case(seed, 30, 4);
    chunks_in_flight held;
    for (std::size_t s = 0; s < c.capacity.size(); ++s) {
      held.stage_of.push_back(static_cast<std::uint32_t>(s));
      held.held.push_back({c.in_flight[s]});
    }
    auto const exact = plan_stages(fold_layers(c.layers), c.options());
    auto const plan =
        plan_chunks(std::span<stage_layer const>(c.layers), held,
                    {.capacity = c.capacity, .min_layers = c.min_layers, .hidden_percent = c.hidden_percent}, {.work = little_work});
    if (exact.partition.status != status::feasible) REQUIRE(plan.partition.status != status::feasible);
    if (plan.partition.status == status::infeasible) REQUIRE(exact.partition.status == status::infeasible);
    if (plan.partition.status != status::feasible) continue;
    REQUIRE(exact.partition.bottleneck.optimal());
    REQUIRE(plan.partition.bottleneck.value >= exact.partition.bottleneck.value);
    REQUIRE(plan.partition.bottleneck.lower_bound <= exact.partition.bottleneck.value);
    auto const same = joint_stages<>{plan.partition, plan.figures, plan.option, 0};
    REQUIRE(check_stages(same, fold_layers(c.layers), c.options()).valid());  // the same rules
    ++feasible;
    best += plan.partition.bottleneck.value == exact.partition.bottleneck.value ? 1 : 0;
  }
  CAPTURE(feasible, best);
  CHECK((feasible > 25 && 10 * best >= 9 * feasible));
}

TEST_CASE("plan_chunks: what the simulator measures is within the plan's memory, whatever the times") {
  int feasible = 0, exact = 0;
  for (std::uint64_t seed = 1000; seed < 1300; seed += round_step) {
    CAPTURE(seed);
    auto const c = random_chunk_case(seed, false, 30);
    auto const plan = plan_chunks(std::span<stage_layer const>(c.layers), c.held, c.options(), {.work = little_work});
    if (plan.partition.status != status::feasible) continue;
    ++feasible;
    splitmix64 draw(seed);
    auto const& cuts = plan.partition.boundaries;
    std::vector<stage_work> works;
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
      stage_work one{.forward = between(0, 20, draw), .backward = between(0, 20, draw), .weight = between(0, 20, draw)};
      one.transfer = between(0, 9, draw);
      for (auto i = cuts[k]; i < cuts[k + 1]; ++i) {
        one.kept += c.layers[i].options[plan.option[i]].memory;
        one.recomputed = (std::max)(one.recomputed, c.layers[i].working);
      }
      one.residue = one.kept;
      works.push_back(one);
    }
    auto const timeline = simulate_pipeline(c.schedule, {.stages = c.stages, .micro_batches = c.micro_batches},
                                            [&](std::uint64_t k, std::uint64_t) { return works[static_cast<std::size_t>(k)]; });
    for (std::size_t s = 0; s < c.stages; ++s) {
      auto const& of = plan.figures[s];
      REQUIRE(of.state + timeline.stages[s].peak_memory <= of.memory);
      REQUIRE(of.memory <= c.capacity[s]);
      exact += of.state + timeline.stages[s].peak_memory == of.memory ? 1 : 0;
    }
  }
  CAPTURE(feasible, exact);
  CHECK((feasible > 100 / round_step && exact > 100 / round_step));  // the plan's memory is no more than some stages need
}

TEST_CASE("plan_chunks: less work and another seed leave valid plans; the same request has the same plan") {
  for (std::uint64_t seed = 40; seed < 80; seed += round_step) {
    CAPTURE(seed);
    auto const c = random_chunk_case(seed, false, 40);
    std::span<stage_layer const> const layers(c.layers);
    auto options = c.options();
    auto const whole = plan_chunks(layers, c.held, options, {.work = little_work});
    auto const again = plan_chunks(layers, c.held, options, {.work = little_work});
    REQUIRE(whole.partition == again.partition);
    REQUIRE(whole.option == again.option);
    options.seed = 7;
    REQUIRE(check_chunks(plan_chunks(layers, c.held, options, {.work = little_work}), layers, c.held, options).valid());
    auto const least = plan_chunks(layers, c.held, options, {.work = 0});
    REQUIRE(check_chunks(least, layers, c.held, options).valid());
    if (least.partition.status != status::feasible || whole.partition.status != status::feasible) continue;
    REQUIRE(least.partition.bottleneck.value >= whole.partition.bottleneck.lower_bound);
    REQUIRE(whole.partition.bottleneck.value >= least.partition.bottleneck.lower_bound);
  }
}

TEST_CASE("plan_chunks: a V puts the head on the first stage, which then has fewer other layers") {
  std::vector<stage_layer> layers(8, {.time = 10, .options = {{.memory = 1}}});
  layers.push_back({.time = 30, .options = {{.memory = 1}}});
  std::vector<std::int64_t> const capacity(2, 100);
  auto const plan = plan_chunks(std::span<stage_layer const>(layers), held_by_chunk(zbv_schedule{}, 2, 8), {.capacity = capacity});
  CHECK(plan.partition.bottleneck.value == 60);  // 110 in all, in tens
  CHECK(plan.partition.bottleneck.lower_bound == 55);
  CHECK(plan.figures[0].time + plan.figures[1].time == 110);
}

TEST_CASE("plan_chunks: corners and refusals") {
  std::vector<std::int64_t> capacity{50, 50};
  auto held = held_by_chunk(interleaved_schedule{.chunks = 2}, 2, 4);
  std::vector<stage_layer> layers(3, {.time = 7, .options = {{.memory = 5}}});
  auto const plan = [&](std::uint64_t min_layers) {
    return plan_chunks(std::span<stage_layer const>(layers), held, {.capacity = capacity, .min_layers = min_layers});
  };
  CHECK(plan(1).partition.bound == partition_bound::min_layers);
  CHECK(plan(0).partition.bottleneck == certificate{14, 11});
  layers.clear();
  CHECK(plan(0).partition.boundaries == std::vector<std::uint32_t>(5));
  layers.assign(6, {.time = 7, .state = 30, .options = {{.memory = 5}}});
  CHECK(plan(1).partition.status == status::infeasible);  // 180 bytes of states
  auto const sentence = [&] { return refusal([&] { return plan(1); }); };
  layers[0].options[0].memory = std::int64_t{1} << 55;
  CHECK(sentence() == "runs[0] brings the bytes of all micro-batches held, 4 at most, above 2^56");
  layers[0].options.clear();
  CHECK(sentence() == "class 0 has no options");
  layers[0].options.resize(1);
  held.held[1].pop_back();
  CHECK(sentence() == "held[1] has 3 numbers, no rows for 2 chunks");
  held.stage_of[2] = 2;
  CHECK(sentence() == "stage_of[2] = 2 must be below 2, the number of stages");
  capacity.pop_back();
  CHECK(sentence() == "capacity has 1 and held 2 entries, stage_of 4; the first two must be equal and not 0, the last at most 2^24");
}

}  // namespace test_staging_chunks
