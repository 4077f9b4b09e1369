// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/transformer_cost.hpp>
#include <ballast/plan/calibrate_steps.hpp>
#include <ballast/plan/figures.hpp>
#include <ballast/plan/observe.hpp>
#include <ballast/plan/plan_data.hpp>
#include <ballast/plan/plan_rest.hpp>

#include "support/archetypes.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace test_plan_observe {

namespace {

using namespace ballast;
using namespace ballast_test;

/// A device whose times differ from the model: nanoseconds by the true cost, with noise.
struct device {
  quadratic_cost cost;
  std::int64_t per_micro_batch = 0, per_step = 0;
  double noise = 0;
  splitmix64 draw{1};

  /// Options of a plan on this device, for true figures.
  [[nodiscard]] data_plan_options options(data_plan_options o) const {
    o.steps.cost_per_micro_batch = per_micro_batch;
    o.steps.cost_per_step = per_step;
    return o;
  }
  /// Milliseconds of every rank in a step, and of the step.
  [[nodiscard]] std::pair<std::vector<double>, double> train(data_plan<> const& plan, std::size_t step, batching_options const& o) {
    std::vector<double> ranks, rows(static_cast<std::size_t>(plan.steps.micro_batches), 0.0);
    for (std::size_t r = 0; r < plan.steps.ranks; ++r) {
      double sum = 0, longest = 0;
      for (std::size_t m = 0; m < rows.size(); ++m) {
        auto const pack = plan.steps.at(step, r, m);
        if (pack == plan.steps.none) continue;
        auto ns = per_micro_batch;
        for (auto const i : plan.steps.packs[pack]) ns += cost(plan.samples.tokens[i]);
        auto const unit = static_cast<double>(draw() >> 11) / 4503599627370496.0 - 1;
        auto const ms = 1e-6 * static_cast<double>(ns) * (1 + noise * unit);
        sum += ms;
        longest = (std::max)(longest, ms);
        rows[m] = (std::max)(rows[m], ms);
      }
      auto const stages = static_cast<double>(o.synchronisation == synchronisation::pipeline ? o.stages : 1);
      ranks.push_back((sum + (stages - 1) * longest + 1e-6 * static_cast<double>(per_step)) / stages);
    }
    auto step_ms = *std::max_element(ranks.begin(), ranks.end());
    if (o.synchronisation == synchronisation::per_micro_batch) {
      step_ms = 1e-6 * static_cast<double>(per_step);
      for (auto const ms : rows) step_ms += ms;
    }
    return {ranks, step_ms};
  }
};

bool close(double a, double b, double tolerance) { return a >= b * (1 - tolerance) && a <= b * (1 + tolerance); }
double value(coefficient c) { return static_cast<double>(c.numerator) / static_cast<double>(c.denominator); }

std::vector<std::int64_t> long_tailed(std::size_t n) {
  splitmix64 draw(5);
  std::vector<std::int64_t> out;
  while (out.size() < n) out.push_back((std::min)(std::int64_t{32768}, 200'000 / between(6, 1000, draw)));
  return out;
}

constexpr quadratic_cost modelled{.linear = 16'000, .quadratic = 1};

}  // namespace

TEST_CASE("step_observer: finds the cost that made the times, wherever ranks wait") {
  auto const lengths = long_tailed(20'000);
  for (auto const where : {synchronisation::per_step, synchronisation::per_micro_batch, synchronisation::pipeline})
    for (auto const whole : {false, true}) {
      CAPTURE(static_cast<int>(where), whole);
      data_plan_options const o{
          .steps = {
              .capacity = 32768, .ranks = 4, .micro_batches = 3, .synchronisation = where, .stages = 3, .left_over = left_over::shorten}};
      auto const plan = plan_data(lengths, o, modelled);
      device truth{.cost = {.linear = 50'000, .quadratic = 9}, .per_micro_batch = 4'000'000, .per_step = 20'000'000};
      step_observer observer(o.steps, {}, modelled);
      auto const done = std::size_t{45};
      REQUIRE(plan.steps.steps() > done + 5);
      for (std::size_t k = 0; k <= done; ++k) {
        auto const s = k < done ? k : plan.steps.steps() - 1;  // the last step has empty places
        auto const [ranks, step] = truth.train(plan, s, o.steps);
        if (whole)
          observer.observe(plan, s, step);
        else
          observer.observe(plan, s, ranks);
      }
      auto const found = observer.recalibrate();
      CHECK(found.basis == cost_basis::terms);
      CHECK(found.rejected == 0);
      CHECK(found.errors.mean < 1e-3);
      CHECK(close(value(found.cost.per_unit[1]), 50'000, 1e-4));
      CHECK(close(value(found.cost.per_unit[2]), 9, 1e-4));
      auto const predicted = keep_rest(plan, done, found.options_of(o), found.cost).steps.slowest.value;
      auto const real = keep_rest(plan, done, truth.options(o), truth.cost).steps.slowest.value;
      CHECK(close(static_cast<double>(predicted), static_cast<double>(real), 1e-4));
    }
}

TEST_CASE("step_observer: few times scale the modelled cost; a model that is right but for fixed times is kept") {
  auto const lengths = long_tailed(6000);
  data_plan_options o{.steps = {.capacity = 32768, .ranks = 8, .cost_per_micro_batch = 1000, .cost_per_step = 2000}};
  auto const plan = plan_data(lengths, o, modelled);
  device truth{.cost = {.linear = 48'000, .quadratic = 3}, .per_micro_batch = 3000, .per_step = 6000};
  step_observer few(o.steps, {}, modelled);
  for (std::size_t s = 0; s < 3; ++s) few.observe(plan, s, truth.train(plan, s, o.steps).second);
  auto const scaled = few.recalibrate();
  CHECK((scaled.basis == cost_basis::scaled && scaled.used == 3));
  CHECK(close(value(scaled.cost.per_unit[0]), 3, 1e-9));
  CHECK((scaled.per_micro_batch >= 3000 && scaled.per_micro_batch <= 3001 && scaled.per_step >= 6000 && scaled.per_step <= 6001));
  CHECK((scaled.cost(500) >= 3 * modelled(500) && scaled.cost(500) <= 3 * modelled(500) + 1));
  CHECK_FALSE(plan_rest(plan, 3, scaled.options_of(o), scaled.cost).anew);

  truth.per_step = 90'000'000;
  truth.noise = 0.02;
  step_observer many(o.steps, {}, modelled);
  for (std::size_t s = 0; s < plan.steps.steps() / 2; ++s) many.observe(plan, s, truth.train(plan, s, o.steps).first);
  auto const fixed = many.recalibrate();
  CHECK(fixed.basis == cost_basis::overheads);
  CHECK(close(value(fixed.cost.per_unit[0]), 3, 0.03));
  CHECK(close(static_cast<double>(fixed.per_step + fixed.per_micro_batch), 90e6, 0.1));
}

TEST_CASE("step_observer: times that do not depend on the samples say nothing about their cost") {
  auto const lengths = long_tailed(20'000);
  data_plan_options const o{.steps = {.capacity = 32768, .ranks = 8}};
  auto const plan = plan_data(lengths, o, modelled);
  step_observer observer(o.steps, {}, modelled);
  for (std::size_t s = 0; s < 60; ++s) observer.observe(plan, s, std::vector<double>(8, 100.0));
  CHECK(observer.recalibrate().basis == cost_basis::scaled);
}

TEST_CASE("step_observer: slow first steps, saves and skipped steps do not change the cost") {
  auto const lengths = long_tailed(20'000);
  data_plan_options const o{.steps = {.capacity = 32768, .ranks = 8}};
  auto const plan = plan_data(lengths, o, modelled);
  for (auto const whole : {false, true}) {
    CAPTURE(whole);
    device truth{.cost = {.linear = 16'000, .quadratic = 4}, .noise = 0.02};
    step_observer observer(o.steps, {}, modelled);
    for (std::size_t s = 0; s < 80; ++s) {
      auto [ranks, step] = truth.train(plan, s, o.steps);
      auto const times = s < 3 ? 20.0 : s % 16 == 5 ? 1.7 : s % 31 == 7 ? 0.01 : 1.0;  // 10 of 80 steps
      for (auto& ms : ranks) ms *= times;
      if (whole)
        observer.observe(plan, s, step * times);
      else
        observer.observe(plan, s, ranks);
    }
    auto const found = observer.recalibrate();
    CHECK(found.basis == cost_basis::terms);
    CHECK((found.rejected >= (whole ? 10U : 80U) && found.rejected <= (whole ? 14U : 92U)));
    CHECK(close(value(found.cost.per_unit[2]), 4, 0.05));
    CHECK(found.errors.mean < 0.012);
  }
}

TEST_CASE("step_observer: a plan of the rest under the cost found waits less on the device") {
  auto const lengths = long_tailed(20'000);
  struct world {
    quadratic_cost model;
    std::uint64_t micro_batches;
    synchronisation where;
    double times_less;
  };
  quadratic_cost const tokens{.linear = 1, .quadratic = 0};
  for (auto const& w : {world{modelled, 1, synchronisation::per_step, 1.5}, world{tokens, 1, synchronisation::per_step, 3},
                        world{tokens, 2, synchronisation::per_micro_batch, 5}}) {
    data_plan_options const o{.steps = {.capacity = 32768, .ranks = 16, .micro_batches = w.micro_batches, .synchronisation = w.where}};
    auto const plan = plan_data(lengths, o, w.model);
    device truth{.cost = {.linear = 16'000, .quadratic = 4}, .per_step = 30'000'000, .noise = 0.02};
    step_observer observer(o.steps, {}, w.model);
    auto const done = plan.steps.steps() / 3;
    for (std::size_t s = 0; s < done; ++s) observer.observe(plan, s, truth.train(plan, s, o.steps).first);
    auto const found = observer.recalibrate();
    auto const rest = plan_rest(plan, done, found.options_of(o), found.cost);
    CHECK(rest.anew);
    auto const on_device = [&](data_plan<> const& of, std::size_t from) {
      auto const steps = keep_rest(of, from, truth.options(o), truth.cost);
      return figures_of(steps.steps, steps.samples, truth.options(o).steps, 1e-6);
    };
    auto const before = on_device(plan, done), after = on_device(rest.plan, 0);
    CAPTURE(before.idle, after.idle, before.modelled_total_ms, after.modelled_total_ms);
    CHECK(before.idle > w.times_less * after.idle);
    CHECK(after.modelled_total_ms < before.modelled_total_ms);
    CHECK(close(after.modelled_total_ms, 1e-6 * static_cast<double>(rest.found), 0.02));
  }
}

TEST_CASE("step_observer: its times are steps of a setting, which calibrate the time model without outliers") {
  auto const& model = transformer_preset("llama-3.1-8b");
  auto const& on = device_named("h100");
  training_setting by;
  by.model = {.spread = {.tensor = 2, .data = 4, .sequence_parallel = true, .zero = 1}, .framework = framework_named("megatron")};
  for (auto const stages : {std::uint64_t{1}, std::uint64_t{3}}) {
    by.pipeline.stages = stages;
    data_plan_options const o{.steps = {.capacity = 32768,
                                        .ranks = 4,
                                        .micro_batches = 3,
                                        .synchronisation = stages > 1 ? synchronisation::pipeline : synchronisation::per_step,
                                        .stages = stages,
                                        .left_over = left_over::shorten}};
    auto const plan = plan_data(long_tailed(10'000), o, sample_cost(model));
    REQUIRE(plan.steps.steps() > 20);
    step_observer observer(o.steps, {}, sample_cost(model));
    CHECK(observer.steps_of(by, {}).empty());
    for (std::size_t s = 0; s < 20; ++s) {
      double slowest = 0;
      std::int64_t most = -1;
      for (std::uint32_t r = 0; r < 4; ++r) {
        measured_step step{.by = by, .with = {}, .batch = {}, .ms = 0};
        std::vector<std::int64_t> costs, tokens, squares;
        for (auto const pack : plan.steps.packs_of(s, r)) {
          costs.push_back(0);
          tokens.push_back(0);
          squares.push_back(0);
          for (auto const i : pack) {
            auto const length = plan.samples.tokens[i];
            costs.back() += sample_cost(model)(length);
            tokens.back() += length;
            squares.back() += length * length;
          }
        }
        auto const longest = static_cast<std::size_t>(std::max_element(costs.begin(), costs.end()) - costs.begin());
        auto const pipes = static_cast<std::int64_t>(stages), counted = std::ssize(costs) + pipes - 1;
        auto const mean = [&](std::vector<std::int64_t> const& of) {
          auto const all = std::accumulate(of.begin(), of.end(), (pipes - 1) * of[longest]);
          return (2 * all + counted) / (2 * counted);
        };
        step.by.micro_batches = std::ssize(costs);
        step.batch = {.tokens = mean(tokens), .squares = mean(squares), .tiles = 0};
        if (auto const all = std::accumulate(costs.begin(), costs.end(), (pipes - 1) * costs[longest]); all > most) {
          most = all;
          slowest = 1.15 * modelled_ms(model, on, step);
        }
      }
      observer.observe(plan, s, s % 7 == 3 ? 4 * slowest : slowest);  // a save, now and then
    }
    auto const steps = observer.steps_of(by, {});
    CHECK((steps.size() >= 12 && steps.size() <= 17));
    auto const found = calibrate_steps(model, on, steps);
    CHECK(std::llabs(found.time - 1150) <= 1);
    for (auto const& step : steps) CHECK(close(modelled_ms(model, on, step, found), step.ms, 0.003));
  }
}

TEST_CASE("step_observer: forgets old times, sees several plans, and takes terms of any kind") {
  auto const lengths = long_tailed(6000);
  data_plan_options const o{.steps = {.capacity = 32768, .ranks = 8}};
  auto const plan = plan_data(lengths, o, modelled);
  device truth{.cost = {.linear = 16'000, .quadratic = 1}};
  step_observer observer(o.steps, {.keep = 10}, modelled, linear_cost{.per_token = 0, .per_sample = 1}, token_cost{}, causal_pairs{});
  for (std::size_t s = 0; s < 10; ++s) observer.observe(plan, s, truth.train(plan, s, o.steps).first);
  CHECK(close(value(observer.recalibrate().cost.per_unit[0]), 1, 1e-9));
  truth.cost = {.linear = 16'000, .quadratic = 10};
  auto const rest = keep_rest(plan, 10, o, modelled);
  for (std::size_t s = 0; s < 10; ++s) observer.observe(rest, s, truth.train(rest, s, o.steps).first);
  CHECK(observer.size() == 10);
  auto const found = observer.recalibrate();
  CHECK((found.basis == cost_basis::terms && found.rejected == 0));
  CHECK(close(value(found.cost.per_unit[3]), 20, 0.01));  // two squares are a causal pair
}

TEST_CASE("step_observer: what it refuses") {
  data_plan_options const o{.steps = {.capacity = 10, .ranks = 2, .left_over = left_over::shorten}};
  auto const plan = plan_data(std::vector{9, 8, 7}, o, token_cost{});
  step_observer observer(o.steps, {}, token_cost{});
  CHECK(refusal([&] { return observer.recalibrate(); }) == "no step with a micro-batch has been observed");
  auto const of = [&](std::size_t step, auto const& ms) {
    return refusal([&] {
      observer.observe(plan, step, ms);
      return 0;
    });
  };
  CHECK(of(2, 1.0) == "step 2 is out of range: the plan has 2 steps");
  CHECK(of(1, 0.0) == "ms = 0.000000 of step 1 must be positive and finite");
  CHECK(of(0, std::vector{1.0, std::numeric_limits<double>::infinity()}) == "ms = inf of step 0 must be positive and finite");
  CHECK(of(0, std::vector{1.0, 2.0, 3.0}) == "3 times for 2 ranks");
  observer.observe(plan, 1, std::vector{1.0, 0.0});  // the second rank has no micro-batch in the last step
  CHECK((observer.size() == 1 && observer.recalibrate().used == 1));
  step_observer least(o.steps, {}, smallest_cost(3));
  least.observe(plan, 0, 12.0);
  CHECK(least.recalibrate().cost(7) / 1000 == 9333);  // 12 ms are 27 units, 9 tokens
  CHECK(refusal([&] { return step_observer(o.steps, {.keep = 0}, token_cost{}); }) == "keep = 0 must be positive");
}

}  // namespace test_plan_observe
