// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace test_cost_presets {

using namespace ballast;
using ballast_test::refusal;

TEST_CASE("presets: the parameters of a language model are the published ones, to the last") {
  STATIC_REQUIRE(parameters(transformer_preset("llama-3.1-8b")) == 8'030'261'248);
  STATIC_REQUIRE(parameters(transformer_preset("llama-3.1-70b")) == 70'553'706'496);
  STATIC_REQUIRE(parameters(transformer_preset("llama-3.1-405b")) == 405'853'388'800);
  STATIC_REQUIRE(parameters(transformer_preset("qwen2.5-0.5b")) == 494'032'768);
  STATIC_REQUIRE(parameters(transformer_preset("qwen2.5-7b")) == 7'615'616'512);
  STATIC_REQUIRE(parameters(transformer_preset("qwen2.5-14b")) == 14'770'033'664);
  STATIC_REQUIRE(parameters(transformer_preset("qwen2.5-32b")) == 32'763'876'352);
  STATIC_REQUIRE(parameters(transformer_preset("qwen2.5-72b")) == 72'706'203'648);
  STATIC_REQUIRE(parameters(transformer_preset("mixtral-8x7b")) == 46'702'792'704);
  STATIC_REQUIRE(parameters(transformer_preset("mixtral-8x22b")) == 140'620'634'112);
  STATIC_REQUIRE(parameters(transformer_preset("qwen3-30b-a3b")) == 30'532'122'624);
  STATIC_REQUIRE(active_parameters(transformer_preset("qwen3-30b-a3b")) == 3'353'032'704);
  STATIC_REQUIRE(parameters(transformer_preset("qwen3-235b-a22b")) == 235'093'634'560);
  STATIC_REQUIRE(parameters(transformer_preset("qwen-7b-chat")) == 7'721'324'544);
  STATIC_REQUIRE(parameters(transformer_preset("internlm2-20b")) == 19'861'149'696);
  STATIC_REQUIRE(parameters(transformer_preset("vicuna-7b")) == 6'738'415'616);
  STATIC_REQUIRE(parameters(transformer_preset("gpt2-xl")) == 1'557'611'200);
  STATIC_REQUIRE(parameters(transformer_preset("deepseek-v2")) == 235'741'434'880);
  STATIC_REQUIRE(parameters(transformer_preset("deepseek-v3")) == 671'026'419'200);
  STATIC_REQUIRE(active_parameters(transformer_preset("deepseek-v3")) == 37'552'297'472);
}

TEST_CASE("presets: those that publish rounded counts agree to the last digit given") {
  auto const rounds_to = [](std::int64_t parameters, double published, double digit) {
    return std::fabs(static_cast<double>(parameters) - published) <= digit / 2;
  };
  CHECK(rounds_to(active_parameters(transformer_preset("deepseek-v2")), 21.4e9, 0.1e9));
  CHECK(rounds_to(active_parameters(transformer_preset("deepseek-v3")), 37.6e9, 0.1e9));
  CHECK(rounds_to(active_parameters(transformer_preset("mixtral-8x7b")), 12.9e9, 0.1e9));
  CHECK(rounds_to(active_parameters(transformer_preset("mixtral-8x22b")), 39e9, 1e9));
  CHECK(rounds_to(parameters(vision_preset("clip-l-14-336")), 303.5e6, 0.1e6));
  CHECK(rounds_to(parameters(vision_preset("internvit-6b-448")), 5.54e9, 0.01e9));
  CHECK(rounds_to(parameters(vision_language_preset("llava-1.5-7b").projector), 21.0e6, 0.1e6));
  CHECK(rounds_to(parameters(vision_language_preset("llava-1.5-7b")), 7.06e9, 0.01e9));
  CHECK(rounds_to(parameters(vision_language_preset("internvl-chat-1.5").projector), 116.4e6, 0.1e6));
  CHECK(rounds_to(parameters(vision_language_preset("internvl-chat-1.5")), 25.5e9, 0.1e9));
}

TEST_CASE("presets: the vision side, tensor by tensor") {
  std::int64_t const h = 3200, f = 12800;
  auto const vit_layer = 3 * h * h + (h * h + h) + (h * f + f) + (f * h + h) + 2 * h /* norms */ + 2 * h /* of q, k */ + 2 * h /* scales */;
  CHECK(parameters(vision_preset("internvit-6b-448")) == 45 * vit_layer + (h * 14 * 14 * 3 + h) + h + 1025 * h);
  CHECK(parameters(vision_preset("clip-l-14-336")) == 303'507'456);
  CHECK(parameters(vision_language_preset("llava-1.5-7b").projector) == (1024 * 4096 + 4096) + (4096 * 4096 + 4096));
  auto const& qwen = vision_language_preset("qwen2.5-vl-7b");
  std::int64_t const q = 1280, g = 3420;
  auto const qwen_layer = 2 * q + 4 * (q * q + q) + 2 * (q * g + g) + (g * q + q);
  CHECK(parameters(qwen.vision) == 32 * qwen_layer + q * 2 * 14 * 14 * 3);
  CHECK(parameters(qwen.projector) == q + (5120 * 5120 + 5120) + (5120 * 3584 + 3584));
  CHECK(parameters(qwen.vision) + parameters(qwen.projector) == 676'550'144);
  CHECK(parameters(qwen) == 8'292'166'656);
  CHECK(parameters(vision_language_preset("internvl-chat-1.5").projector) == 2 * 12800 + (12800 * 6144 + 6144) + (6144 * 6144 + 6144));
}

TEST_CASE("presets: each is found by its name and no other") {
  for (std::size_t i = 0; i < transformer_presets.size(); ++i)
    CHECK(&transformer_preset(transformer_presets[i].name) == &transformer_presets[i].model);
  CHECK(refusal([] {
          return transformer_preset("llama").layers;
        }).starts_with("no transformer preset \"llama\"; there are llama-3.1-8b, llama-3.1-70b, "));
  CHECK(refusal([] { return vision_preset("").patch; }) ==
        "no vision preset \"\"; there are clip-l-14-336, internvit-6b-448, qwen2.5-vl-vit");
  CHECK(refusal([] { return vision_language_preset("clip-l-14-336").vision.patch; }) ==
        "no vision-language preset \"clip-l-14-336\"; there are llava-1.5-7b, internvl-chat-1.5, qwen2.5-vl-7b");
}

}  // namespace test_cost_presets
