// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/plan_steps.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/cluster.hpp>
#include <ballast/packing/oversize.hpp>
#include <ballast/plan/figures.hpp>

#include "support/archetypes.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace test_plan_figures {

namespace {

using namespace ballast;
using namespace ballast_test;

bool close(double a, double b) { return std::fabs(a - b) <= 1e-9 * (1 + std::fabs(b)); }

}  // namespace

TEST_CASE("figures_of: two steps by hand") {
  std::vector<std::int64_t> const lengths{4, 3, 2, 6, 1, 5};
  groups<> packs;
  for (auto const& pack : {std::vector<std::uint32_t>{0, 1}, {2}, {3}, {4}, {5}}) packs.push_back(pack);
  batching_options const o{.capacity = 8, .ranks = 2, .micro_batches = 2, .left_over = left_over::shorten};
  quadratic_cost const cost{.linear = 2, .quadratic = 1};  // 24, 15, 8, 48, 3, 35
  auto const samples = weigh(lengths, o, cost);
  auto const plan = deal_steps(packs, samples, o, {.how = dealing::in_order});
  // step 0: rank 0 has packs 0 and 2, rank 1 packs 1 and 3; step 1: pack 4 on rank 0
  auto const f = figures_of(plan, samples, o, 0.5);
  CHECK(f.loads == std::vector<std::int64_t>{24 + 15 + 48, 8 + 3, 35, 0});
  CHECK((f.packs == 5 && f.steps == 2 && f.tokens == 21));
  CHECK(close(f.fill, 21.0 / 40));
  CHECK(close(f.dbr, ((13.0 - 3) / 26 + 5.0 / 10) / 2));
  CHECK(close(f.abr, ((61.0 - 5) / 122 + 25.0 / 50) / 2));
  CHECK(close(f.slowest_over_mean, (87.0 + 35) / (133.0 / 2)));
  CHECK(close(f.idle, 1 - (133.0 / 2) / (87 + 35)));
  CHECK(close(f.single_sample_bound, (49.0 + 35) / (133.0 / 2)));  // the mean of 98 / 2, the sample of 35
  CHECK(close(f.modelled_total_ms, 61));
  CHECK(close(f.modelled_step_ms, 30.5));

  auto const none = figures_of(deal_steps(groups<>{}, weighed_samples{}, o), weighed_samples{}, o, 0.5);
  CHECK((none.steps == 0 && none.loads.empty() && none.modelled_step_ms == 0));
  CHECK(close(none.slowest_over_mean, 1));
}

TEST_CASE("figures_of: agrees with the metrics where ranks wait per step, and with the certificate elsewhere") {
  splitmix64 draw(5);
  auto const lengths = random_lengths(900, 400, draw);
  for (auto const where : {synchronisation::per_step, synchronisation::per_micro_batch, synchronisation::pipeline}) {
    CAPTURE(static_cast<int>(where));
    batching_options const o{.capacity = 512, .ranks = 4, .micro_batches = 3, .synchronisation = where, .stages = 5};
    auto const samples = weigh(lengths, o, dense_4096_cost);
    auto const plan = plan_steps(samples, o);
    auto const f = figures_of(plan, samples, o, 2.0);
    CHECK(f == figures_of(plan, apply_oversize(lengths, {.capacity = 512}, dense_4096_cost), o, 2.0));
    CHECK(std::accumulate(f.loads.begin(), f.loads.end(), std::int64_t{0}) == plan.cost);
    auto const metrics = balance_of_steps(f.loads, 4);
    auto const sharing = where == synchronisation::pipeline ? 5.0 : 1.0;
    CHECK(close(f.modelled_total_ms, 2.0 * static_cast<double>(plan.slowest.value) / sharing));
    CHECK(f.single_sample_bound <= f.slowest_over_mean);
    if (where == synchronisation::per_step) {
      CHECK(close(f.idle, metrics.idle()));
      CHECK(close(f.slowest_over_mean, metrics.slowest_over_mean()));
    } else {
      CHECK(f.idle > metrics.idle());
    }
  }
}

TEST_CASE("figures_of: throws for samples that ranks share") {
  batching_options const o{.capacity = 8, .ranks = 2};
  auto const samples = weigh(std::vector{5}, o, dense_4096_cost);
  auto plan = deal_steps(groups<>{{0, 1}, {0}}, samples, o);
  plan.shared.push_back({.sample = 0, .ranks = 2});
  CHECK(refusal([&] { return figures_of(plan, samples, o, 1.0); }) == "sample 0 is shared by ranks, which these figures do not count");
}

TEST_CASE("ms_per_unit: a step of a known number of FLOPs takes their time") {
  auto const cost = sample_cost(transformer_preset("llama-3.1-8b"));
  auto const forward = static_cast<double>(cost(8192)) * static_cast<double>(cost.flops_per_unit);
  auto const ms = static_cast<double>(cost(8192)) * ms_per_unit(cost, {.device = device_named("a100"), .mfu = 0.5});
  CHECK(close(ms, 3 * forward / 156e12 * 1000));
  CHECK(close(ms_per_unit(cost, {}) * 989.4e12 * 0.4, 3000 * static_cast<double>(cost.flops_per_unit)));
  CHECK(refusal([&] { return ms_per_unit(cost, {.mfu = 0}); }) == "mfu = 0.000000 must be in (0, 1]");
}

}  // namespace test_plan_figures
