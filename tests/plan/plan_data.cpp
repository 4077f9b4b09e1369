// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/bounds.hpp>
#include <ballast/batching/check.hpp>
#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/classes.hpp>
#include <ballast/core/hash.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/chain_cost.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/bounds.hpp>
#include <ballast/packing/check.hpp>
#include <ballast/plan/balance_report.hpp>
#include <ballast/plan/batch_shapes.hpp>
#include <ballast/plan/compare.hpp>
#include <ballast/plan/figures.hpp>
#include <ballast/plan/plan_data.hpp>
#include <ballast/plan/plan_rest.hpp>
#include <ballast/plan/plan_training.hpp>

#include "support/archetypes.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace test_plan_plan_data {

namespace {

using namespace ballast;
using namespace ballast_test;

}  // namespace

TEST_CASE("plan_data: every sample is placed or named, and the proofs hold, under every policy") {
  splitmix64 draw(11);
  smallest_cost const cost(3);
  for (auto const policy : {oversize::set_aside, oversize::truncate, oversize::split})
    for (auto const rest : {left_over::split, left_over::shorten, left_over::repeat, left_over::drop})
      for (std::size_t const n : {0U, 1U, 40U, 700U}) {
        auto const price = draw() % 2 == 0 ? 0 : between(1, 300, draw);  // a mean place holds some 300
        CAPTURE(static_cast<int>(policy), static_cast<int>(rest), n, price);
        auto const lengths = random_lengths(n, 130, draw);
        batching_options const o{.capacity = 100,
                                 .ranks = 4,
                                 .micro_batches = 2,
                                 .left_over = rest,
                                 .seed = 7,
                                 .cost_per_micro_batch = price,
                                 .cost_per_step = 2 * price};
        auto const plan = plan_data(weakest_lengths(lengths), {.steps = o, .oversize = policy}, cost);
        auto const limits = report_balance(plan.steps, plan.samples, o);
        auto const planned = figures_of(plan.steps, plan.samples, o, 1.0);
        auto listed = plan.steps;  // what was set aside stands in no step
        listed.dropped.insert(listed.dropped.end(), plan.samples.set_aside.begin(), plan.samples.set_aside.end());
        std::sort(listed.dropped.begin(), listed.dropped.end());
        CHECK(describe(check_batching(listed, plan.samples.tokens, o, cost)) == "valid");
        CHECK(plan.samples.tokens.size() == n + plan.samples.pieces.size());
        if (rest == left_over::split || rest == left_over::shorten)
          CHECK(check_packing(plan.steps.packs, lengths, {.capacity = o.capacity, .oversize = policy}).valid());
        CHECK(plan.packs.lower_bound <= plan.packs.value);
        CHECK(limits.bound <= plan.steps.slowest.lower_bound);
        CHECK(std::accumulate(planned.loads.begin(), planned.loads.end(), std::int64_t{0}) == plan.steps.cost);
        CHECK(limits.slowest_over_mean <= planned.single_sample_bound);
        CHECK(planned.single_sample_bound <= planned.slowest_over_mean);
        for (auto const& d : limits.samples) CHECK(plan.samples.tokens[d.sample] == d.tokens);
      }
}

TEST_CASE("plan_data: the plan and its bound are those of the rooms below, and each sample is weighed once") {
  splitmix64 draw(12);
  auto const lengths = random_lengths(600, 512, draw);
  std::int64_t calls = 0;
  auto const counted = [&calls](std::int64_t length) {
    ++calls;
    return length * (1000 + length);
  };
  for (auto const policy : {oversize::reject, oversize::set_aside, oversize::truncate, oversize::split}) {
    CAPTURE(static_cast<int>(policy));
    batching_options const o{.capacity = policy == oversize::reject ? 512 : 400, .ranks = 4, .micro_batches = 2, .seed = 5};
    calls = 0;
    auto const plan = plan_data(lengths, {.steps = o, .oversize = policy}, counted);
    auto const longer = std::count_if(lengths.begin(), lengths.end(), [&](auto l) { return l > o.capacity; });
    CHECK(calls == 600 + (policy == oversize::split ? longer : policy == oversize::set_aside ? -longer : 0));
    auto const best_fit = best_fit_decreasing(lengths, {.capacity = o.capacity, .oversize = policy});
    CHECK(plan.packs.lower_bound == best_fit.count.lower_bound);
    CHECK(plan.bound == best_fit.bound);
    if (policy == oversize::reject) CHECK(hash(plan.steps) == hash(plan_steps(lengths, o, counted)));
  }
  data_plan_options const o{.steps = {.capacity = 512, .ranks = 4, .micro_batches = 2, .seed = 5}};
  auto const model = transformer_preset("qwen2.5-0.5b");
  CHECK(hash(plan_data(lengths, o, model).steps) == hash(plan_data(lengths, o, sample_cost(model)).steps));
}

TEST_CASE("plan_data: no micro-batch has more samples than allowed, pieces included, and the bound counts the limit") {
  splitmix64 draw(13);
  for (auto const policy : {oversize::set_aside, oversize::truncate, oversize::split})
    for (auto const rest : {left_over::split, left_over::shorten, left_over::repeat, left_over::drop})
      for (std::size_t const n : {0U, 1U, 40U, 700U}) {
        auto const lengths = random_lengths(n, 130, draw);
        data_plan_options o{.steps = {.capacity = 300, .ranks = 4, .micro_batches = 2, .left_over = rest, .seed = 7}, .oversize = policy};
        o.steps.capacity = draw() % 2 == 0 ? 100 : 300;
        o.max_samples = 1 + draw() % 8;
        CAPTURE(static_cast<int>(policy), static_cast<int>(rest), n, o.steps.capacity, o.max_samples);
        auto const plan = plan_data(lengths, o, dense_4096_cost);
        auto listed = plan.steps;
        listed.dropped.insert(listed.dropped.end(), plan.samples.set_aside.begin(), plan.samples.set_aside.end());
        std::sort(listed.dropped.begin(), listed.dropped.end());
        CHECK(describe(check_batching(listed, plan.samples.tokens, o.steps, dense_4096_cost)) == "valid");
        auto const others = usual_batchings_of(plan, o);
        for (auto const* const steps : {&plan.steps, &others.naive, &others.usual}) {
          std::uint64_t trained = 0;
          for (std::size_t s = 0; s < steps->steps(); ++s)
            for (auto const pack : steps->packs_of(s)) {
              CHECK(pack.size() <= o.max_samples);
              trained += pack.size();
            }
          if (steps == &plan.steps) CHECK(plan.packs.lower_bound >= static_cast<std::int64_t>(divide_up(trained, o.max_samples)));
        }
        CHECK(plan.packs.lower_bound <= plan.packs.value);
        auto loose = o;
        loose.max_samples = 100'000;  // more than repetitions make
        auto none = o;
        none.max_samples = 0;
        auto const free = plan_data(lengths, none, dense_4096_cost), unbound = plan_data(lengths, loose, dense_4096_cost);
        CHECK(hash(unbound.steps) == hash(free.steps));
        CHECK(unbound.packs == free.packs);
      }

  std::vector<std::int64_t> mixed;  // long samples leave no room for the short ones that their packs may have by number
  for (int i = 0; i < 700; ++i) mixed.push_back(i < 100 ? between(8000, 8192, draw) : between(200, 300, draw));
  data_plan_options const o{.steps = {.capacity = 8192, .ranks = 2}, .max_samples = 2};
  auto const plan = plan_data(mixed, o, dense_4096_cost);
  CHECK(plan.bound == packing_bound::mixture);
  CHECK(plan.packs.lower_bound > packing_lower_bound(fold(mixed), 8192, 2).packs);
  CHECK(plan.packs.optimal());
}

TEST_CASE("plan_data: what is set aside leaves the plan of the others as it is, and what is cut is planned as it is cut") {
  std::vector<std::int64_t> const lengths{7, 40, 9, 3, 12, 25, 8, 10, 1, 5};
  batching_options const o{.capacity = 12, .ranks = 2};
  auto const aside = plan_data(lengths, {.steps = o, .oversize = oversize::set_aside}, token_cost{});
  CHECK(aside.samples.set_aside == std::vector<std::uint32_t>{1, 5});
  auto others = plan_steps(std::vector{7, 9, 3, 12, 8, 10, 1, 5}, o, token_cost{});
  renumber<std::uint32_t>(others, std::vector<std::uint32_t>{0, 2, 3, 4, 6, 7, 8, 9});
  CHECK(aside.steps.packs == others.packs);
  CHECK(aside.steps.table == others.table);
  auto const cut = plan_data(lengths, {.steps = o, .oversize = oversize::truncate}, token_cost{});
  CHECK(cut.samples.tokens == std::vector<std::int64_t>{7, 12, 9, 3, 12, 12, 8, 10, 1, 5});
  auto const split = plan_data(lengths, {.steps = o, .oversize = oversize::split}, token_cost{});
  CHECK(split.samples.tokens == std::vector<std::int64_t>{7, 12, 9, 3, 12, 12, 8, 10, 1, 5, 12, 12, 4, 12, 1});
  CHECK(split.steps.tokens == 120);

  auto const refused = [&](oversize policy) {
    return refusal([&] { return plan_data(lengths, {.steps = o, .oversize = policy}, token_cost{}); });
  };
  CHECK(refused(oversize::alone) == "oversize = alone: a micro-batch never exceeds the capacity");
  CHECK(refused(oversize::reject).substr(0, 28) == "lengths[1] = 40 exceeds capa");
}

TEST_CASE("plan_data: under the cost of layers, the slowest ranks take what their timelines say", "[property]") {
  splitmix64 draw(52);
  for (int round = 0; round < 40; ++round) {
    std::vector<layer> layers(3, {.name = "block", .options = {{}}});
    for (auto& l : layers) {
      l.forward = {.per_token = between(1, 9, draw), .per_square = between(0, 2, draw), .per_batch = between(0, 4000, draw)};
      l.backward = {.per_token = between(1, 9, draw), .per_square = between(0, 2, draw), .per_batch = between(0, 4000, draw)};
    }
    auto const lengths = random_lengths(300, 90, draw);
    data_plan_options const o{.steps = {.capacity = 100,
                                        .ranks = static_cast<std::uint64_t>(between(1, 5, draw)),
                                        .micro_batches = static_cast<std::uint64_t>(between(1, 4, draw)),
                                        .left_over = static_cast<left_over>(round % 2)}};
    auto const cost = chain_cost_of(layers, {.tokens = 100});
    auto const plan = plan_data(lengths, o, cost);
    auto const packs = shapes_of(plan.steps.packs, std::span<std::int64_t const>(plan.samples.tokens));
    auto const run = plan_training<std::uint32_t>(plan.steps, packs, layers, {.stages = 1, .memory = 1}, {});
    CAPTURE(round, cost.per_micro_batch);
    CHECK(plan.steps.slowest.value == 1000 * run.time.value);  // nanoseconds of layers, in picoseconds
    CHECK(plan.steps.slowest.lower_bound <= plan.steps.slowest.value);
    auto const with = with_constant(o, cost);
    CHECK(hash(plan.steps) == hash(plan_data(lengths, with, cost.tokens).steps));
    CHECK(with_constant(with, cost).steps.cost_per_micro_batch == 2 * cost.per_micro_batch);
    auto const rest = plan_rest(plan, plan.steps.steps() / 2, with, cost.tokens);
    CHECK(rest.found >= cost.per_micro_batch * static_cast<std::int64_t>(rest.plan.steps.steps()));
    CHECK(steps_lower_bound(weigh(lengths, with.steps, cost.tokens), with.steps) <= plan.steps.slowest.value);
    auto free = cost;
    free.per_micro_batch = 0;
    CHECK(hash(plan_data(lengths, o, free).steps) == hash(plan_data(lengths, o, cost.tokens).steps));
  }
  chain_cost const dear{.tokens = {.linear = 1}, .per_micro_batch = std::int64_t{1} << 62};
  data_plan_options o{.steps = {.capacity = 8}};
  CHECK(refusal([&] { return plan_data(std::vector{3}, o, dear); }) ==
        "cost_per_micro_batch = 4611686018427387904 and cost_per_step = 0 bring the cost of 1 sample too near to 2^63; count costs in a "
        "larger unit");
  o.steps.cost_per_micro_batch = std::int64_t{1} << 62;
  CHECK(refusal([&] { return plan_data(std::vector{3}, o, dear); }) ==
        "cost_per_micro_batch = 4611686018427387904 and 4611686018427387904 units of the layers are negative, or reach 2^63");
}

}  // namespace test_plan_plan_data
