// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/plan_training.hpp>

#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/plan_steps.hpp>
#include <ballast/core/hash.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/packing/next_fit.hpp>
#include <ballast/pipeline/check.hpp>
#include <ballast/plan/export/describe.hpp>
#include <ballast/staging/check.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace test_plan_plan_training {

namespace {

using namespace ballast;
using namespace ballast_test;

/// A layer of 2 + 4 ns a token that keeps 10 bytes of each, or 3 for 2 ns more.
layer some_layer(std::string name) {
  return {.name = std::move(name),
          .forward = {.per_token = 2},
          .backward = {.per_token = 4},
          .state = 100,
          .options = {{.bytes = {.per_token = 10}}, {recomputation::full, {.per_token = 3}, {.per_token = 2}}},
          .boundary = {.per_token = 8}};
}
std::vector<layer> equal_layers(std::size_t n) {
  std::vector<layer> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(some_layer("layer " + std::to_string(i)));
  return out;
}
/// Steps of packs of one sample each, one after the other; 0 leaves a place empty.
batching<> steps_of(std::vector<std::int64_t> const& tokens, std::uint64_t ranks, std::uint64_t micro_batches) {
  batching<> out;
  out.ranks = ranks;
  out.micro_batches = micro_batches;
  std::uint32_t pack = 0;
  for (std::uint32_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] != 0) out.packs.push_back(std::vector{i});
    out.table.push_back(tokens[i] == 0 ? out.none : pack++);
  }
  return out;
}
training_plan plan_of(batching<> const& steps, std::vector<std::int64_t> const& tokens, std::vector<layer> const& layers,
                      training_options const& o, layer_rates const& rates = {}) {
  return plan_training<std::uint32_t>(steps, shapes_of(steps.packs, std::span<std::int64_t const>(tokens)), layers, o, rates);
}
constexpr std::int64_t ample = std::int64_t{1} << 50;

std::uint64_t hash_of(training_plan const& plan) {
  fnv1a h;
  for (auto const b : plan.stages.partition.boundaries) h.append(b);
  for (auto const o : plan.stages.option) h.append(o);
  for (auto const s : plan.steps) h.append(static_cast<std::uint64_t>(s));
  for (auto const& m : plan.memory) h.append(static_cast<std::uint64_t>(m.bytes()));
  for (auto const part : {plan.shares.work, plan.shares.recompute, plan.shares.bubble, plan.shares.waiting, plan.time.lower_bound})
    h.append(static_cast<std::uint64_t>(part));
  return h.value();
}

/// Layers, steps and a budget that is tight or not; all of it drawn.
struct some_training {
  std::vector<layer> layers;
  layer_rates rates;
  std::vector<std::int64_t> tokens;
  batching<> steps;
  training_options options;
};
some_training draw_training(splitmix64& draw) {
  some_training out;
  auto const below = [&](std::uint64_t n) { return static_cast<std::int64_t>(uniform_below(n, draw)); };
  auto const layers = 1 + below(9);
  for (std::int64_t i = 0; i < layers; ++i) {
    auto made = some_layer("l" + std::to_string(i));
    made.forward = {.per_token = below(5), .per_square = below(2)};
    made.backward = {.per_token = below(9), .per_square = below(3)};
    made.options[1].work = made.forward;
    made.options[0].bytes.per_token = 3 + below(20);
    if (below(2) == 0) {  // a byte takes a nanosecond, on every link and in memory
      made.working.per_token = below(30);
      made.buffers = below(100);
      made.updated = below(50);
      made.apart = below(40);
      rank_group const pair{2, 1};
      made.exchanges = {
          {.what = traffic::tensor,
           .how = collective::all_reduce,
           .over = pair,
           .when = exchange_phase::forward,
           .bytes = 0,
           .bytes_of_batch = {.per_token = 2 * below(3)},
           .calls = 1 + below(2)},
          {.what = traffic::parameter,
           .how = collective::all_gather,
           .over = pair,
           .when = exchange_phase::forward,
           .bytes = 2 * below(20)},
          {.what = traffic::gradient,
           .how = collective::reduce_scatter,
           .over = pair,
           .when = exchange_phase::backward,
           .bytes = 2 * below(20)},
          {.what = traffic::gradient,
           .how = collective::reduce_scatter,
           .over = pair,
           .when = exchange_phase::step,
           .bytes = 2 * below(30)},
      };
    }
    out.layers.push_back(made);
  }
  out.rates.link_bytes_per_ms = below(2) * 3'000'000;
  out.rates.links.inside = link_line{0, 1'000'000'000};
  out.rates.memory_bytes_per_ms = 1'000'000;
  auto const ranks = 1 + below(3), micro_batches = 1 + below(6), steps = below(4);
  for (std::int64_t i = 0; i < ranks * micro_batches * steps; ++i) {
    auto const empty = below(8) == 0;
    auto const length = 1 + below(40);
    out.tokens.push_back(empty ? 0 : length);
  }
  out.steps = steps_of(out.tokens, static_cast<std::uint64_t>(ranks), static_cast<std::uint64_t>(micro_batches));
  out.options.stages = 1 + static_cast<std::uint64_t>(below(4));
  char const* const names[] = {"gpipe", "1f1b", "zb1p", "zb2p"};
  out.options.schedule = schedule_named(names[below(4)]);
  out.options.memory = 100 + below(9000);
  return out;
}

}  // namespace

TEST_CASE("plan_training: steps, shares, memory and stages are what their definitions say") {
  splitmix64 draw(21);
  int feasible = 0, tight = 0, recomputed = 0;
  for (int round = 0; round < 600; round += round_step) {
    auto const of = draw_training(draw);
    CAPTURE(round);
    auto const plan = plan_of(of.steps, of.tokens, of.layers, of.options, of.rates);
    auto const stages = static_cast<std::size_t>(of.options.stages);
    if (plan.status != status::feasible) {
      CHECK((plan.steps.empty() && plan.memory.empty() && plan.stages.partition.boundaries.empty()));
      if (of.layers.size() < stages) {
        CHECK(plan.shortage == memory_shortage{});
        continue;
      }
      ++tight;  // with what is needed there is a plan, with a byte less there is none
      CHECK(plan.shortage.budget == of.options.memory);
      CHECK(plan.shortage.needed > of.options.memory);
      CHECK(plan.shortage.stage < stages);
      auto enough = of.options;
      enough.memory = plan.shortage.needed;
      CHECK(plan_of(of.steps, of.tokens, of.layers, enough, of.rates).status == status::feasible);
      --enough.memory;
      CHECK(plan_of(of.steps, of.tokens, of.layers, enough, of.rates).shortage.needed == plan.shortage.needed);
      continue;
    }
    ++feasible;
    recomputed += std::count(plan.stages.option.begin(), plan.stages.option.end(), 1U) > 0 ? 1 : 0;

    // Every timeline once more, by the simulator and the options alone.
    auto const& cuts = plan.stages.partition.boundaries;
    auto const splits = std::visit([](auto const& s) { return s.splits_backward; }, of.options.schedule);
    std::int64_t all = 0, work = 0, again = 0, exchanged = 0, last = 0;
    std::vector<std::int64_t> ends(stages), updates(stages);
    for (std::size_t k = 0; k < stages; ++k) {
      for (auto i = static_cast<std::size_t>(cuts[k]); i < cuts[k + 1]; ++i) {
        updates[k] += of.layers[i].updated;
        for (auto const& e : of.layers[i].exchanges) ends[k] += e.when == exchange_phase::step ? e.bytes / 2 : 0;
      }
      last = (std::max)(last, ends[k] + updates[k]);
    }
    CHECK(plan.end_of_step == last);
    for (std::size_t s = 0; s < of.steps.steps(); ++s) {
      std::int64_t slowest = 0;
      for (std::size_t r = 0; r < of.steps.ranks; ++r) {
        std::vector<std::int64_t> mine;
        for (std::size_t m = 0; m < of.steps.micro_batches; ++m)
          if (auto const n = of.tokens[(s * of.steps.ranks + r) * of.steps.micro_batches + m]; n > 0) mine.push_back(n);
        if (mine.empty()) continue;
        auto const waits_at = [&](std::uint64_t k, batch_shape const& batch) {
          std::pair<std::int64_t, std::int64_t> waits{};
          for (auto i = static_cast<std::size_t>(cuts[k]); i < cuts[k + 1]; ++i)
            for (auto const& e : of.layers[i].exchanges) {
              auto const sent = (e.bytes + e.bytes_of_batch(batch)) * e.calls / (e.how == collective::all_reduce ? 1 : 2);
              if (e.when == exchange_phase::backward) waits.second += sent;
              if (e.when != exchange_phase::forward) continue;
              waits.first += sent;  // and once more where all is recomputed, but for parameters
              if (plan.stages.option[i] == 1 && e.what != traffic::parameter) waits.second += sent;
            }
          return waits;
        };
        auto const stage_at = [&](std::uint64_t k, std::uint64_t m) {
          auto const n = mine[static_cast<std::size_t>(m)];
          batch_shape const batch{.tokens = n, .squares = n * n, .tiles = 0};
          stage_work w;
          for (auto i = static_cast<std::size_t>(cuts[k]); i < cuts[k + 1]; ++i) {
            auto const& layer = of.layers[i];
            w.forward += layer.forward(batch);
            w.backward += layer.backward(batch);
            w.recompute += layer.options[plan.stages.option[i]].work(batch);
            w.kept += layer.options[plan.stages.option[i]].bytes(batch);
            w.recomputed = (std::max)(w.recomputed, layer.working(batch) + layer.buffers);
          }
          if (k + 1 < stages && of.rates.link_bytes_per_ms > 0) w.transfer = (8 * n + 2) / 3;
          if (splits) {
            w.weight = w.backward / 2;
            w.backward -= w.weight;
            w.residue = w.kept;
          }
          auto const [forward, backward] = waits_at(k, batch);
          w.forward += forward;
          w.backward += backward;
          return w;
        };
        for (std::uint64_t k = 0; k < stages; ++k)
          for (std::uint64_t m = 0; m < mine.size(); ++m) {
            auto const w = stage_at(k, m);
            auto const n = mine[static_cast<std::size_t>(m)];
            auto const [forward, backward] = waits_at(k, {.tokens = n, .squares = n * n});
            work += w.forward + w.backward + w.weight - forward - backward;
            exchanged += forward + backward;
            again += w.recompute;
          }
        auto const timeline = simulate_pipeline(of.options.schedule, {of.options.stages, mine.size(), true}, stage_at);
        slowest = (std::max)(slowest, timeline.makespan.value);
        for (std::size_t k = 0; k < stages; ++k) CHECK(timeline.stages[k].peak_memory <= plan.memory[k].activations);
        if (s != plan.slowest_step || r != plan.slowest_rank) continue;
        std::vector<std::uint32_t> stage_of(stages);
        std::iota(stage_of.begin(), stage_of.end(), 0U);
        CHECK(plan.timeline.events == timeline.events);
        CHECK(describe(check_timeline(plan.timeline, stage_of, mine.size(), stage_at)) == "valid");
        for (std::size_t i = 0; i < plan.works.size(); ++i) CHECK(plan.works[i] == stage_at(i % stages, i / stages));
      }
      CHECK(plan.steps[s] == slowest + last);
      all += slowest + last;
      for (auto const e : ends) exchanged += e * static_cast<std::int64_t>(of.steps.ranks);
    }
    auto const turns = static_cast<std::int64_t>(of.steps.ranks * of.steps.steps());
    CHECK(plan.shares.exchange == exchanged);
    CHECK(plan.shares.optimizer == turns * std::accumulate(updates.begin(), updates.end(), std::int64_t{0}));
    CHECK(plan.time.value == all);
    CHECK(plan.time.lower_bound <= all);
    CHECK(plan.shares.total() == all * static_cast<std::int64_t>(of.steps.ranks * stages));
    CHECK(plan.shares.work == work);
    CHECK(plan.shares.recompute == again);
    CHECK((plan.shares.bubble >= 0 && plan.shares.waiting >= 0));
    if (of.steps.ranks == 1) CHECK(plan.shares.waiting == 0);
    if (stages == 1) CHECK(plan.shares.bubble == 0);
    if (!plan.steps.empty()) {
      CHECK(plan.steps[plan.slowest_step] == *std::max_element(plan.steps.begin(), plan.steps.end()));
      CHECK(plan.timeline.makespan.value + last == plan.steps[plan.slowest_step]);
    }
    for (auto const& m : plan.memory) CHECK((m.bytes() <= m.budget && m.budget == of.options.memory));

    // The cut by its own validator, on layers that are worked out here.
    std::vector<stage_layer> layers;
    for (auto const& l : of.layers) {
      stage_layer made{.time = l.forward(plan.mean) + l.backward(plan.mean),
                       .state = l.state + (stages > 1 ? l.apart : 0),
                       .working = l.working(plan.largest) + l.buffers,
                       .options = {}};
      std::int64_t repeated = 0;
      for (auto const& e : l.exchanges) {
        if (e.when == exchange_phase::step) continue;
        auto const sent = (e.bytes + e.bytes_of_batch(plan.mean)) * e.calls / (e.how == collective::all_reduce ? 1 : 2);
        made.time += sent;
        repeated += e.when == exchange_phase::forward && e.what != traffic::parameter ? sent : 0;
      }
      for (auto const& o : l.options)
        made.options.push_back(
            {.memory = o.bytes(plan.largest), .time = o.work(plan.mean) + (o.recomputed == recomputation::full ? repeated : 0)});
      layers.push_back(made);
    }
    std::uint64_t most = 1;
    for (std::size_t at = 0; at < of.tokens.size(); at += of.steps.micro_batches) {
      auto const first = of.tokens.begin() + static_cast<std::ptrdiff_t>(at);
      auto const none = std::count(first, first + static_cast<std::ptrdiff_t>(of.steps.micro_batches), 0);
      most = (std::max)(most, of.steps.micro_batches - static_cast<std::uint64_t>(none));
    }
    auto const held = held_by_stage(of.options.schedule, stages, most);
    std::vector<std::int64_t> const capacity(stages, of.options.memory);
    CHECK(describe(prove_stages(plan.stages, fold_layers(layers), {.stages = stages, .capacity = capacity, .in_flight = held})) == "valid");
  }
  CAPTURE(feasible, tight, recomputed);
  CHECK((feasible > 200 / round_step && tight > 30 / round_step && recomputed > 30 / round_step));  // all answers were there
}

TEST_CASE("plan_training: the simulated peak never exceeds the budget, in 10,000 trainings", "[property]") {
  splitmix64 draw(27);
  int feasible = 0, nearly_full = 0;
  for (int round = 0; round < 10'000; round += round_step) {
    auto const of = draw_training(draw);
    auto const plan = plan_of(of.steps, of.tokens, of.layers, of.options, of.rates);
    if (plan.status != status::feasible) continue;
    ++feasible;
    for (std::size_t s = 0; s < plan.memory.size(); ++s) {
      auto const& m = plan.memory[s];
      CAPTURE(round, s);
      REQUIRE(m.bytes() <= m.budget);
      REQUIRE(m.bytes() <= plan.stages.figures[s].memory);  // planned for the largest micro-batch
      nearly_full += m.bytes() * 10 > m.budget * 9 ? 1 : 0;
    }
  }
  CAPTURE(feasible, nearly_full);
  CHECK((feasible > 5000 / round_step && nearly_full > 400 / round_step));
}

TEST_CASE("plan_training: schedules with several chunks keep the budget, and their timelines are those of the simulator", "[property]") {
  splitmix64 draw(28);
  int feasible = 0, lacking = 0;
  for (int round = 0; round < 400; round += round_step) {
    auto of = draw_training(draw);
    of.options.schedule = round % 2 == 0 ? any_schedule(zbv_schedule{}) : any_schedule(interleaved_schedule{.chunks = 2});
    of.options.stages = 1 + uniform_below(3, draw);
    auto const stages = of.options.stages;
    CAPTURE(round, stages);
    auto const plan = plan_of(of.steps, of.tokens, of.layers, of.options, of.rates);
    if (plan.status != status::feasible) {
      ++lacking;
      CHECK((plan.steps.empty() && plan.memory.empty() && plan.shortage == memory_shortage{}));
      continue;
    }
    ++feasible;
    REQUIRE(plan.stages.partition.boundaries.size() == 2 * stages + 1);
    REQUIRE(plan.memory.size() == stages);
    for (std::size_t s = 0; s < plan.memory.size(); ++s) REQUIRE(plan.memory[s].bytes() <= of.options.memory);
    CHECK(plan.shares.total() == plan.time.value * static_cast<std::int64_t>(of.steps.ranks * stages));
    CHECK(plan.time.lower_bound <= plan.time.value);
    if (plan.steps.empty() || plan.works.empty()) continue;
    auto const micro_batches = plan.works.size() / (2 * stages);
    if (round % 2 != 0) CHECK(micro_batches % stages == 0);
    auto const timeline =
        simulate_pipeline(of.options.schedule, {.stages = stages, .micro_batches = micro_batches, .events = true},
                          [&](std::uint64_t k, std::uint64_t m) { return plan.works[static_cast<std::size_t>(m * 2 * stages + k)]; });
    CHECK(timeline.events == plan.timeline.events);
    CHECK(timeline.makespan.value + plan.end_of_step == plan.steps[plan.slowest_step]);
  }
  CAPTURE(feasible, lacking);
  CHECK((feasible > 150 / round_step && lacking > 30 / round_step));
}

TEST_CASE("plan_training: what a micro-batch pays once is what a tile in each of them would take", "[property]") {
  splitmix64 draw(44);
  int feasible = 0;
  for (int round = 0; round < 300; round += round_step) {
    auto of = draw_training(draw);
    of.options.schedule = round % 3 == 0   ? any_schedule(zbv_schedule{})
                          : round % 3 == 1 ? any_schedule(interleaved_schedule{.chunks = 2})
                                           : any_schedule(one_f_one_b_schedule{});
    of.options.stages = 1 + uniform_below(3, draw);
    auto by_tile = of.layers;
    for (std::size_t i = 0; i < of.layers.size(); ++i) {
      auto &once = of.layers[i], &tiled = by_tile[i];
      auto const pay = [&](batch_cost& each, batch_cost& of_tile) { each.per_batch = of_tile.per_tile = between(0, 400, draw); };
      pay(once.forward, tiled.forward);
      pay(once.backward, tiled.backward);
      pay(once.working, tiled.working);
      pay(once.boundary, tiled.boundary);
      for (std::size_t o = 0; o < once.options.size(); ++o) {
        pay(once.options[o].bytes, tiled.options[o].bytes);
        pay(once.options[o].work, tiled.options[o].work);
      }
    }
    auto packs = shapes_of(of.steps.packs, std::span<std::int64_t const>(of.tokens));
    CAPTURE(round, of.options.stages);
    auto const plan = plan_training<std::uint32_t>(of.steps, packs, of.layers, of.options, of.rates);
    auto const simple = plan_training<std::uint32_t>(of.steps, packs, by_tile, of.options, of.rates);  // no micro-batch has a tile
    for (auto& p : packs) p.tiles = 1;
    auto const tiled = plan_training<std::uint32_t>(of.steps, packs, by_tile, of.options, of.rates);
    if (packs.empty()) continue;  // layers are then balanced for an empty micro-batch
    CHECK(hash_of(plan) == hash_of(tiled));
    CHECK((plan.status == tiled.status && plan.shortage == tiled.shortage && plan.time == tiled.time && plan.works == tiled.works));
    if (plan.status != status::feasible) continue;
    ++feasible;
    CHECK((simple.status == status::feasible && simple.shares.work <= plan.shares.work));
  }
  CHECK(feasible > 80 / round_step);
}

TEST_CASE("plan_training: the largest working set of a stage may be that of any layer, by what it needs for any micro-batch") {
  auto layers = equal_layers(3);
  layers[0].working = {.per_token = 5};
  layers[1].working = {.per_token = 1, .per_batch = 100};
  layers[2].working = {.per_token = 1, .per_square = 1};
  auto const peak = [&](std::int64_t tokens) {
    auto const plan = plan_of(steps_of({tokens}, 1, 1), {tokens}, layers, {.stages = 1, .memory = ample});
    return plan.memory[0].activations - 30 * tokens;  // of what three layers keep
  };
  CHECK(peak(1) == 101);
  CHECK(peak(4) == 104);
  CHECK(peak(20) == 420);
  layers[2].working = {};
  CHECK(peak(20) == 120);
  CHECK(peak(90) == 450);
}

TEST_CASE("plan_training: memory has room for the largest micro-batch that is named") {
  auto const model = transformer_preset("llama-3.1-8b");
  std::vector<std::int64_t> const tokens(16, 1024);
  auto const data = plan_data(tokens, {.steps = {.capacity = 2048, .ranks = 2, .micro_batches = 4}}, model);
  training_options options{.stages = 2, .memory = 200'000'000'000};
  auto const without = plan_training(data, options, model, {}, {.optimizer = optimizer_named("adam")});
  options.largest = {.tokens = 4096, .squares = 1};
  auto const with = plan_training(data, options, model, {}, {.optimizer = optimizer_named("adam")});
  CHECK(with.largest == batch_shape{.tokens = 4096, .squares = without.largest.squares});
  CHECK(with.time == without.time);
  for (std::size_t s = 0; s < 2; ++s) {
    CHECK(with.stages.figures[s].activations == 2 * without.stages.figures[s].activations);
    CHECK(with.memory[s] == without.memory[s]);  // of what was planned
  }
}

TEST_CASE("plan_training: more chunks make the bubble smaller where transfers are free") {
  std::vector<std::int64_t> const tokens(8, 10);  // one step of 8 micro-batches
  auto const of = [&](any_schedule const& schedule) {
    return plan_of(steps_of(tokens, 1, 8), tokens, equal_layers(8), {.stages = 4, .memory = ample, .schedule = schedule});
  };
  auto const one = of(one_f_one_b_schedule{}), two = of(interleaved_schedule{.chunks = 2});
  CHECK(one.shares.work == two.shares.work);
  CHECK(one.shares.bubble == 4 * 3 * 120);  // (S - 1) micro-batches of 2 layers on each of 4 stages
  CHECK(two.shares.bubble == one.shares.bubble / 2);
}

TEST_CASE("plan_training: DeepSeek-V3 on 2,048 GPUs of 80 GB, by what it recomputed and in how many bits", "[published]") {
  auto model = transformer_preset("deepseek-v3");
  model.mtp_layers = 1;
  using enum recompute_module;
  batch_shape const batch{.tokens = 4096, .squares = 4096 * 4096};
  auto const needed = [&](bool published_recompute, bool fp8, char const* schedule) {  // GB of the largest stage of 16
    auto layers = layers_of(
        model, {.spread = {.data = 128, .zero = 1}, .expert = 64, .fp8_experts = fp8, .recompute_modules = {layernorm, mla_up_projection}});
    for (auto& l : layers)
      if (l.options.size() > 2) l.options = {published_recompute ? l.options[l.options.size() - 2] : l.options.front()};
    auto const held = held_by_stage(schedule_named(schedule), 16, 120);
    return static_cast<double>(shortage_of(stage_layers_of(layers, batch, batch, {}, 16), held, 0).needed) / 1e9;
  };
  // 16 micro-batches held by the first stage, as in 1F1B, or by all, as where weight gradients are delayed
  CHECK(std::fabs(needed(false, false, "1f1b") - 67.8) < 0.1);
  CHECK(std::fabs(needed(true, false, "1f1b") - 52.3) < 0.1);
  CHECK(std::fabs(needed(true, true, "1f1b") - 42.1) < 0.1);
  CHECK(std::fabs(needed(false, false, "zb1p") - 151.7) < 0.1);
  CHECK(std::fabs(needed(true, false, "zb1p") - 112.4) < 0.1);  // bf16 does not fit
  CHECK(std::fabs(needed(true, true, "zb1p") - 80.9) < 0.1);
}

TEST_CASE("plan_training: the closed form of 1F1B, and a rank that has nothing to wait for") {
  for (std::int64_t const m : {1, 2, 5, 12})
    for (std::uint64_t const p : {1U, 2U, 4U}) {
      CAPTURE(m, p);
      std::vector<std::int64_t> const tokens(static_cast<std::size_t>(2 * m), 10);  // two steps of one rank
      auto const plan =
          plan_of(steps_of(tokens, 1, static_cast<std::uint64_t>(m)), tokens, equal_layers(4), {.stages = p, .memory = ample});
      auto const stages = static_cast<std::int64_t>(p), each = 10 * 6 * 4 / stages;
      CHECK(plan.steps == std::vector<std::int64_t>(2, (m + stages - 1) * each));
      CHECK(plan.time.optimal());
      CHECK(plan.shares == time_shares{.work = 2 * stages * m * each, .bubble = 2 * stages * (stages - 1) * each});
      CHECK(plan.shares.largest_loss() == (p == 1 ? lost_time::none : lost_time::bubble));
    }
}

TEST_CASE("plan_training: a hand-made plan of two ranks, with recomputation and transfers") {
  // Stage 0 holds two micro-batches of 5 tokens: two layers kept take 200 + 2 * 100 bytes, one of them recomputed 200 + 2 * 65.
  std::vector<std::int64_t> const tokens{5, 5, 4, 0};
  layer_rates const rates{.link_bytes_per_ms = 8'000'000};  // a token takes 1 ns
  auto const plan = plan_of(steps_of(tokens, 2, 2), tokens, equal_layers(4), {.stages = 2, .memory = 330}, rates);
  CHECK(plan.stages.partition.boundaries == std::vector<std::uint32_t>{0, 2, 4});
  CHECK(plan.stages.option == std::vector<std::uint32_t>{0, 1, 0, 0});
  CHECK(plan.memory == std::vector<stage_memory>{{200, 130, 330}, {200, 100, 330}});
  // Rank 0: forwards of 20, backwards of 40, 10 recomputed on stage 0, transfers of 5.
  // Stage 1: F 25-45, B 45-85, F 85-105, B 105-145; stage 0: F 0-20, F 20-40, B 90-140, B 150-200.
  CHECK(plan.steps == std::vector<std::int64_t>{200});
  // Rank 1: 4 tokens: 16 + 4 + 16 + 32 + 4 + 8 + 32.
  CHECK(plan.shares ==
        time_shares{.work = 4 * 60 + 2 * 48, .recompute = 2 * 10 + 8, .bubble = 2 * 200 - 260 + 2 * 112 - 104, .waiting = 176});
  CHECK((plan.slowest_step == 0 && plan.slowest_rank == 0));
  CHECK(plan.timeline.events.size() == 8);
  CHECK(describe(plan) ==
        std::vector<std::string>{"Of the device-time 42.00 % is forward and backward, 3.50 % recomputed forward, 0.00 % "
                                 "exchange, 0.00 % optimiser, 32.50 % waiting inside pipelines, 22.00 % waiting for the slowest rank.",
                                 "The bubble costs most: more micro-batches in a step, or fewer stages, make it a smaller "
                                 "part."});
}

TEST_CASE("plan_training: a plan that deals by cost is not slower than next fit in input order") {
  splitmix64 draw(22);
  auto const lengths = random_lengths(900, 2048, draw);
  auto const model = transformer_preset("qwen2.5-0.5b");
  model_setting const by{.spread = {.data = 4, .zero = 1}};
  auto const layers = layers_of(model, by);
  auto const rates = rates_of({});
  auto const cost = sample_cost(model);
  for (std::uint64_t const p : {1U, 4U}) {
    batching_options const o{.capacity = 4096, .ranks = 4, .micro_batches = 8, .synchronisation = synchronisation::pipeline, .stages = p};
    training_options const asked{.stages = p, .memory = 80'000'000'000};
    auto const planned = plan_of(plan_steps(lengths, o, cost), lengths, layers, asked, rates);
    auto const naive = plan_of(deal_steps(next_fit(lengths, {.capacity = 4096}).packs, lengths, o, cost, {.how = dealing::in_order}),
                               lengths, layers, asked, rates);
    CAPTURE(p, planned.step_ms(), naive.step_ms());
    CHECK(planned.time.value < naive.time.value);
    CHECK(planned.shares.waiting < naive.shares.waiting);
  }
}

TEST_CASE("plan_training: the plan of a data plan is that of its parts, and the same everywhere") {
  splitmix64 draw(23);
  auto const lengths = random_lengths(300, 5000, draw);
  data_plan_options const o{.steps = {.capacity = 4096, .ranks = 2, .micro_batches = 4, .seed = 3}, .oversize = oversize::split};
  auto const model = transformer_preset("qwen2.5-0.5b");
  cluster const on{.device = device_named("a100"), .mfu = 0.5};
  model_setting const by{.spread = {.tensor = 2, .data = 2, .zero = 1}};
  auto const data = plan_data(lengths, o, model);
  training_options const asked{.stages = 4, .memory = 4'600'000'000};
  auto const plan = plan_training(data, asked, model, on, by);
  CAPTURE(plan.shortage.needed, hash_of(plan));
  REQUIRE(plan.status == status::feasible);
  CHECK(hash_of(plan) == hash_of(plan_of(data.steps, data.samples.tokens, layers_of(model, by), asked, rates_of(on, 4))));
  CHECK(hash_of(plan) == 0xe759bd4e3bee8030U);
  CHECK(plan.shares.recompute > 0);
  CHECK(plan.shares.work > 0);
  // one device does six FLOPs a parameter and token, and more for attention
  auto const flops = static_cast<double>(plan.shares.work) / 1e9 * 312e12 * 0.5 * 2;
  CHECK(flops > 6.0 * 490e6 * static_cast<double>(data.steps.tokens));
  CHECK(flops < 8.0 * 490e6 * static_cast<double>(data.steps.tokens));
}

TEST_CASE("plan_training: what makes no sense is refused, what does not fit is an answer") {
  std::vector<std::int64_t> const tokens{5, 5};
  auto const steps = steps_of(tokens, 1, 2);
  auto const refused = [&](training_options const& o, std::vector<layer> const& layers, layer_rates const& rates = {}) {
    return refusal([&] { return plan_of(steps, tokens, layers, o, rates); });
  };
  auto const model = equal_layers(3);
  CHECK(refused({.stages = 0, .memory = 1}, model) == "stages = 0 must be in 1 ... 2^20");
  CHECK(refused({.stages = 1, .memory = -1}, model) == "memory = -1 must not be negative");
  CHECK(refused({.stages = 1, .memory = ample, .schedule = interleaved_schedule{.chunks = 1}}, model).starts_with("chunks = 1"));
  CHECK(refused({.stages = 1, .memory = 1}, {}) == "layers is empty");
  CHECK(refused({.stages = 1, .memory = 1}, model, {.work_per_ms = 0}) == "work_per_ms = 0 must be at least 1");
  auto bad = model;
  bad[2].options.clear();
  CHECK(refused({.stages = 1, .memory = 1}, bad) == "layer \"layer 2\" has no options");
  bad = model;
  bad[1].backward.per_square = -1;
  CHECK(refused({.stages = 1, .memory = 1}, bad) == "layer \"layer 1\" has a negative cost, or brings a sum to 2^63");
  bad = model;
  bad[1].backward.per_token = std::int64_t{1} << 60;
  CHECK(refused({.stages = 1, .memory = 1}, bad) == "layer \"layer 1\" brings the nanoseconds of the largest micro-batch to 2^58 or more");
  CHECK(refusal([&] { return plan_training(steps, {}, model, {.stages = 1, .memory = 1}, {}); }) == "packs has 0 entries for 2 packs");

  auto const lean = plan_of(steps, tokens, model, {.stages = 3, .memory = 120});
  CHECK(lean.status == status::infeasible);
  CHECK(lean.shortage == memory_shortage{.stage = 0, .needed = 130, .budget = 120});  // two micro-batches of 15 bytes
  CHECK(describe(lean) ==
        std::vector<std::string>{
            "No partition into stages fits in 120 bytes per device: in the one that needs least, stage 0 needs 130, which is 10 more."});
  auto const many = plan_of(steps, tokens, model, {.stages = 4, .memory = ample});
  CHECK(many.status == status::infeasible);
  CHECK(describe(many) ==
        std::vector<std::string>{"There are too few layers for the stages, or they do not fit in memory with any recomputation."});
  CHECK(describe(plan_of(steps_of({}, 1, 1), {}, model, {.stages = 3, .memory = ample})).empty());
}

}  // namespace test_plan_plan_training
