// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/check.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/plan/timed_data.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <cstdint>
#include <numeric>
#include <vector>

namespace test_plan_timed_data {

using namespace ballast;

namespace {

std::vector<std::int64_t> drawn(std::size_t n, std::int64_t most) {
  splitmix64 draw(11);
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < n; ++i) {
    auto const power = 1 + draw() % 64;
    out.push_back(1 + static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(most)) / static_cast<std::int64_t>(power));
  }
  return out;
}

}  // namespace

TEST_CASE("plan_data on devices: under the time of kernels, or of FLOPs where a share of the peak is given; no token is lost") {
  auto const lengths = drawn(3000, 8192);
  auto const& model = transformer_preset("llama-3.1-8b");
  data_plan_options const o{.steps = {.capacity = 8192, .ranks = 4, .micro_batches = 2}};
  cluster const on{.device = device_named("a100")};
  for (model_setting const& by : {model_setting{}, model_setting{.spread = {.tensor = 4, .data = 4}}}) {
    auto const plan = plan_data(lengths, o, model, on, by);
    auto const time = sample_time(model, on.device, times_of(on, by), by, {.capacity = 8192});
    CHECK(hash(plan.steps) == hash(plan_data(lengths, o, time).steps));
    CHECK(plan.samples.cost == plan_data(lengths, o, time).samples.cost);
    CHECK(plan.steps.tokens == std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}));
    CHECK(plan.steps.packs.members.size() == lengths.size());
    CHECK(plan.samples.all_cost > 0);
  }
  auto share = on;
  share.mfu = 0.5;
  CHECK(hash(plan_data(lengths, o, model, share, model_setting{}).steps) == hash(plan_data(lengths, o, model).steps));
  CHECK(plan_data(lengths, o, model, share, model_setting{}).samples.cost == plan_data(lengths, o, model).samples.cost);
}

TEST_CASE("plan_data on devices: image tiles and tokens by the same measure") {
  auto const tokens = drawn(600, 4096);
  std::vector<std::int64_t> tiles;
  for (auto const t : tokens) tiles.push_back(t % 5);
  sample_measures const samples{tiles, tokens};
  auto const& model = vision_language_preset("internvl-chat-1.5");
  data_plan_options const o{.steps = {.capacity = 4096, .ranks = 4}, .others = {9}};
  for (auto const what : {trained::all, trained::none}) {
    model_setting const by{.vision = {.what = what}};
    auto const plan = plan_data(samples, o, model, cluster{}, by);
    auto const time = sample_time(model, device_named("h100"), times_of(cluster{}, by), by, {.capacity = 4096});
    REQUIRE(plan.samples.cost.size() == tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) CHECK(plan.samples.cost[i] == time.per_tile * tiles[i] + time.tokens(tokens[i]));
    CHECK(hash(plan.steps) == hash(plan_data(samples, o, time).steps));
    cluster const share{.mfu = 0.4};
    CHECK(hash(plan_data(samples, o, model, share, by).steps) == hash(plan_data(samples, o, model, by).steps));
  }
}

TEST_CASE("plan_data on devices: a million samples, of which none is lost") {
  std::vector<std::int64_t> lengths;
  splitmix64 draw(3);
  while (lengths.size() < 1'000'000) lengths.push_back(1 + static_cast<std::int64_t>(draw() % 4000));
  auto const plan = plan_data(lengths, {.steps = {.capacity = 32768, .ranks = 64, .micro_batches = 4}}, transformer_preset("qwen2.5-7b"),
                              cluster{}, model_setting{});
  std::vector<bool> seen(lengths.size());
  for (auto const i : plan.steps.packs.members) seen[i] = true;
  CHECK(std::accumulate(seen.begin(), seen.end(), std::size_t{0}) == lengths.size());
  CHECK(plan.steps.packs.members.size() == lengths.size());
  CHECK(plan.steps.slowest_over_mean() < 1.01);
}

}  // namespace test_plan_timed_data
