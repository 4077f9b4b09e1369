// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/evaluate.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/layer_time.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/footprint/timed_layers.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace test_footprint_timed_layers {

using namespace ballast;

namespace {
auto const h100 = device_named("h100");
time_setting const bf16{.rates = kernels_named("h100-te-bf16")};

std::vector<layer> timed(transformer const& model, model_setting const& by, batch_shape const& typical, time_setting const& with = bf16,
                         device const& on = h100, std::uint64_t stages = 1) {
  auto out = layers_of(model, by);
  time_layers(out, model, by, on, with, typical, stages);
  return out;
}
layer_evaluator evaluator(model_setting const& by) { return layer_evaluator({.work_per_ms = time_units(by) * 1'000'000'000}); }
/// Picoseconds of both passes, without shards of ZeRO.
double ps_of(layer const& l, model_setting const& by, batch_shape const& batch) {
  auto const evaluate = evaluator(by);
  auto const waits = evaluate.waits(l, batch);
  return 1000.0 * static_cast<double>(evaluate(l, l.options.front(), batch).time + waits.forward + waits.backward);
}
}  // namespace

TEST_CASE("time_layers: layers take what their kernels take", "[property]") {
  struct row {
    char const* model;
    model_setting by;
    double within;
  };
  row const rows[] = {{"llama-3.1-8b", {}, 0.025},
                      {"llama-3.1-70b", {.spread = {.tensor = 4, .data = 4, .sequence_parallel = true}}, 0.015},
                      {"qwen3-30b-a3b", {.spread = {.data = 8}, .expert = 8, .expert_tensor = 1}, 0.01},
                      {"qwen2.5-0.5b", {.spread = {.context = 4, .data = 4}}, 0.05}};
  for (auto const& r : rows) {
    auto const model = transformer_preset(r.model);
    for (std::int64_t const tokens : {4096, 16384, 100'000})
      for (std::int64_t const length : {std::int64_t{512}, tokens}) {
        batch_shape const batch{.tokens = tokens, .squares = tokens * length, .tiles = 0};
        CAPTURE(r.model, tokens, length);
        auto const chain = timed(model, r.by, batch);
        REQUIRE(chain.size() == static_cast<std::size_t>(model.layers) + 2);
        CHECK(ps_of(chain[0], r.by, batch) == 0);
        for (std::size_t const l : {std::size_t{1}, static_cast<std::size_t>(model.layers)}) {
          auto const parts = parts_of_layer(model, static_cast<std::int64_t>(l) - 1, r.by, h100, bf16, batch);
          auto const pass = overlapped(parts, model, r.by, bf16);
          CHECK(std::fabs(ps_of(chain[l], r.by, batch) / static_cast<double>(pass.time.both()) - 1) < r.within);
        }
        auto const head = head_time(model, r.by, h100, bf16, tokens);
        CHECK(std::fabs(ps_of(chain.back(), r.by, batch) / static_cast<double>(head.gemm.both() + head.memory.both()) - 1) < 2 * r.within);
      }
  }
}

TEST_CASE("time_layers: the host is waited for where micro-batches are small") {
  auto const model = transformer_preset("qwen3-30b-a3b");
  model_setting const by{.spread = {.data = 8}, .expert = 8, .expert_tensor = 1};
  batch_shape const small{.tokens = 1024, .squares = 1024 * 512, .tiles = 0};
  auto const layer = timed(model, by, small)[1];
  CHECK(std::fabs(ps_of(layer, by, small) - static_cast<double>(bf16.rates.host_experts)) <= 4000);  // in nanoseconds
  auto const more = batch_shape{.tokens = 32768, .squares = 32768 * 512, .tiles = 0};
  CHECK(ps_of(layer, by, more) > static_cast<double>(bf16.rates.host_experts));
}

TEST_CASE("time_layers: recomputation costs what it runs again") {
  auto const model = transformer_preset("llama-3.1-8b");
  batch_shape const batch{.tokens = 8192, .squares = 8192 * 4096, .tiles = 0};
  model_setting const by{.spread = {.tensor = 2, .data = 2, .sequence_parallel = true}};
  auto const layer = timed(model, by, batch)[1];
  auto const parts = parts_of_layer(model, 0, by, h100, bf16, batch);
  auto const pass = overlapped(parts, model, by, bf16);
  auto const evaluate = evaluator(by);
  REQUIRE(layer.options.size() >= 2);
  auto compared = 0;
  for (auto const& o : layer.options) {
    if (o.recomputed == recomputation::none) {
      CHECK(o.work == batch_cost{});
      continue;
    }
    auto const full = o.recomputed == recomputation::full;
    auto const exact = full ? pass.time.forward : recompute_time(parts, pass, again::modules, o.modules);
    auto const is = evaluate(layer, o, batch).recompute + (full ? evaluate.waits(layer, batch).again : 0);
    CHECK(std::fabs(1000.0 * static_cast<double>(is) / static_cast<double>(exact) - 1) < 0.03);
    ++compared;
  }
  CHECK(compared >= 1);
}

TEST_CASE("time_layers: shards travel beside passes, gradients at the end of a step") {
  auto const model = transformer_preset("llama-3.1-8b");
  batch_shape const batch{.tokens = 4096, .squares = 4096 * 4096, .tiles = 0};
  auto const at = [&](int zero, std::uint64_t stages = 1) {
    return timed(model, {.spread = {.data = 64, .zero = zero}}, batch, bf16, h100, stages)[1];
  };
  auto const none = at(0).pace, one = at(1).pace, two = at(2).pace, three = at(3).pace, piped = at(3, 4).pace;
  CHECK(none == one);
  CHECK((one.step > 0 && one.shards_forward == 0 && one.shards_backward == 0));
  CHECK((two.shards_forward == 0 && two.shards_backward > 0 && two.step > 0));
  CHECK((three.shards_forward > 0 && three.shards_backward == three.shards_forward + two.shards_backward && three.step == 0));
  CHECK((piped.shards_forward == 0 && piped.shards_backward == two.shards_backward && piped.step == three.shards_forward));
  // a pass takes no less than its shards, and with small micro-batches nothing more
  model_setting const by{.spread = {.data = 64, .zero = 3}};
  auto const layer = at(3);
  batch_shape const tiny{.tokens = 16, .squares = 256, .tiles = 0};
  auto const shards = static_cast<double>(three.shards_forward + three.shards_backward) / static_cast<double>(time_units(by));
  CHECK(std::fabs(ps_of(layer, by, tiny) - shards) <= 4000);
  auto const alone = timed(model, {.spread = {.data = 1, .zero = 3}}, batch)[1];
  CHECK((alone.pace.shards_forward == 0 && alone.pace.shards_backward == 0));
}

TEST_CASE("time_layers: more tokens, less peak and free links never make a layer faster, slower, or wait", "[property]") {
  auto const model = transformer_preset("llama-3.1-70b");
  model_setting const by{.spread = {.tensor = 8, .data = 8, .sequence_parallel = true}};
  batch_shape const typical{.tokens = 8192, .squares = 8192 * 2048, .tiles = 0};
  auto const chain = timed(model, by, typical);
  double before = 0;
  for (std::int64_t tokens = 0; tokens < 40'000; tokens += 777) {
    auto const time = ps_of(chain[3], by, {.tokens = tokens, .squares = tokens * 1024, .tiles = 0});
    CHECK(time >= before);
    before = time;
  }
  auto slow = h100;
  slow.bf16_flops = slow.bf16_flops / 10 * 8;
  CHECK(ps_of(timed(model, by, typical, bf16, slow)[3], by, typical) > ps_of(chain[3], by, typical));
  auto alone = h100;  // exchanges take no time
  alone.link_bandwidth = alone.network_bandwidth = 0;
  auto const free = timed(model, by, typical, bf16, alone)[3];
  CHECK((free.pace.forward == batch_cost{.per_batch = free.pace.forward.per_batch} && free.pace.step == 0));
  CHECK(ps_of(free, by, typical) < ps_of(chain[3], by, typical));
}

TEST_CASE("time_layers: what is frozen takes less, by its FLOPs") {
  auto const model = transformer_preset("qwen2.5-7b");
  batch_shape const batch{.tokens = 8192, .squares = 8192 * 2048, .tiles = 0};
  auto const of = [&](trained what) { return timed(model, {.language = {.what = what}}, batch); };
  auto const all = of(trained::all), adapters = of(trained::low_rank), none = of(trained::none);
  CHECK(adapters[5].backward.per_token < all[5].backward.per_token * 6 / 10);
  CHECK(adapters[5].backward.per_square == all[5].backward.per_square);  // gradients of all queries, keys and values
  CHECK(adapters[5].forward.per_token > all[5].forward.per_token);
  CHECK((none[5].backward == batch_cost{} && none[5].pace.host_backward == 0));
  CHECK(none[5].forward == all[5].forward);
}

TEST_CASE("time_layers: towers take the time of their tokens by tile") {
  auto const model = vision_language_preset("internvl-chat-1.5");
  model_setting const by{};
  batch_shape const typical{.tokens = 4096, .squares = 4096 * 2048, .tiles = 8};
  auto chain = layers_of(model, by);
  time_layers(chain, model, by, h100, bf16, typical);
  auto const n = model.vision.tokens();
  auto const parts = parts_of_layer(model.vision.body, 0, by, h100, bf16, {.tokens = 8 * n, .squares = 8 * n * n, .tiles = 0});
  auto const pass = overlapped(parts, model.vision.body, by, bf16);
  CHECK(std::fabs(ps_of(chain[1], by, typical) / static_cast<double>(pass.time.both()) - 1) < 0.03);
  for (auto const& l : chain)
    if (l.name.starts_with("vision")) CHECK((l.forward.per_token == 0 && l.forward.per_square == 0));
  CHECK((chain[0].forward.per_tile > 0 && chain.back().forward.per_token > 0));
  chain.pop_back();
  CHECK(ballast_test::refusal([&] { return (time_layers(chain, model, by, h100, bf16, typical), 0); }) ==
        "the chain has " + std::to_string(chain.size()) + " layers, that of the model has " + std::to_string(chain.size() + 1));
}

}  // namespace test_footprint_timed_layers
