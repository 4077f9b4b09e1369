// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/vision_tensors.hpp>
#include <ballast/footprint/workspace.hpp>

#include "support/catch.hpp"

#include <cstdint>

namespace test_footprint_vision_tensors {

using namespace ballast;

namespace {
std::int64_t sum_of(layer_tensors const& tensors) {
  auto const kept = tensors.kept({});
  return kept.whole + kept.split + kept.gathered;
}
}  // namespace

TEST_CASE("patch_tensors_of: pixels and the first norm of a tower that is trained", "[vision_tensors]") {
  auto const& clip = vision_preset("clip-l-14-336");  // 576 patches and a class token, 1,024 channels, LayerNorm in front
  activation_setting by{.count = tensor_count::eager};
  CHECK(pixels_of(clip) == 576 * 14 * 14 * 3);
  CHECK(sum_of(patch_tensors_of(clip, by)) == 2 * pixels_of(clip) + 577 * (2 * 1024 + 8));
  by.kernels.value = 4;  // the pixels are an input in this type already
  CHECK(sum_of(patch_tensors_of(clip, by)) == 577 * (4 * 1024 + 8));
  CHECK(sum_of(patch_tensors_of(clip, {.count = tensor_count::megatron})) == 2 * pixels_of(clip) + 577 * (2 * 1024 + 8));
  CHECK(sum_of(patch_tensors_of(clip, {.count = tensor_count::table})) == 2 * pixels_of(clip));
  for (auto const what : {trained::none, trained::low_rank}) {
    by.is.what = what;
    CHECK(patch_tensors_of(clip, by).size() == 0);
  }
}

TEST_CASE("projector_tensors_of: the norm is of the kind and the width that its weights say", "[vision_tensors]") {
  auto const kept = [](char const* name, trained what, tensor_count count = tensor_count::eager) {
    return sum_of(projector_tensors_of(vision_language_preset(name), {.count = count, .is = {.what = what}}));
  };
  // no norm: the input, and the values on both sides of the activation function
  CHECK(kept("llava-1.5-7b", trained::all) == 2 * (1024 + 2 * 4096));
  CHECK(kept("llava-1.5-7b", trained::none) == 2 * 4096);
  // LayerNorm of four neighbours: input, output, statistics
  CHECK(kept("internvl-chat-1.5", trained::all) == 2 * (2 * 12800 + 2 * 6144) + 8);
  CHECK(kept("internvl-chat-1.5", trained::none) == 2 * (12800 + 6144) + 8);
  // RMSNorm of each of four neighbours: input in float32, normalised values, output, reciprocal roots
  CHECK(kept("qwen2.5-vl-7b", trained::all) == (4 + 2 + 2) * 5120 + 4 * 4 + 2 * 2 * 5120);
  CHECK(kept("qwen2.5-vl-7b", trained::none) == 4 * 5120 + 4 * 4 + 2 * 5120);
  // LayerNorm of each of four neighbours, as in Qwen2-VL
  auto older = vision_language_preset("qwen2.5-vl-7b");
  older.vision.body.norm_bias = true;
  older.projector.norm_weights = 2 * 1280;
  CHECK(sum_of(projector_tensors_of(older, {.count = tensor_count::eager})) == 2 * (2 * 5120 + 2 * 5120) + 4 * 8);
  CHECK(kept("qwen2.5-vl-7b", trained::all, tensor_count::megatron) == 2 * 2 * 5120 + 4 * 4 + 2 * 2 * 5120);
  CHECK(kept("qwen2.5-vl-7b", trained::all, tensor_count::table) == 2 * 2 * 5120 + 2 * 2 * 5120);
}

TEST_CASE("projector_tensors_of: a merger keeps the input of the next matrix, and a gated block three times its width",
          "[vision_tensors]") {
  auto model = vision_language_preset("qwen2.5-vl-7b");
  auto const kept = [&](trained what) { return sum_of(projector_tensors_of(model, {.count = tensor_count::eager, .is = {.what = what}})); };
  // Mistral Small 3.1: RMSNorm of each of four neighbours, 4 x 1,024 -> 1,024 -> 5,120 -> 5,120
  model.projector = {.input = 4096, .output = 5120, .tokens = 256, .norm = true, .norm_weights = 1024, .bias = false, .merged = 1024};
  CHECK(kept(trained::all) == (4 + 2 + 2) * 4096 + 4 * 4 + 2 * 1024 + 2 * 2 * 5120);
  CHECK(kept(trained::none) == 4 * 4096 + 4 * 4 + 2 * 5120);
  // without a norm: 4 x 1,536 -> 4,096 -> 4,096, and gate, values and their product
  model.projector = {
      .input = 6144, .output = 4096, .tokens = 256, .matrices = 1, .bias = false, .merged = 4096, .merged_bias = true, .gated = 13696};
  CHECK(kept(trained::all) == 2 * 6144 + 2 * 4096 + 2 * 4096 + 2 * 3 * 13696);
}

TEST_CASE("vision_setting: Megatron-Core runs a tower without dropout, sequence and context parallelism", "[vision_tensors]") {
  model_setting by{.spread = {.tensor = 2, .context = 4, .data = 8, .sequence_parallel = true}};
  by.kernels.hidden_dropout = by.kernels.attention_dropout = true;
  CHECK(vision_setting(by) == by);
  by.framework = framework_named("megatron");
  auto const tower = vision_setting(by);
  CHECK(tower.spread == parallelism{.tensor = 2, .context = 1, .data = 8, .sequence_parallel = false});
  CHECK_FALSE((tower.kernels.hidden_dropout || tower.kernels.attention_dropout));
}

TEST_CASE("workspace_bytes: a tower that is trained has dummy gradients of its own shapes", "[vision_tensors]") {
  auto const& model = vision_language_preset("internvl-chat-1.5");
  auto const& body = model.vision.body;
  REQUIRE(body.hidden == body.query_heads * body.head_width);
  model_setting by{.framework = framework_named("megatron"), .kernels = {.dummy_gradients = true}};
  auto const of = [&](bool tower) {
    return workspace_bytes(model.language, by, {.tokens = 4096, .squares = 0, .tiles = 8}, true, {.tower = tower}, &model.vision);
  };
  CHECK(of(true) - of(false) == 2 * (4 * body.hidden * body.hidden + 2 * body.hidden * body.ffn));
  by.vision.what = trained::none;
  CHECK(of(true) == of(false));
}

TEST_CASE("memory_for_stages: pixels are taken from the memory where tensors are counted", "[vision_tensors]") {
  auto const& model = vision_language_preset("qwen2.5-vl-7b");
  batch_shape const batch{.tokens = 4096, .squares = 4096 * 4096, .tiles = 7};
  std::int64_t const memory = std::int64_t{80} << 30;
  for (auto const& framework : frameworks) {
    model_setting const by{.framework = framework};
    auto const pixels = framework.count == tensor_count::table ? 0 : 7 * 4 * pixels_of(model.vision);
    CHECK(memory_for_stages(memory, model.language, by, batch) - memory_for_stages(memory, model, by, batch) == pixels);
    CHECK(memory_for_stages(0, model, by, batch) == 0);
  }
}

}  // namespace test_footprint_vision_tensors
