// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/train_shards.hpp>

#include <ballast/batching/plan_steps.hpp>
#include <ballast/batching/step_shards.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/plan/time_stages.hpp>
#include <ballast/sharding/make_shards.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace test_plan_train_shards {

namespace {

using namespace ballast;
using namespace ballast_test;

/// Forward takes 2 ns a token and 1 a square, backward twice that; a token takes 10 bytes.
layer some_layer() {
  return {.name = "layer",
          .forward = {.per_token = 2, .per_square = 1},
          .backward = {.per_token = 4, .per_square = 2},
          .state = 100,
          .options = {{.bytes = {.per_token = 10}}},
          .boundary = {.per_token = 8}};
}
constexpr std::int64_t ample = std::int64_t{1} << 50;

/// Time of a sample on `ranks` ranks under so many of these layers.
struct layers_cost {
  std::int64_t layers = 1;
  std::int64_t operator()(std::int64_t length, std::int64_t ranks) const {
    return layers * (6 * divide_up(length, ranks) + 3 * divide_up(length * length, ranks));
  }
};

training_plan plan_of(std::vector<shards<>> const& steps, std::vector<layer> const& layers, training_options const& o,
                      layer_rates const& rates = {}) {
  return plan_training<std::uint32_t>(steps, layers, o, rates);
}

/// Passes of random groups of ranks, with shared samples and, under `mixed`, whole ones beside them. Lengths divide by all groups.
shards<> draw_shards(splitmix64& draw, std::uint64_t ranks, execution policy) {
  auto const below = [&](std::uint64_t n) { return uniform_below(n, draw); };
  pass_list<> list;
  std::vector<std::int64_t> lengths;
  auto const passes = policy == execution::lockstep ? 1 + below(3) : 1 + below(8);
  for (std::uint64_t p = 0; p < passes; ++p) {
    std::vector<std::uint32_t> members;
    for (std::uint32_t r = 0; r < ranks; ++r)
      if (policy == execution::lockstep || below(2) == 0) members.push_back(r);
    if (members.empty()) members.push_back(0);
    list.ranks.push_back(members);
    auto const add = [&](std::uint32_t rank) {
      list.placements.push_back({static_cast<std::uint32_t>(lengths.size()), static_cast<std::uint32_t>(p), rank});
      lengths.push_back(24 * (1 + static_cast<std::int64_t>(below(9))));
    };
    if (policy != execution::lockstep || below(2) == 0) add(list.all_ranks);
    for (auto const r : members)
      if (policy != execution::independent && below(2) == 0) add(r);
  }
  auto out = make_shards(lengths, list, ranks, below(2) == 0 ? share_layout::zigzag : share_layout::contiguous);
  out.execution = policy;
  return out;
}
execution const policies[] = {execution::independent, execution::lockstep, execution::mixed};

}  // namespace

TEST_CASE("plan_training: with one stage, a step of shards takes the makespan of time_shards") {
  splitmix64 draw(3);
  for (int round = 0; round < 400; round += round_step) {
    CAPTURE(round);
    auto const ranks = 1 + uniform_below(4, draw);
    std::vector<shards<>> steps;
    for (std::uint64_t s = uniform_below(4, draw); s-- > 0;) steps.push_back(draw_shards(draw, ranks, policies[uniform_below(3, draw)]));
    std::vector<layer> layers(3, some_layer());
    auto const each = round % 2 == 0 ? 0 : between(1, 5000, draw);  // that each rank pays for each of its passes
    layers[1].forward.per_batch = each / 3;
    layers[1].backward.per_batch = each - each / 3;
    auto const plan = plan_of(steps, layers, {.stages = 1, .memory = ample});
    REQUIRE(plan.status == status::feasible);
    REQUIRE(plan.steps.size() == steps.size());
    std::int64_t all = 0, busy = 0;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      auto const times = time_shards(steps[s], layers_cost{3}, each);
      CHECK(plan.steps[s] == times.makespan);
      all += times.makespan;
      busy += std::accumulate(times.busy.begin(), times.busy.end(), std::int64_t{0});
    }
    CHECK(plan.time.value == all);
    CHECK(plan.time.lower_bound <= all);
    if (steps.empty()) continue;
    CHECK(plan.shares.total() == all * static_cast<std::int64_t>(ranks));
    CHECK(plan.shares.work == busy);
    CHECK(plan.shares.waiting == all * static_cast<std::int64_t>(ranks) - busy);
  }
}

TEST_CASE("plan_training: a pass on several ranks is as the same pass alone, through all stages of any schedule") {
  auto const one = [](std::uint64_t ranks, std::int64_t length) {
    pass_list<> list;
    for (std::uint32_t m = 0; m < 4; ++m) {
      std::vector<std::uint32_t> members(static_cast<std::size_t>(ranks));
      std::iota(members.begin(), members.end(), 0U);
      list.ranks.push_back(members);
      list.placements.push_back({m, m});
    }
    return make_shards(std::vector<std::int64_t>(4, length), list, ranks);
  };
  for (auto const* name : {"gpipe", "1f1b", "interleaved"}) {
    CAPTURE(name);
    training_options const o{.stages = 2, .memory = ample, .schedule = schedule_named(name)};
    std::vector<layer> only_tokens(8, some_layer());
    for (auto& l : only_tokens) l.forward.per_square = l.backward.per_square = 0;
    layer_rates const rates{.link_bytes_per_ms = 2'000'000};
    // A sample on four ranks is a quarter of it on one.
    CHECK(plan_of({one(4, 400)}, only_tokens, o, rates).steps == plan_of({one(1, 100)}, only_tokens, o, rates).steps);
  }
}

TEST_CASE("plan_training: no rank is faster than by itself, no pass needs more memory, and the shares add up") {
  splitmix64 draw(5);
  int waited = 0;
  for (int round = 0; round < 300; round += round_step) {
    char const* const names[] = {"gpipe", "1f1b", "interleaved", "zb1p", "zb2p", "zbv"};
    training_options const o{.stages = 1 + uniform_below(3, draw), .memory = ample, .schedule = schedule_named(names[round % 6])};
    auto const ranks = 1 + uniform_below(4, draw);
    CAPTURE(round, o.stages, ranks);
    std::vector<shards<>> const steps{draw_shards(draw, ranks, policies[uniform_below(3, draw)]),
                                      draw_shards(draw, ranks, execution::mixed)};
    std::vector<layer> const layers(7, some_layer());
    layer_rates const rates{.link_bytes_per_ms = 3'000'000};
    auto const plan = plan_of(steps, layers, o, rates);
    REQUIRE(plan.status == status::feasible);
    CHECK(plan.shares.total() == plan.time.value * static_cast<std::int64_t>(ranks * o.stages));
    CHECK(plan.time.lower_bound <= plan.time.value);
    CHECK(plan.shares.waiting >= 0);
    CHECK(plan.shares.bubble >= 0);

    for (std::size_t s = 0; s < steps.size(); ++s) {
      auto const sizes = shapes_of(steps[s]);
      for (std::size_t r = 0; r < ranks; ++r) {
        batching<> own;
        std::vector<batch_shape> mine;
        for (auto p = static_cast<std::size_t>(steps[s].rank_offsets[r]); p < steps[s].rank_offsets[r + 1]; ++p) {
          if (steps[s].of_pass(p).empty()) continue;
          own.table.push_back(static_cast<std::uint32_t>(mine.size()));
          own.packs.push_back(std::vector<std::uint32_t>{own.table.back()});
          mine.push_back(sizes[p]);
        }
        if (mine.empty()) continue;
        own.micro_batches = own.table.size();
        auto const bytes = std::accumulate(plan.memory.begin(), plan.memory.end(), std::int64_t{0},
                                           [](std::int64_t sum, stage_memory const& m) { return sum + m.bytes(); });
        auto const& l = layers.front();
        for (auto const& size : mine)  // all stages together hold the activations of a pass
          CHECK(bytes >= static_cast<std::int64_t>(layers.size()) * (l.state + l.options[0].bytes(size)));
        auto const alone = time_stages<std::uint32_t>(own, mine, layers, plan.stages.partition.boundaries, o, rates);
        CHECK(plan.steps[s] >= alone.steps[0]);
        for (std::size_t k = 0; k < o.stages; ++k) CHECK(plan.memory[k].bytes() >= alone.memory[k].bytes());
      }
    }
    waited += plan.shares.waiting > 0 ? 1 : 0;
  }
  CHECK(waited > 0);
}

TEST_CASE("plan_training: shards that share nothing give the plan of their steps") {
  splitmix64 draw(8);
  for (auto const* name : {"gpipe", "1f1b", "interleaved", "zb1p", "zb2p", "zbv"}) {
    CAPTURE(name);
    std::vector<std::int64_t> lengths;
    for (int i = 0; i < 90; ++i) lengths.push_back(1 + static_cast<std::int64_t>(uniform_below(60, draw)));
    auto const steps = plan_steps(lengths, {.capacity = 64, .ranks = 3, .micro_batches = 4}, quadratic_cost{.linear = 1});
    REQUIRE(steps.shared.empty());
    std::vector<shards<>> as_shards;
    for (std::size_t s = 0; s < steps.steps(); ++s) as_shards.push_back(shards_of(steps, s, lengths));
    std::vector<layer> const layers(6, some_layer());
    training_options const o{.stages = 2, .memory = ample, .schedule = schedule_named(name)};
    auto const shapes = shapes_of(steps.packs, std::span<std::int64_t const>(lengths));
    auto const plan = plan_of(as_shards, layers, o), expected = plan_training<std::uint32_t>(steps, shapes, layers, o, {});
    CHECK(plan.steps == expected.steps);
    CHECK(plan.shares == expected.shares);
    CHECK(plan.memory == expected.memory);
    CHECK(plan.mean == expected.mean);
    CHECK(plan.timeline.events == expected.timeline.events);
  }
}

TEST_CASE("plan_training: steps with shared samples enter as shards, and nowhere else") {
  std::vector<std::int64_t> const lengths{8000, 300, 500, 700, 1000, 900, 800, 400};
  auto const steps =
      plan_steps(lengths, {.capacity = 1000, .ranks = 8, .micro_batches = 2}, quadratic_cost{.linear = 1}, {.most_ranks_shared = 8});
  REQUIRE_FALSE(steps.shared.empty());
  std::vector<layer> const layers(4, some_layer());
  auto const shapes = shapes_of(steps.packs, std::span<std::int64_t const>(lengths));
  CHECK(refusal([&] { return plan_training<std::uint32_t>(steps, shapes, layers, {.stages = 2, .memory = ample}, {}); }) ==
        "sample " + std::to_string(steps.shared[0].sample) +
            " is shared by ranks: make `shards_of` every step, and plan them with `plan_training` of plan/train_shards.hpp");
  std::vector<shards<>> as_shards;
  for (std::size_t s = 0; s < steps.steps(); ++s) as_shards.push_back(shards_of(steps, s, lengths));
  auto const plan = plan_of(as_shards, layers, {.stages = 2, .memory = ample});
  CHECK(plan.status == status::feasible);
  CHECK(plan.largest.tokens <= 1000);
  CHECK(plan.largest.squares >= 8'000'000);  // an eighth of the squares of 8,000 tokens
  // The largest pass decides whether it fits.
  auto const most =
      std::max_element(plan.memory.begin(), plan.memory.end(), [](auto const& a, auto const& b) { return a.bytes() < b.bytes(); })->bytes();
  CHECK(plan_of(as_shards, layers, {.stages = 2, .memory = most}).status == status::feasible);
  CHECK(plan_of(as_shards, layers, {.stages = 2, .memory = 1000 * 10}).status == status::infeasible);
}

TEST_CASE("plan_training: shards whose groups meet in another order on each rank run in every pipeline") {
  // The first group is in the first pass of both ranks, the second in the second pass of rank 0 and the fourth of rank 1. Under 1F1B of
  // three stages, ranks with their own numbers of micro-batches would wait for each other for ever.
  std::vector<std::int64_t> const lengths{20, 20, 10, 10};
  pass_list<> list;
  std::vector<std::uint32_t> const both{0, 1}, second{1};
  for (auto const& members : {both, second, second, both}) list.ranks.push_back(members);
  list.placements = {{0, 0}, {1, 3}, {2, 1}, {3, 2}};
  std::vector<layer> layers(3, some_layer());
  for (auto& l : layers) l.forward.per_square = l.backward.per_square = 0;
  auto const plan = plan_of({make_shards(lengths, list, 2)}, layers, {.stages = 3, .memory = ample});
  // Each of the four micro-batches has 10 tokens on rank 1: 20 ns forward, 40 backward; stages wait (3 - 1) of them at first and last.
  CHECK(plan.steps == std::vector<std::int64_t>{(4 + 2) * 60});
}

TEST_CASE("plan_training: a language model for shards, and what is refused") {
  auto const model = transformer_preset("llama-3.1-8b");
  pass_list<> list;
  list.ranks.push_back(std::vector<std::uint32_t>{0, 1, 2, 3});
  list.placements = {{0, 0}};
  std::vector<std::int64_t> const lengths{65536};
  std::vector<shards<>> steps{make_shards(lengths, list, 4)};
  std::span<shards<> const> const of(steps);
  training_options const o{.stages = 2, .memory = std::int64_t{80} << 30};
  auto const plan = plan_training(of, o, model, {}, {.spread = {.data = 4, .zero = 1}});
  CHECK(plan.status == status::feasible);
  CHECK(plan.largest == batch_shape{.tokens = 16384, .squares = std::int64_t{1} << 30});
  CHECK(refusal([&] { return plan_training(of, o, model, {}, {.spread = {.context = 2, .data = 4}}); }) ==
        "spread.context = 2 must be 1: the shards say which ranks share samples");

  std::vector<layer> const layers{some_layer()};
  auto const told = [&] { return refusal([&] { return plan_of(steps, layers, {.stages = 1, .memory = ample}); }); };
  steps.push_back(make_shards(lengths, list, 5));
  CHECK(told() == "steps[1] has 5 ranks, steps[0] has 4");
  steps[1].status = status::infeasible;
  CHECK(told() == "steps[1] is no plan: it is infeasible");
  steps = {shards<>{}};
  CHECK(told() == "steps[0] has no ranks");
}

}  // namespace test_plan_train_shards
