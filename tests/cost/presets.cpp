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

// Totals of the weights on the hub (safetensors); those of Qwen3 0.6B and 1.7B hold a copy of the tied head, which is left out here.
TEST_CASE("presets: the parameters of published checkpoints, to the last") {
  STATIC_REQUIRE(parameters(transformer_preset("llama-3.2-1b")) == 1'235'814'400);
  STATIC_REQUIRE(parameters(transformer_preset("llama-3.2-3b")) == 3'212'749'824);
  STATIC_REQUIRE(parameters(transformer_preset("llama-2-7b")) == 6'738'415'616);
  STATIC_REQUIRE(parameters(transformer_preset("llama-2-13b")) == 13'015'864'320);
  STATIC_REQUIRE(parameters(transformer_preset("llama-2-70b")) == 68'976'648'192);
  STATIC_REQUIRE(parameters(transformer_preset("qwen2.5-1.5b")) == 1'543'714'304);
  STATIC_REQUIRE(parameters(transformer_preset("qwen2.5-3b")) == 3'085'938'688);
  STATIC_REQUIRE(parameters(transformer_preset("qwen3-0.6b")) == 596'049'920);
  STATIC_REQUIRE(parameters(transformer_preset("qwen3-1.7b")) == 1'720'574'976);
  STATIC_REQUIRE(parameters(transformer_preset("qwen3-4b")) == 4'022'468'096);
  STATIC_REQUIRE(parameters(transformer_preset("qwen3-8b")) == 8'190'735'360);
  STATIC_REQUIRE(parameters(transformer_preset("qwen3-14b")) == 14'768'307'200);
  STATIC_REQUIRE(parameters(transformer_preset("qwen3-32b")) == 32'762'123'264);
  STATIC_REQUIRE(parameters(transformer_preset("qwen3-coder-480b-a35b")) == 480'154'875'392);
  STATIC_REQUIRE(parameters(transformer_preset("mistral-7b-v0.1")) == 7'241'732'096);
  STATIC_REQUIRE(parameters(transformer_preset("mistral-7b-v0.2")) == 7'241'732'096);
  STATIC_REQUIRE(parameters(transformer_preset("mistral-7b-v0.3")) == 7'248'023'552);
  STATIC_REQUIRE(parameters(transformer_preset("mistral-nemo")) == 12'247'782'400);
  STATIC_REQUIRE(parameters(transformer_preset("mistral-small-24b")) == 23'572'403'200);
  STATIC_REQUIRE(parameters(transformer_preset("gemma-2-2b")) == 2'614'341'888);
  STATIC_REQUIRE(parameters(transformer_preset("gemma-2-9b")) == 9'241'705'984);
  STATIC_REQUIRE(parameters(transformer_preset("gemma-2-27b")) == 27'227'128'320);
  STATIC_REQUIRE(parameters(transformer_preset("gemma-3-270m")) == 268'098'176);
  STATIC_REQUIRE(parameters(transformer_preset("gemma-3-1b")) == 999'885'952);
  STATIC_REQUIRE(parameters(transformer_preset("phi-3-mini-4k")) == 3'821'079'552);
  STATIC_REQUIRE(parameters(transformer_preset("phi-3-mini-128k")) == 3'821'079'552);
  STATIC_REQUIRE(parameters(transformer_preset("phi-3-medium-4k")) == 13'960'238'080);
  STATIC_REQUIRE(parameters(transformer_preset("phi-3-medium-128k")) == 13'960'238'080);
  STATIC_REQUIRE(parameters(transformer_preset("phi-4")) == 14'659'507'200);
  STATIC_REQUIRE(parameters(transformer_preset("phi-4-mini")) == 3'836'021'760);
  STATIC_REQUIRE(parameters(transformer_preset("deepseek-v2-lite")) == 15'706'484'224);
  STATIC_REQUIRE(parameters(transformer_preset("deepseek-r1-distill-qwen-1.5b")) == 1'777'088'000);
  STATIC_REQUIRE(parameters(transformer_preset("moonlight-16b-a3b")) == 15'960'110'208);
  STATIC_REQUIRE(parameters(transformer_preset("gpt-oss-20b")) == 20'914'757'184);
  STATIC_REQUIRE(parameters(transformer_preset("gpt-oss-120b")) == 116'829'156'672);
  STATIC_REQUIRE(parameters(transformer_preset("glm-4.5-air")) == 106'852'251'264);
  STATIC_REQUIRE(parameters(transformer_preset("glm-4.5")) == 352'797'829'024);
  STATIC_REQUIRE(parameters(transformer_preset("kimi-k2")) == 1'026'408'232'448);
  STATIC_REQUIRE(parameters(transformer_preset("gpt2")) == 124'439'808);
  STATIC_REQUIRE(parameters(transformer_preset("gpt2-medium")) == 354'823'168);
  STATIC_REQUIRE(parameters(transformer_preset("gpt2-large")) == 774'030'080);
  STATIC_REQUIRE(parameters(transformer_preset("tinyllama-1.1b")) == 1'100'048'384);
  STATIC_REQUIRE(parameters(transformer_preset("smollm2-135m")) == 134'515'008);
  STATIC_REQUIRE(parameters(transformer_preset("smollm2-360m")) == 361'821'120);
  STATIC_REQUIRE(parameters(transformer_preset("smollm2-1.7b")) == 1'711'376'384);
  STATIC_REQUIRE(parameters(transformer_preset("smollm3-3b")) == 3'075'098'624);
}

TEST_CASE("presets: the parameters of vision-language models, to the last") {
  STATIC_REQUIRE(parameters(vision_language_preset("qwen2-vl-2b")) == 2'208'985'600);
  STATIC_REQUIRE(parameters(vision_language_preset("qwen2-vl-7b")) == 8'291'375'616);
  STATIC_REQUIRE(parameters(vision_language_preset("qwen2-vl-72b")) == 73'405'560'320);
  STATIC_REQUIRE(parameters(vision_language_preset("qwen2.5-vl-3b")) == 3'754'622'976);
  STATIC_REQUIRE(parameters(vision_language_preset("qwen2.5-vl-7b")) == 8'292'166'656);
  STATIC_REQUIRE(parameters(vision_language_preset("qwen2.5-vl-32b")) == 33'452'718'336);
  STATIC_REQUIRE(parameters(vision_language_preset("qwen2.5-vl-72b")) == 73'410'777'344);
  STATIC_REQUIRE(parameters(vision_language_preset("qwen3-vl-2b")) == 2'127'532'032);
  STATIC_REQUIRE(parameters(vision_language_preset("qwen3-vl-4b")) == 4'437'815'808);
  STATIC_REQUIRE(parameters(vision_language_preset("qwen3-vl-8b")) == 8'767'123'696);
  STATIC_REQUIRE(parameters(vision_language_preset("qwen3-vl-32b")) == 33'357'390'064);
  STATIC_REQUIRE(parameters(vision_language_preset("qwen3-vl-30b-a3b")) == 31'070'754'032);
  STATIC_REQUIRE(parameters(vision_language_preset("qwen3-vl-235b-a22b")) == 235'670'022'896);
  STATIC_REQUIRE(parameters(vision_language_preset("internvl3-1b")) == 938'193'024);
  STATIC_REQUIRE(parameters(vision_language_preset("internvl3-2b")) == 2'088'957'440);
  STATIC_REQUIRE(parameters(vision_language_preset("internvl3-8b")) == 7'944'373'760);
  STATIC_REQUIRE(parameters(vision_language_preset("internvl3-14b")) == 15'117'256'704);
  STATIC_REQUIRE(parameters(vision_language_preset("internvl3-38b")) == 38'388'164'992);
  STATIC_REQUIRE(parameters(vision_language_preset("internvl3-78b")) == 78'408'318'336);
  STATIC_REQUIRE(parameters(vision_language_preset("gemma-3-4b")) == 4'300'079'472);
  STATIC_REQUIRE(parameters(vision_language_preset("gemma-3-12b")) == 12'187'325'040);
  STATIC_REQUIRE(parameters(vision_language_preset("gemma-3-27b")) == 27'432'406'640);
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
        "no vision preset \"\"; there are clip-l-14-336, internvit-6b-448, qwen2.5-vl-vit, internvit-300m-448, siglip-so400m-14-896, "
        "qwen2-vl-vit, qwen3-vl-vit, qwen3-vl-vit-300m");
  CHECK(refusal([] {
          return vision_language_preset("clip-l-14-336").vision.patch;
        }).starts_with("no vision-language preset \"clip-l-14-336\"; there are llava-1.5-7b, internvl-chat-1.5, qwen2.5-vl-7b, "));
}

}  // namespace test_cost_presets
