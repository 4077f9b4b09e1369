// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/collective.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/exchange.hpp>
#include <ballast/cost/kernel_time.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/vision.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/timed_layers.hpp>
#include <ballast/plan/memory_of.hpp>
#include <ballast/plan/search_degrees.hpp>
#include <ballast/plan/training_setting.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace test_plan_vision_tensor {

using namespace ballast;
using ballast_test::refusal;

namespace {

/// A tower of two layers of width 64, with 4 heads and an inner width of 128, of 16 tokens a tile; 4 of them go on, 32 wide.
vision_language_model small_model() {
  transformer language{.layers = 4, .hidden = 32, .query_heads = 4, .kv_heads = 4, .head_width = 8, .ffn = 64, .vocabulary = 128};
  transformer body{.layers = 2, .hidden = 64, .query_heads = 4, .kv_heads = 4, .head_width = 16, .ffn = 128, .gated = false};
  body.causal = false;
  return {.vision = {.body = body, .patch = 2, .tile_tokens = 16},
          .projector = {.input = 256, .output = 32, .tokens = 4},
          .language = language};
}

model_setting four(std::int64_t vision_tensor, tensor_count count = tensor_count::table) {
  return {.spread = {.tensor = 4, .data = 8, .zero = 1}, .framework = {.count = count}, .vision_tensor = vision_tensor};
}

bool same(double a, double b) { return std::fabs(a - b) <= 1e-3 * std::fabs(b); }

}  // namespace

TEST_CASE("vision_tensor: the states of a tower's layer are those counted by hand", "[vision_tensor]") {
  auto const model = small_model();
  // a layer has four matrices of attention and two of its feed-forward block; a norm in front of each
  std::int64_t const matrices = 4 * 64 * 64 + 2 * 64 * 128, rest = layer_parameters(model.vision.body, 0) - matrices;
  REQUIRE(rest >= 2 * 64);
  auto const of = [&](std::int64_t vision) { return layers_of(model, four(vision))[1].state; };
  // parameters and gradients of a part, and of that the optimiser's states of one of the ranks that have it
  auto const by_hand = [&](std::int64_t parts) {
    auto const held = matrices / parts + rest;
    return 6 * held + 12 * held / (8 * 4 / parts);
  };
  auto const near = [](std::int64_t a, std::int64_t b) { return a >= b && a < b + 64; };  // shares are rounded up; biases may be split
  CHECK(near(of(1), by_hand(1)));
  CHECK(std::abs(of(2) - by_hand(2)) <= 6 * (rest + 12));
  CHECK(of(4) == of(0));
  CHECK(of(2) < of(1));
  CHECK(of(0) < of(2));
  for (std::size_t i = 4; i < 10; ++i) CHECK(layers_of(model, four(1))[i].state == layers_of(model, four(0))[i].state);  // language model
}

TEST_CASE("vision_tensor: a device computes and keeps its share of a tile, and gathers what others computed", "[vision_tensor]") {
  auto const model = small_model();
  auto const alone = layers_of(model, {}), shared = layers_of(model, four(1)), usual = layers_of(model, four(0));
  auto const quarter = [](std::int64_t whole) { return (whole + 3) / 4; };
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    CHECK(shared[i].forward.per_tile == quarter(alone[i].forward.per_tile));
    CHECK(shared[i].backward.per_tile == quarter(alone[i].backward.per_tile));
    CHECK(shared[i].working.per_tile == quarter(alone[i].working.per_tile));
    CHECK(shared[i].boundary == alone[i].boundary);
    REQUIRE(shared[i].options.size() == alone[i].options.size());
    for (std::size_t o = 0; o < alone[i].options.size(); ++o) {
      CHECK(shared[i].options[o].bytes.per_tile == quarter(alone[i].options[o].bytes.per_tile));
      CHECK(shared[i].options[o].bytes.per_tile <= usual[i].options[o].bytes.per_tile);
    }
    CHECK(shared[i].forward.per_tile == usual[i].forward.per_tile);
  }
  auto const of_activations = [](layer const& l) {
    std::vector<layer_traffic> out;
    for (auto const& e : l.exchanges)
      if (e.what == traffic::tensor) out.push_back(e);
    return out;
  };
  for (std::size_t i = 0; i < 3; ++i) CHECK(of_activations(shared[i]).empty());
  CHECK_FALSE(of_activations(usual[1]).empty());
  auto const gathered = of_activations(shared[3]);  // 4 tokens of 32 values of two bytes for each tile, forward and backward
  REQUIRE(gathered.size() == 2);
  for (auto const& e : gathered) {
    CHECK(e.how == collective::all_gather);
    CHECK(e.over == rank_group{4, 1});
    CHECK(e.bytes_of_batch == batch_cost{.per_tile = 2 * 4 * 32});
  }
  CHECK(gathered[0].when == exchange_phase::forward);
  CHECK(gathered[1].when == exchange_phase::backward);
  auto frozen = four(2);
  frozen.vision = frozen.projector = {.what = trained::none};
  auto const forward = of_activations(layers_of(model, frozen)[3]);  // no gradient passes back
  REQUIRE(forward.size() == 1);
  CHECK(forward[0].over == rank_group{2, 2});
}

TEST_CASE("vision_tensor: stages hold what a device alone holds for the tiles of one share", "[vision_tensor][memory_of]") {
  auto const model = small_model();
  for (auto const count : {tensor_count::table, tensor_count::megatron, tensor_count::eager}) {
    auto const held = [&](model_setting const& by, std::int64_t tiles) {
      training_setting setting{.model = by, .sequence = 64};
      return memory_of(model, setting, {.tokens = 64, .squares = 64 * 64, .tiles = tiles}).front();
    };
    auto const of_tiles = [&](model_setting const& by, std::int64_t tiles) { return held(by, tiles).kept - held(by, 0).kept; };
    model_setting const one{.framework = {.count = count}};
    CAPTURE(static_cast<int>(count));
    CHECK(of_tiles(four(1, count), 5) == of_tiles(one, 2));  // the busiest of four devices has two of five
    CHECK(of_tiles(four(1, count), 8) == of_tiles(one, 2));
    CHECK(of_tiles(four(1, count), 8) < of_tiles(four(0, count), 8));
    CHECK(held(four(1, count), 8).states > held(four(2, count), 8).states);
    CHECK(held(four(4, count), 8) == held(four(0, count), 8));
    // the layers say the same of the states
    std::int64_t sum = 0;
    for (auto const& l : layers_of(model, four(1, count))) sum += l.state;
    CHECK(std::abs(held(four(1, count), 8).states - sum) <= 64);
  }
  // in a pipeline of FSDP2, parameters and their gradients are whole on each device that has the same part
  auto fsdp = four(1, tensor_count::eager), usual = four(0, tensor_count::eager);
  fsdp.spread.zero = usual.spread.zero = 3;
  auto const gathered = [&](model_setting const& by) {
    training_setting setting{.model = by, .pipeline = {.stages = 2}, .sequence = 64};
    return memory_of(model, setting, {.tokens = 64, .squares = 64 * 64, .tiles = 4}).front().gathered;
  };
  auto const of_tower = parameters(model.vision) + parameters(model.projector);
  CHECK(gathered(fsdp) > gathered(usual));
  CHECK(gathered(fsdp) - gathered(usual) <= 6 * of_tower * 3 / 4);  // instead of a quarter, and of what TP does not divide, all
  CHECK(gathered(fsdp) - gathered(usual) > 6 * of_tower / 2);
  training_setting alone{.model = usual, .pipeline = {.stages = 2}, .sequence = 64};
  CHECK(memory_of(model.language, alone).size() == 2);
  alone.model.vision_tensor = 1;  // of a model without a tower, it says nothing
  CHECK(memory_of(model.language, alone) ==
        memory_of(model.language, training_setting{.model = usual, .pipeline = {.stages = 2}, .sequence = 64}));
  CHECK(refusal([] { return layers_of(small_model(), four(3)).size(); }) == "vision_tensor = 3 must divide tensor = 4");
  CHECK(refusal([] { return layers_of(small_model(), four(8)).size(); }) == "vision_tensor = 8 must be in [0, 4]");
}

TEST_CASE("vision_tensor: the time of a share is that of its tiles on a device alone", "[vision_tensor]") {
  auto const& model = vision_language_preset("qwen2.5-vl-7b");
  auto const h100 = device_named("h100");
  time_setting const with{.rates = kernels_for(h100)};
  auto const timed = [&](model_setting const& by, std::int64_t tiles) {
    auto chain = layers_of(model, by);
    time_layers(chain, model, by, h100, with, {.tokens = 4096, .squares = 4096 * 4096, .tiles = tiles});
    auto const units = static_cast<double>(time_units(by));
    return std::vector<double>{
        static_cast<double>(chain[1].forward.per_tile) / units, static_cast<double>(chain[1].backward.per_tile) / units,
        static_cast<double>(chain[1].pace.forward.per_tile) / units, static_cast<double>(chain[33].pace.forward.per_tile) / units};
  };
  auto const shared = timed(four(1), 16), alone = timed({}, 4), usual = timed(four(0), 16);
  CHECK(same(4 * shared[0], alone[0]));
  CHECK(same(4 * shared[1], alone[1]));
  CHECK(shared[2] == 0);
  CHECK(usual[2] > 0);
  CHECK(shared[0] + shared[2] < usual[0] + usual[2]);  // no exchange, and larger matrices
  CHECK(usual[3] == 0);
  // of the projector, the tokens of a tile are gathered: 256 of 3,584 values
  CHECK(same(shared[3], static_cast<double>(ring_time(2 * 256 * 3584, {4, 1}, links_of(h100), with.rates))));
}

TEST_CASE("time_layers: context parallelism does not divide the tower of Megatron-Core", "[vision_tensor]") {
  auto const& model = vision_language_preset("qwen2.5-vl-7b");
  auto const h100 = device_named("h100");
  auto const of_tower = [&](std::int64_t context) {
    model_setting by{.spread = {.context = context, .data = context}, .framework = framework_named("megatron")};
    auto chain = layers_of(model, by);
    time_layers(chain, model, by, h100, {.rates = kernels_for(h100)}, {.tokens = 4096, .squares = 4096 * 4096, .tiles = 8});
    return static_cast<double>(chain[1].forward.per_tile) / static_cast<double>(time_units(by));
  };
  CHECK(same(of_tower(4), of_tower(1)));
}

TEST_CASE("search_degrees: the best degree of a tower is that of all of its divisors, tried one by one", "[vision_tensor]") {
  auto model = vision_language_preset("internvl-chat-1.5");
  model.vision.body.layers = 6;
  model.language.layers = 6;
  batch_shape const pack{.tokens = 4096, .squares = 4096 * 2048, .tiles = 9};
  search_options o{.gpus = 8, .memory = 60'000'000'000, .sequence = 4096, .global_batch = 16, .tiles = 9, .keep = 1};
  cluster const on{};
  auto least = std::numeric_limits<std::int64_t>::max();
  std::uint64_t settings = 0;
  o.tensor = {4};
  for (auto const vision : {0, 1, 2}) {
    o.vision_tensor = {vision};
    auto const found = search_degrees(model, {pack, pack}, o, on, {});
    REQUIRE(found.status == status::feasible);
    CHECK(found.ranked.front().setting.model.vision_tensor == vision);
    least = (std::min)(least, found.step.value);
    settings += found.settings;
  }
  o.vision_tensor.clear();
  auto const found = search_degrees(model, {pack, pack}, o, on, {});
  CHECK(found.step.value == least);
  CHECK(found.settings == settings);
  o.vision_tensor = {0, 1, 2};  // in any order
  CHECK(search_degrees(model, {pack, pack}, o, on, {}).step.value == least);
  o.vision_tensor = {0};
  CHECK(least < search_degrees(model, {pack, pack}, o, on, {}).step.value);
  o.vision_tensor = {3};
  CHECK(search_degrees(model, {pack, pack}, o, on, {}).settings == 0);
}

}  // namespace test_plan_vision_tensor
