// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/footprint/vision_tensors.hpp>
#include <ballast/plan/memory_of.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

namespace test_plan_memory_of_vision {

using namespace ballast;
using ballast_test::refusal;

namespace {

constexpr memory_moment moments[] = {memory_moment::head, memory_moment::layer_backward, memory_moment::overlap, memory_moment::step};
constexpr trained ways[] = {trained::all, trained::none, trained::low_rank};

batch_shape batch_of(std::int64_t tiles, std::int64_t tokens = 4096) {
  return {.tokens = tokens, .squares = tokens * tokens, .tiles = tiles};
}

/// A training of a preset, drawn at random.
struct drawn {
  vision_language_model model;
  training_setting by;
};
drawn draw(std::uint32_t seed) {
  std::mt19937 random(seed);
  auto const of = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  drawn out{.model = vision_language_presets[of(vision_language_presets.size())].model, .by = {}};
  out.model.vision.body.final_norm = of(2) == 0;
  auto& m = out.by.model;
  m.framework = frameworks[of(frameworks.size())];
  m.spread = {.tensor = 1 + static_cast<std::int64_t>(of(2)), .context = 1, .data = 4, .zero = static_cast<int>(of(4))};
  if (of(3) == 0) m.spread.context = 2;
  m.spread.sequence_parallel = m.spread.tensor > 1 && of(2) == 0;
  m.attention = of(2) == 0 ? attention_kernel::fused : attention_kernel::stored_scores;
  m.language.what = ways[of(3)];
  m.vision.what = ways[of(3)];
  m.projector.what = ways[of(2)];
  m.kernels.hidden_dropout = of(2) == 0;
  m.kernels.engine = of(4) != 0;
  m.kernels.dummy_gradients = of(2) == 0;
  m.kernels.offload_all = of(4) == 0;
  m.kernels.step_in_backward = of(4) == 0;
  m.kernels.stream_pools = of(2) == 0;
  using enum recompute_setting::kind;
  constexpr recompute_setting choices[] = {
      {}, {.what = modules, .modules = {recompute_module::layernorm}}, {.what = block, .layers = 2}, {.what = uniform, .layers = 2}};
  out.by.recompute = choices[of(4)];
  out.by.pipeline.stages = 1 + of(3);
  out.by.micro_batches = 1 + static_cast<std::int64_t>(of(4));
  return out;
}

/// What is left of a model's states and workspace if there is only its language model.
memory_parts without_tower(memory_parts parts, memory_parts const& language) {
  parts.states = language.states;
  parts.workspace = language.workspace;
  parts.gathered = language.gathered;
  return parts;
}

}  // namespace

TEST_CASE("memory_of: without tiles and states of a tower, a model is its language model", "[memory_of][vision][property]") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    auto of = draw(seed);
    auto& by = of.by;
    if (by.model.language.what == trained::none) by.model.language.what = trained::all;  // else what is trained in front reaches it
    by.model.vision.what = by.model.projector.what = trained::none;
    auto const language = memory_of(of.model.language, by, batch_of(0));
    auto const whole = memory_of(of.model, by, batch_of(0));
    REQUIRE(whole.size() == language.size());
    for (std::size_t s = 0; s < whole.size(); ++s) {
      CHECK(without_tower(whole[s], language[s]) == language[s]);
      CHECK((s == 0 ? whole[s].states > language[s].states : whole[s] == language[s]));
    }
    by.model.optimizer = {.name = "none", .state = {.parameter = 0, .gradient = 0, .optimizer = 0}};  // states that are not counted
    by.model.kernels.dummy_gradients = false;
    CHECK(memory_of(of.model, by, batch_of(0)) == memory_of(of.model.language, by, batch_of(0)));
  }
}

TEST_CASE("memory_of: a model with a tower peaks at a moment, and grows with its tiles", "[memory_of][vision][property]") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    auto const of = draw(seed);
    auto before = memory_of(of.model, of.by, batch_of(0));
    for (std::int64_t tiles = 1; tiles < 100; tiles *= 3) {
      auto const now = memory_of(of.model, of.by, batch_of(tiles));
      for (std::size_t s = 0; s < now.size(); ++s) {
        for (auto const m : moments) CHECK(now[s].at(m) <= now[s].peak());
        CHECK(now[s].peak() >= before[s].peak());
        CHECK(now[s].kept >= before[s].kept);
        CHECK(now[s].states == before[s].states);
      }
      if (of.by.model.framework.count != tensor_count::table) CHECK(now[0].inputs > before[0].inputs);
      before = now;
    }
  }
}

TEST_CASE("memory_of: a frozen tower keeps nothing, and a trained projector what goes through it", "[memory_of][vision]") {
  for (auto const& preset : vision_language_presets) {
    for (auto const& framework : frameworks) {
      CAPTURE(preset.name, framework.name);
      auto const& m = preset.model;
      auto const& p = m.projector;
      training_setting by;
      by.model = {.framework = framework, .vision = {.what = trained::none}, .projector = {.what = trained::none}};
      auto const kept = [&](std::int64_t tiles) { return memory_of(m, by, batch_of(tiles)).front().kept; };
      CHECK(kept(7) == kept(0));
      by.model.projector.what = trained::all;
      auto const bridge = kept(7) - kept(0);
      CHECK(bridge >= 7 * p.tokens * 2 * (p.input + 2 * (p.matrices - 1) * p.inner_width()));
      by.model.vision.what = trained::low_rank;
      auto const adapters = kept(7) - kept(0);
      by.model.vision.what = trained::all;
      CHECK(bridge < adapters);
      // the language model is reached if a projector in front of it is trained
      by.model.vision.what = by.model.language.what = trained::none;
      CHECK(kept(0) > 0);
      by.model.projector.what = trained::none;
      CHECK(kept(7) == 0);
    }
  }
}

TEST_CASE("memory_of: states and kept bytes of a tower are those of layers_of", "[memory_of][vision]") {
  for (auto const& preset : vision_language_presets) {
    for (auto const& framework : frameworks) {
      for (auto const vision : ways) {
        CAPTURE(preset.name, framework.name, static_cast<int>(vision));
        training_setting by;
        by.model = {.spread = {.tensor = 2, .context = 2, .data = 8, .sequence_parallel = true, .zero = 1},
                    .framework = framework,
                    .vision = {.what = vision}};
        auto const batch = batch_of(5);
        auto const parts = memory_of(preset.model, by, batch).front();
        std::int64_t states = 0, kept = 0;
        auto const layers = layers_of(preset.model, by.model);
        for (auto const& l : layers) {
          states += l.state;
          if (l.name != "head") kept += l.options.front().bytes(batch);
        }
        CHECK(std::llabs(parts.states - states) <= 64 * 100);  // shares are rounded up once, or layer by layer
        CHECK(parts.kept <= kept);
        CHECK(kept - parts.kept <= static_cast<std::int64_t>(layers.size()) * 2 * (4096 + 5 * 1025));  // rounded up for each token
      }
    }
  }
}

TEST_CASE("memory_of: where boundaries put a tower, its bytes are", "[memory_of][vision]") {
  auto const& m = vision_language_preset("qwen2.5-vl-7b");
  training_setting by;
  by.model.framework = framework_named("megatron");
  by.pipeline.stages = 3;
  by.micro_batches = 8;
  by.boundaries = {0, 34, 48, 64};  // patches, 32 layers and the projector; 13 layers behind the embedding; the rest
  auto const three = memory_of(m, by, batch_of(4));
  auto const language = m.language;
  CHECK(three[0].states == 18 * (parameters(m.vision) + parameters(m.projector)));
  CHECK(three[1].states == 18 * (language.vocabulary * language.hidden + 13 * layer_parameters(language, 0)));
  CHECK(three[1].inputs == three[2].inputs);
  CHECK(three[0].inputs - three[1].inputs == 4 * 4 * 1024 * 14 * 14 * 6);
  by.boundaries = {0, 10, 48, 64};  // inside the tower
  auto const cut = memory_of(m, by, batch_of(4));
  CHECK(cut[0].states + cut[1].states == three[0].states + three[1].states);
  auto const layer = three[0].kept - cut[0].kept;  // 3 micro-batches hold 24 layers and the projector less
  auto const tensors = layer_tensors_of(m.vision.body, 0, by.model.activations(by.model.vision, true)).kept({});
  auto const bridge = projector_tensors_of(m, by.model.activations(by.model.projector)).kept({});
  CHECK(layer == 3 * 4 * (23 * 1024 * (tensors.whole + tensors.split) + 256 * (bridge.whole + bridge.split)));
  by.boundaries = {0, 34, 48, 63};
  CHECK(refusal([&] { return memory_of(m, by, batch_of(4)); }) ==
        "boundaries must be 4 numbers that rise from 0 to the number of layers with the tower, 64");
  by.boundaries = {};
  CHECK(refusal([&] { return memory_of(m, by, batch_of(-1)); }).starts_with("batch.tiles = -1"));
  by.model.attention = attention_kernel::stored_scores;
  CHECK(refusal([&] { return memory_of(m, by, batch_of(std::int64_t{1} << 40)); }).find("2^63") != std::string::npos);
}

TEST_CASE("memory_of: recomputing all layers includes the tower's, but not under Megatron-Core", "[memory_of][vision]") {
  auto const& m = vision_language_preset("qwen2.5-vl-7b");
  training_setting by;
  auto const kept = [&](char const* framework, recompute_setting const& again) {
    by.model.framework = framework_named(framework);
    by.recompute = again;
    return memory_of(m, by, batch_of(6)).front().kept - memory_of(m, by, batch_of(0)).front().kept;
  };
  recompute_setting const full{.what = recompute_setting::kind::uniform};
  CHECK(kept("megatron", full) == kept("megatron", {}));
  auto const pixels = 2 * 1024 * 14 * 14 * 6, bridge = 256 * ((4 + 2 + 2) * 5120 + 4 * 4 + 2 * 2 * 5120);
  CHECK(kept("eager", full) == 6 * (std::int64_t{32} * 2 * 1024 * 1280 + pixels + bridge));
  CHECK(kept("eager", {}) > 10 * kept("eager", full));
}

TEST_CASE("memory_of: windows divide the scores that a tower stores", "[memory_of][vision]") {
  auto m = vision_language_preset("qwen2.5-vl-7b");
  training_setting by;
  by.model.framework = framework_named("eager");
  auto const kept = [&] { return memory_of(m, by, batch_of(1)).front().kept; };
  by.model.attention = attention_kernel::stored_scores;
  auto const windows = kept();
  m.vision.body.window = 0;
  CHECK(kept() - windows == std::int64_t{28} * 6 * 16 * 1024 * (1024 - 64));
  by.model.attention = attention_kernel::fused;
  auto const fused = kept();
  m.vision.body.window = 64;
  CHECK(kept() == fused);
}

}  // namespace test_plan_memory_of_vision
