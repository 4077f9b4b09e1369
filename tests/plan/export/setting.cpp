// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/export/setting.hpp>

#include <ballast/core/random.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/plan/export/flags.hpp>
#include <ballast/plan/plan_data.hpp>
#include <ballast/plan/plan_training.hpp>
#include <ballast/staging/joint.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace test_plan_export_setting {

namespace {

using namespace ballast;

std::vector<layer_kind> kinds_of(std::string const& letters) {
  std::vector<layer_kind> out;
  for (auto const c : letters) out.push_back(static_cast<layer_kind>(std::string("vEtmL").find(c)));
  return out;
}
std::optional<std::string> layout(std::vector<std::uint32_t> const& boundaries, std::string const& letters) {
  return megatron_layout(std::span<std::uint32_t const>(boundaries), kinds_of(letters));
}
/// What the string says, written out: the letters of each stage.
std::string unrolled(std::string const& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '*') {
      out += text[i];
      continue;
    }
    std::size_t digits = 0;
    auto const times = std::stoul(text.substr(i + 1), &digits);
    out += std::string(times - 1, text[i - 1]);
    i += digits;
  }
  return out;
}

std::string flags_of(recompute_setting const& by) {
  std::string out;
  for (auto const& word : megatron_recompute_flags(by).value_or(std::vector<std::string>{"no such setting"}))
    out += (out.empty() ? "" : " ") + word;
  return out;
}

}  // namespace

TEST_CASE("megatron_layout: the published string comes out of its boundaries") {
  std::vector<std::uint32_t> const cuts{0, 6, 11, 17, 23, 29, 34, 39, 46};
  auto const letters = "E" + std::string(43, 't') + "mL";  // 43 decoder layers
  auto const text = layout(cuts, letters);
  REQUIRE(text);
  CHECK(*text == "Et*5|t*5|t*6|t*6|t*6|t*5|t*5|t*5mL");
  CHECK(layout({0, 2, 4, 6}, "EttttL") == "Et|t*2|tL");
  CHECK(layout({0, 1, 1, 3}, "EtL") == "E||tL");
  CHECK(layout({0, 2, 4}, "tttt") == "Et*2|t*2L");  // the embedding and the loss that a chain lacks
  CHECK(layout({0, 3, 5}, "tttmm") == "Et*3|m*2L");
}

/// The layers in front of each stage, as Megatron-LM counts them: towers and embedding are of the first stage.
std::vector<std::uint32_t> read_back(std::string const& text, std::uint32_t towers) {
  std::vector<std::uint32_t> out{0};
  auto layers = towers;
  for (auto const c : unrolled(text) + "|") c == '|' ? out.push_back(layers) : static_cast<void>(++layers);
  return out;
}

TEST_CASE("megatron_layout: a cut of tower, projector and language model is read back, or towers leave the first stage") {
  std::string const letters = "vvvvEtttttL";
  std::vector<std::uint32_t> cut{0, 0, 0, 0, 11};
  for (cut[1] = 0; cut[1] <= 11; ++cut[1])
    for (cut[2] = cut[1]; cut[2] <= 11; ++cut[2])
      for (cut[3] = cut[2]; cut[3] <= 11; ++cut[3]) {
        CAPTURE(cut);
        auto const text = layout(cut, letters);
        REQUIRE(text.has_value() == (cut[1] >= 5));
        if (text) CHECK(read_back(*text, 4) == cut);
      }
  CHECK(layout({0, 49, 66, 82, 98}, std::string(47, 'v') + "E" + std::string(48, 't') + "tL") == "Et|t*17|t*16|t*15L");
  CHECK(layout({0, 2, 4}, "vvtt") == "E|t*2L");
  CHECK(layout({0, 1, 4}, "vvtt") == std::nullopt);
  CHECK(layout({0, 2, 4}, "tvtt") == std::nullopt);
}

TEST_CASE("megatron_layout: every cut can be read back") {
  std::string const letters = "EtttttmmL";
  for (std::uint32_t a = 0; a <= 9; ++a)
    for (std::uint32_t b = a; b <= 9; ++b) {
      CAPTURE(a, b);
      auto const text = layout({0, a, b, 9}, letters);
      REQUIRE(text.has_value() == (a != 7 && b != 7));  // a cut between the predictions
      if (!text) continue;
      CHECK(unrolled(*text) == letters.substr(0, a) + "|" + letters.substr(a, b - a) + "|" + letters.substr(b));
    }
}

TEST_CASE("megatron_layout: what Megatron-LM cannot express is no string, what is no cut is misuse") {
  for (auto const* letters : {"tE", "EEt", "tLL", "Lt", "tmt", "Emt"}) {
    CAPTURE(letters);
    std::string const text = letters;
    CHECK(!layout({0, static_cast<std::uint32_t>(text.size())}, text));
  }
  for (auto const& cuts : std::vector<std::vector<std::uint32_t>>{{}, {0}, {0, 3}, {1, 4}, {0, 3, 2, 4}, {0, 5}}) {
    CAPTURE(cuts);
    CHECK_THROWS_AS(layout(cuts, "EttL"), invalid_input);
  }
}

TEST_CASE("nearest_megatron_recompute: the least loss among the settings that fit") {
  stage_layer const decoder{
      .time = 30, .state = 5, .working = 9, .options = {{.memory = 100}, {.memory = 60, .time = 2}, {.memory = 10, .time = 10}}};
  stage_layer const embedding{.time = 0, .state = 7, .working = 2, .options = {{.memory = 1}}};
  std::vector<stage_layer> layers{embedding};
  layers.insert(layers.end(), 8, decoder);
  std::vector<std::uint64_t> const held{2, 1};
  auto const kinds = kinds_of("Etttttttt");
  auto const full = std::optional<std::uint32_t>(2);
  for (std::int64_t bytes = 0; bytes <= 1000; bytes += 10) {
    CAPTURE(bytes);
    std::vector<std::int64_t> const capacity{bytes, bytes};
    staging_options const asked{.stages = 2, .capacity = capacity, .in_flight = held};
    auto const plan = plan_stages<>(std::span<stage_layer const>(layers), asked);
    if (plan.partition.status != status::feasible) continue;
    auto const nearest = nearest_megatron_recompute<std::uint32_t>(layers, kinds, plan, asked, {.selective = 1U, .full = full});
    // by hand: n layers of a stage; of the first `f` full, the others at `other`
    std::int64_t best = unaffordable;
    auto const cut = plan.partition.boundaries[1];
    for (std::int64_t f = 0; f <= 9; ++f) {  // 9: selective
      std::int64_t bottleneck = 0;
      for (std::int64_t s = 0; s < 2; ++s) {
        std::int64_t const n = s == 0 ? cut - 1 : 9 - cut, first = f == 9 ? 0 : (std::min)(f, n);
        auto const kept = f == 9 ? 60 * n : 10 * first + 100 * (n - first);
        auto const in_all = (n > 0 ? 9 : 2) + 5 * n + (s == 0 ? 7 + 2 * (kept + 1) : kept);
        bottleneck = (std::max)(bottleneck, in_all > bytes ? unaffordable : 30 * n + (f == 9 ? 2 * n : 10 * first));
      }
      best = (std::min)(best, bottleneck);
    }
    CHECK((nearest.status == status::feasible) == (best != unaffordable));
    if (best == unaffordable) continue;
    CHECK(nearest.bottleneck == certificate{best, plan.partition.bottleneck.value});
    CHECK(nearest.bottleneck.gap() >= 0);
  }
  std::vector<std::int64_t> const capacity{659, 439};
  staging_options const asked{.stages = 2, .capacity = capacity, .in_flight = held};
  auto const plan = plan_stages<>(std::span<stage_layer const>(layers), asked);
  auto const nearest = nearest_megatron_recompute<std::uint32_t>(layers, kinds, plan, asked, {.selective = {}, .full = full});
  CHECK(nearest.setting == recompute_setting{.what = recompute_setting::kind::block, .layers = 1});
  CHECK(flags_of(nearest.setting) == "--recompute-granularity full --recompute-method block --recompute-num-layers 1");
  CHECK_THROWS_AS(nearest_megatron_recompute<std::uint32_t>(layers, kinds_of("Et"), plan, asked, {}), invalid_input);
}

TEST_CASE("megatron_recompute_flags: what Megatron-LM has a setting for") {
  using enum recompute_setting::kind;
  CHECK(flags_of({}).empty());
  CHECK(flags_of({.what = uniform, .layers = 3}) == "--recompute-granularity full --recompute-method uniform --recompute-num-layers 3");
  CHECK(flags_of({.what = alternate, .layers = 2}) == "no such setting");
  CHECK(flags_of({.what = products}) == "no such setting");
  CHECK(flags_of({.what = modules, .modules = feed_forward_modules}) == "no such setting");
}

TEST_CASE("nearest_megatron_recompute: selective recomputation names its modules") {
  std::vector<stage_layer> const layers(2, {.time = 30, .options = {{.memory = 100}, {.memory = 60, .time = 2}}});
  std::vector<std::uint64_t> const held{1};
  std::vector<std::int64_t> const capacity{150};
  staging_options const asked{.stages = 1, .capacity = capacity, .in_flight = held};
  auto const plan = plan_stages<>(std::span<stage_layer const>(layers), asked);
  auto const flags = [&](module_set modules) {
    megatron_options const means{.selective = 1U, .full = {}, .modules = modules};
    return flags_of(nearest_megatron_recompute<std::uint32_t>(layers, kinds_of("tt"), plan, asked, means).setting);
  };
  using enum recompute_module;
  CHECK(flags(megatron_options{}.modules) == "--recompute-granularity selective --recompute-modules mlp");
  CHECK(flags({moe, mlp}) == "--recompute-granularity selective --recompute-modules mlp moe");
  CHECK(flags({layernorm, mla_up_projection}) == "--recompute-granularity selective --recompute-modules layernorm mla_up_proj");
  CHECK_THROWS_AS(flags({}), invalid_input);
  CHECK_THROWS_AS(flags(feed_forward_modules), invalid_input);
}

TEST_CASE("setting_of: boundaries and the nearest recomputation, for memory from ample to too tight") {
  splitmix64 draw(23);
  auto const lengths = ballast_test::random_lengths(300, 5000, draw);
  data_plan_options const o{.steps = {.capacity = 4096, .ranks = 2, .micro_batches = 4, .seed = 3}, .oversize = oversize::split};
  auto const model = transformer_preset("qwen2.5-0.5b");
  cluster const on;
  model_setting const by{.spread = {.tensor = 2, .data = 2, .zero = 1}};
  auto const data = plan_data(lengths, o, model);
  auto const layers = layers_of(model, by);
  std::string const letters = "E" + std::string(24, 't') + "L";
  CHECK(layer_kinds_of(model) == kinds_of(letters));
  std::size_t partly = 0, whole = 0;
  for (auto memory = std::int64_t{8'000'000'000}; memory > 3'000'000'000; memory -= 250'000'000) {
    training_setting const asked{.model = by, .pipeline = {.stages = 4, .memory = memory}, .sequence = 4096, .micro_batches = 4};
    auto const plan = plan_training(data, asked.pipeline, model, on, by);
    CAPTURE(memory);
    if (plan.status != status::feasible) {
      CHECK_THROWS_AS(setting_of(plan, model, asked), invalid_input);
      continue;
    }
    megatron_options means;  // as a caller says it who knows the options of a layer
    for (std::uint32_t k = 0; k < layers[1].options.size(); ++k) {
      auto const& way = layers[1].options[k];
      if (way.recomputed == recomputation::full) means.full = k;
      if (way.recomputed == recomputation::selective) means.selective = k, means.modules = way.modules;
    }
    auto const nearest = nearest_megatron_recompute<std::uint32_t>(
        plan.layers, kinds_of(letters), plan.stages,
        {.stages = 4, .capacity = std::vector<std::int64_t>(4, asked.pipeline.memory), .in_flight = plan.in_flight}, means);
    auto expected = asked;
    expected.boundaries = plan.stages.partition.boundaries;
    expected.recompute = nearest.setting;
    CHECK(setting_of(plan, model, asked) == expected);
    partly += nearest.setting.what == recompute_setting::kind::modules;
    whole += nearest.setting.what == recompute_setting::kind::block;
    auto const words = megatron_flags(model, setting_of(plan, model, asked)).words;
    auto const at = std::find(words.begin(), words.end(), "--pipeline-model-parallel-layout");
    REQUIRE(at != words.end());
    CHECK(*(at + 1) == layout(plan.stages.partition.boundaries, letters));
    CHECK_THROWS_AS(setting_of(plan, transformer_preset("llama-3.1-8b"), asked), invalid_input);
  }
  CAPTURE(partly, whole);
  CHECK(partly + whole > 0);
  CHECK(whole > 0);

  training_setting const chunks{.model = by, .pipeline = {.stages = 4, .memory = 40'000'000'000, .schedule = interleaved_schedule{2}}};
  auto const plan = plan_training(data, chunks.pipeline, model, on, by);
  CHECK(setting_of(plan, model, chunks).boundaries.size() == 9);
  CHECK(setting_of(plan, model, chunks).recompute == recompute_setting{});
}

}  // namespace test_plan_export_setting
