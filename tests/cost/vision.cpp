// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/layer.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/vision.hpp>
#include <ballast/footprint/model_layers.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>

namespace test_cost_vision {

using namespace ballast;
using ballast_test::refusal;

TEST_CASE("vision: the FLOPs of an image tile") {
  auto const& vit = vision_preset("internvit-6b-448");
  std::int64_t const h = 3200, n = 1025;
  CHECK(vit.tokens() == n);
  // 4 h^2 of attention and 8 h^2 of feed-forward matrices, n^2 pairs of 2 x 2 h, patches of 14 x 14 x 3
  CHECK(tile_flops(vit) == 45 * (2 * 12 * h * h * n + 4 * h * n * n) + 2 * 1024 * h * 588);
  auto const& qwen = vision_language_preset("qwen2.5-vl-7b");  // 1,024 patches, of which 28 layers see 64 and four see all
  CHECK(qwen.vision.tokens() == 1024);
  CHECK(tile_flops(qwen.vision) ==
        std::int64_t{1024} * (32 * 2 * (4 * 1280 * 1280 + 3 * 1280 * 3420) + 4 * 1280 * (28 * 64 + 4 * 1024) + 2 * 1280 * 1176));
  CHECK(tile_flops(qwen.projector) == std::int64_t{2} * 256 * (5120 + 3584) * 5120);
  CHECK(tile_flops(vision_language_preset("internvl-chat-1.5").projector) == std::int64_t{2} * 256 * (12800 + 6144) * 6144);
}

namespace {

/// The tower and projector of Qwen3-VL-8B for a tile of 512 x 512 pixels.
vision_language_model qwen3_vl() {
  vision_language_model out{
      .vision = {.body = {.layers = 27,
                          .hidden = 1152,
                          .query_heads = 16,
                          .kv_heads = 16,
                          .head_width = 72,
                          .ffn = 4304,
                          .gated = false,
                          .positions = 2304,
                          .causal = false,
                          .qkv_bias = true,
                          .output_bias = true,
                          .ffn_bias = true,
                          .norm_bias = true,
                          .final_norm = false},
                 .patch = 16,
                 .channels = 6,
                 .extra_tokens = 0,
                 .tile_tokens = 1024},
      .projector = {.input = 4608, .output = 4096, .tokens = 256, .norm = true, .inner = 4608, .norm_weights = 2304, .deep = {8, 16, 24}},
      .language = transformer_preset("llama-3.1-8b")};
  return out;
}

}  // namespace

TEST_CASE("vision: projectors of other depths, and those of deep layers") {
  auto const deep = qwen3_vl();
  CHECK(parameters(deep.vision) + parameters(deep.projector) == 576'388'336);
  CHECK(tile_flops(deep.projector) == std::int64_t{2} * 256 * 4 * (4608 * 4608 + 4608 * 4096));
  // Llama 4: 5,632 -> 4,096 -> 4,096 -> 5,120; Gemma 3: 1,152 -> h behind a norm of 1,152; neither has biases
  projector const three{.input = 5632, .output = 5120, .tokens = 144, .inner = 4096, .matrices = 3, .bias = false};
  CHECK(parameters(three) == 5632 * 4096 + 4096 * 4096 + 4096 * 5120);
  CHECK(tile_flops(three) == 2 * 144 * parameters(three));
  projector const one{
      .input = 1152, .output = 2560, .tokens = 256, .norm = true, .norm_weights = 1152, .matrices = 1, .bias = false, .vectors = 2};
  CHECK(parameters(one) == 1152 * 2560 + 1152 + 2 * 2560);
  // Mistral Small 3.1: 4 x 1,024 -> 1,024 -> 5,120 -> 5,120 behind a norm of 1,024
  projector const merged{.input = 4096, .output = 5120, .tokens = 256, .norm = true, .norm_weights = 1024, .bias = false, .merged = 1024};
  CHECK(parameters(merged) == 1024 + 4096 * 1024 + 1024 * 5120 + 5120 * 5120);
  CHECK(tile_flops(merged) == 2 * 256 * (parameters(merged) - 1024));
  // GLM-4.1V: 4 x 1,536 -> 4,096 with a bias, a matrix, a norm, and a gated block of 13,696
  projector const gated{.input = 6144,
                        .output = 4096,
                        .tokens = 144,
                        .norm = true,
                        .norm_weights = 8192,
                        .matrices = 1,
                        .bias = false,
                        .merged = 4096,
                        .merged_bias = true,
                        .gated = 13696};
  CHECK(parameters(gated) == 6144 * 4096 + 4096 + 4096 * 4096 + 2 * 4096 + 3 * 4096 * 13696);
  CHECK(tile_flops(gated) == 2 * 144 * (parameters(gated) - 4096 - 8192));
}

TEST_CASE("vision: layers that are never computed are weights alone, and deep outputs go to the language model") {
  auto const& llava = vision_language_preset("llava-1.5-7b");
  auto whole = llava;
  whole.vision.unused_layers = 0;
  CHECK(parameters(llava) == parameters(whole));
  CHECK(parameters(llava) == 7'062'902'784);
  CHECK(tile_flops(whole.vision) - tile_flops(llava.vision) == layer_flops(llava.vision.body, 23)(577));
  auto const chain = layers_of(llava), all = layers_of(whole);
  CHECK(chain.size() + 1 == all.size());
  CHECK(chain[0].state - all[0].state == 2 * layer_parameters(llava.vision.body, 23));  // bf16 weights, as frozen ones

  auto const deep = layers_of(qwen3_vl());
  batch_shape const tile{.tiles = 1};
  std::int64_t flops = 0, weights = 0;
  for (auto const& l : deep) {
    flops += l.forward(tile);
    weights += l.parameters;
  }
  CHECK(flops == tile_flops(qwen3_vl().vision) + tile_flops(qwen3_vl().projector));
  CHECK(weights == parameters(qwen3_vl()));
  auto const raw = 2 * 1024 * 1152, merged = 2 * 256 * 4096;  // bytes
  CHECK(deep[8].boundary(tile) == raw);                       // vision layer 7, behind the patches
  CHECK(deep[9].boundary(tile) == 2 * raw);
  CHECK(deep[27].boundary(tile) == 4 * raw);
  CHECK(deep[28].boundary(tile) == 4 * merged);
  CHECK(deep[29].boundary(tile) == 3 * merged);  // the embedding; the first layers add one each
  CHECK(deep[30].boundary(tile) == 2 * merged);
  CHECK(deep[31].boundary(tile) == merged);
  CHECK(deep[32].boundary(tile) == 0);
}

TEST_CASE("vision: a shape that makes no sense is refused by name") {
  auto const of = [](auto const& change) {
    auto model = vision_preset("clip-l-14-336");
    change(model);
    return refusal([&] { return tile_flops(model); });
  };
  CHECK(of([](vision_transformer&) {}) == "accepted");
  CHECK(of([](vision_transformer& m) { m.body.causal = true; }) == "body.causal = true: a vision transformer is not causal");
  CHECK(of([](vision_transformer& m) { m.patch = 0; }) == "patch = 0 must be in [1, 1024]");
  CHECK(of([](vision_transformer& m) { m.extra_tokens = 600; }) == "extra_tokens = 600 must be in [0, 577]");
  CHECK(of([](vision_transformer& m) { m.tile_tokens = 99, m.extra_tokens = 100; }) == "extra_tokens = 100 must be in [0, 99]");
  CHECK(of([](vision_transformer& m) { m.tile_tokens = -1; }) == "tile_tokens = -1 must be in [0, 16777216]");
  CHECK(of([](vision_transformer& m) { m.tile_tokens = 1 << 24; }) == "tile_tokens = 16777216 bring the FLOPs of a tile to 2^63 or more");
  CHECK(of([](vision_transformer& m) { m.unused_layers = 24; }) == "unused_layers = 24 must be in [0, 23]");
  CHECK(of([](vision_transformer& m) { m.body.layers = -1; }) == "layers = -1 must be in [1, 1024]");
  CHECK(of([](vision_transformer& m) { m.body.positions = 1 << 24; }) ==
        "body.positions = 16777216 bring the FLOPs of a tile to 2^63 or more");
}

TEST_CASE("vision: a projector that does not suit its tower is refused by name") {
  auto const of = [](auto const& change) {
    auto model = qwen3_vl();
    change(model);
    return refusal([&] { return layers_of(model); });
  };
  CHECK(of([](vision_language_model&) {}) == "accepted");
  CHECK(of([](vision_language_model& m) { m.projector.matrices = 0; }) == "projector.matrices = 0 must be in [1, 8]");
  CHECK(of([](vision_language_model& m) { m.projector.deep.add(27); }) ==
        "projector.deep has 4 layers, of which 3 are among the computed ones of the vision transformer, for a language model of 32");
}

}  // namespace test_cost_vision
