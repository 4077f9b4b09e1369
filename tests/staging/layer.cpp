// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/staging/joint.hpp>
#include <ballast/staging/layer.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_staging_layer {

using namespace ballast;
using ballast_test::refusal;

TEST_CASE("fold_layers: equal layers are one class wherever they stand, equal neighbours one run") {
  stage_layer const a{.time = 1, .state = 2, .options = {{.memory = 3}}}, b{.time = 1, .state = 2, .options = {{.memory = 4}}};
  auto const chain = fold_layers(std::vector{a, a, b, a});
  CHECK(chain.classes == std::vector{a, b});
  CHECK(chain.runs.values == std::vector<std::int64_t>{0, 1, 0});
  CHECK(chain.runs.counts == std::vector<std::uint64_t>{2, 1, 1});
  CHECK(fold_layers({}) == layer_chain{});
  auto more = a;
  more.working = 1;
  CHECK(fold_layers(std::vector{a, more}).classes == std::vector{a, more});  // the working set tells layers apart
}

TEST_CASE("stage_layers_of: a model's layers with what recomputation frees and costs") {
  auto const model = layers_of(vision_language_preset("internvl-chat-1.5"), {.spread = {.tensor = 2}});
  batch_shape const batch{.tokens = 4096, .squares = 4096 * 4096, .tiles = 9};
  auto const layers = stage_layers_of(model, batch, batch);  // a FLOP is a nanosecond
  REQUIRE(layers.size() == model.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    CAPTURE(model[i].name);
    auto const& options = layers[i].options;
    REQUIRE(layers[i].time == model[i].forward(batch) + model[i].backward(batch));  // without links no exchange takes time
    REQUIRE(layers[i].state == model[i].state);
    REQUIRE(layers[i].working == model[i].working(batch) + model[i].buffers);
    REQUIRE(options.front() == memory_option{.memory = model[i].options.front().bytes(batch)});
    for (std::size_t j = 1; j < options.size(); ++j) REQUIRE(options[j].memory < options[j - 1].memory);
    REQUIRE(options.back().time == (options.size() == 1 ? 0 : model[i].forward(batch)));
  }
  auto const chain = fold_layers(layers);
  CHECK(layers.size() == 97);
  CHECK(chain.classes.size() == 6);  // patches, vision, projector, embedding, language, head
  CHECK(chain.classes[1].options.size() == 3);
  CHECK_NOTHROW(require_valid(chain));
  batch_shape const huge{.tokens = std::int64_t{1} << 60};
  CHECK(refusal([&] { return stage_layers_of(model, batch, huge); }) ==
        "layer \"embedding\" brings the bytes of the largest micro-batch to 2^58 or more");
  CHECK(refusal([&] { return stage_layers_of(model, huge, batch); }) ==
        "layer \"embedding\" brings the bytes of the largest micro-batch to 2^58 or more");
}

TEST_CASE("stage_layers_of: exchanges take time, and full recomputation repeats those of the forward pass") {
  auto const& preset = transformer_preset("llama-3.1-8b");
  auto const model = layers_of(preset, {.spread = {.tensor = 8, .data = 2, .sequence_parallel = true, .zero = 3}});
  batch_shape const batch{.tokens = 4096, .squares = 4096 * 4096};
  layer_rates rates{.links = {.per_node = 8, .inside = link_line{0, 1'000'000'000}, .between = {}}};  // a byte takes a nanosecond
  auto const layers = stage_layers_of(model, batch, batch, rates);
  auto const gathered = std::int64_t{4096} * 4096 * 2 * 7 / 8;  // bytes that an all-gather of the hidden state sends
  for (std::size_t i = 1; i <= 32; ++i) {
    REQUIRE(layers[i].options.back().time == model[i].forward(batch) + 4 * gathered);               // two gathers, two scatters
    REQUIRE(layers[i].time == model[i].forward(batch) + model[i].backward(batch) + 10 * gathered);  // and inputs gathered once more
  }
}

TEST_CASE("stage_layers_of: a cut made for a trained vision tower is 1.2 to 1.44 times the optimum if the tower is frozen") {
  auto const& model = vision_language_preset("internvl-chat-1.5");
  model_setting const frozen{.vision = {.what = trained::none}};
  struct mix {
    std::int64_t tiles, tokens;
    std::uint64_t stages;
    double loss;
  };
  for (auto const& m : {mix{9, 4096, 4, 1.325}, mix{9, 4096, 8, 1.296}, mix{18, 6144, 4, 1.438}, mix{18, 6144, 8, 1.416},
                        mix{5, 4096, 4, 1.214}, mix{5, 4096, 8, 1.286}}) {
    CAPTURE(m.tiles, m.stages);
    batch_shape const batch{.tokens = m.tokens, .squares = m.tokens * m.tokens, .tiles = m.tiles};
    auto const plan = [&](model_setting const& by) {
      std::vector<std::int64_t> const capacity(static_cast<std::size_t>(m.stages), std::int64_t{1} << 50);
      std::vector<std::uint64_t> const held(static_cast<std::size_t>(m.stages), 1);
      return plan_stages(stage_layers_of(layers_of(model, by), batch, batch),
                         {.stages = m.stages, .capacity = capacity, .in_flight = held});
    };
    auto const usual = plan({}), best = plan(frozen);
    auto const layers = stage_layers_of(layers_of(model, frozen), batch, batch);
    std::int64_t slowest = 0;
    for (std::size_t s = 0; s < m.stages; ++s) {
      std::int64_t time = 0;
      for (auto i = usual.partition.boundaries[s]; i < usual.partition.boundaries[s + 1]; ++i) time += layers[i].time;
      slowest = (std::max)(slowest, time);
    }
    CHECK(best.partition.bottleneck.optimal());
    CHECK(std::fabs(static_cast<double>(slowest) / static_cast<double>(best.partition.bottleneck.value) - m.loss) < 0.001);
  }
}

TEST_CASE("stage_layers_of: a tied head has a copy of the embedding if there are several stages") {
  auto const model = layers_of(transformer_preset("qwen2.5-0.5b"));
  auto const state = [&](std::uint64_t stages) { return stage_layers_of(model, {}, {}, {}, stages).back().state; };
  CHECK(state(2) - state(1) == std::int64_t{18} * 151'936 * 896);
}

TEST_CASE("layer_chain: what makes no sense is refused") {
  layer_chain chain{{{.time = 5, .state = 5, .options = {{.memory = 1}}}}, {{0}, {3}}};
  auto const sentence = [&] {
    return refusal([&] {
      require_valid(chain);
      return 0;
    });
  };
  CHECK(sentence() == "accepted");
  chain.runs.values[0] = 1;
  CHECK(sentence() == "runs.values[0] = 1 must be in [0, 1), the classes");
  chain.runs.values[0] = 0;
  chain.classes[0].state = std::int64_t{1} << 57;
  CHECK(sentence() == "classes[0].state = 144115188075855872 is negative, or brings the sum above 2^58");
  chain.classes[0].state = 0;
  chain.classes[0].working = (std::int64_t{1} << 58) + 1;
  CHECK(sentence() == "classes[0].working = 288230376151711745 must be in [0, 2^58]");
  chain.classes[0].working = -1;
  CHECK(sentence() == "classes[0].working = -1 must be in [0, 2^58]");
  chain.classes[0].working = std::int64_t{1} << 58;  // three such layers: the bytes are not summed
  CHECK(sentence() == "accepted");
  chain.classes[0].options[0].memory = -1;
  CHECK(sentence() == "options[0].memory = -1 must be in [0, 2^58]");
  chain.runs.counts[0] = 0;
  CHECK(sentence() == "runs.counts[0] = 0 must be positive");
}

}  // namespace test_staging_layer
