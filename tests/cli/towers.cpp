// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace test_cli_towers {

namespace {

using namespace ballast_test;
using nlohmann::json;

json answer(scratch const& in, std::string const& arguments) {
  auto const o = in.ballast(arguments + " --json");
  CAPTURE(arguments, o.err);
  REQUIRE(o.code == 0);
  return json::parse(o.out);
}

std::string images() {
  std::string text;
  for (int i = 0; i < 64; ++i) text += std::to_string(1300 + i * 37 % 400) + " " + std::to_string(1 + i % 4) + "\n";
  return text;
}

}  // namespace

TEST_CASE("memory: of a model that reads images, the tower and the projector are counted", "[cli]") {
  scratch const in;
  auto const states = [&](std::string const& arguments) {
    return answer(in, "memory " + arguments)["stages"][0]["states"].get<std::int64_t>();
  };
  auto const whole = answer(in, "memory qwen2.5-vl-7b --tokens 4096");
  std::int64_t const tower = 631'975'680, projector = 44'574'464;  // as the file of the model counts, docs/cli-models.md
  CHECK(whole["parameters"] == 8'292'166'656);
  CHECK(whole["tiles"] == 16);
  auto const language = states("qwen2.5-7b --tokens 4096");
  CHECK(whole["stages"][0]["states"] == language + 18 * (tower + projector));
  CHECK(states("qwen2.5-vl-7b --tokens 4096 --freeze vision") == language + 2 * tower + 18 * projector);
  CHECK(states("qwen2.5-vl-7b --tokens 4096 --freeze vision,projector") == language + 2 * (tower + projector));
  auto const kept = [&](std::string const& more) {
    return answer(in, "memory qwen2.5-vl-7b --tokens 4096 " + more)["stages"][0]["kept"].get<std::int64_t>();
  };
  auto const none = kept("--tiles 0"), one = kept("--tiles 1");
  CHECK(none == answer(in, "memory qwen2.5-7b --tokens 4096")["stages"][0]["kept"]);
  CHECK(one > none);
  CHECK(kept("--tiles 16") - none == 16 * (one - none));
  CHECK(whole["stages"][0]["kept"] == kept("--tiles 16"));
  auto const longest = whole["longest_tokens"].get<std::int64_t>();
  REQUIRE(longest == 0);  // Adam of 8 billion parameters does not fit a device
  auto const spread = std::string("memory qwen2.5-vl-7b --ranks 8 --tp 4 --tokens ");
  auto const fitting = answer(in, spread + "4096")["longest_tokens"].get<std::int64_t>();
  REQUIRE(fitting > 4096);
  CHECK(answer(in, spread + std::to_string(fitting))["fits"] == true);
  CHECK(answer(in, spread + std::to_string(fitting + 1))["fits"] == false);
  auto const words = in.ballast("memory qwen2.5-vl-7b --tokens 4096 --ranks 8 --tp 4").out;
  CHECK(words.find("qwen2.5-vl-7b of 8,292,166,656 parameters on 32 devices (h100), 1 sequence of 4,096 tokens in a micro-batch, with 16 "
                   "image tiles of 256 tokens each, all that these can be of (--tiles says fewer).\n") == 0);
}

TEST_CASE("memory: what a tower of its own degree saves is what it then needs less", "[cli]") {
  scratch const in;
  auto const asked = std::string("memory internvl-chat-1.5 --tokens 4096 --ranks 8 --tp 8 --zero 1");
  auto const usual = answer(in, asked), apart = answer(in, asked + " --vision-tp 1");
  CHECK(apart["setting"]["vision_tensor"] == 1);
  CHECK(apart["stages"][0]["states"] > usual["stages"][0]["states"]);
  CHECK(apart["stages"][0]["kept"] < usual["stages"][0]["kept"]);
  for (auto const& change : usual["changes"])
    if (change["change"] == "a tower of TP 1, whose devices share out the images")
      CHECK(apart["peak_bytes"] == usual["peak_bytes"].get<std::int64_t>() - change["saved_bytes"].get<std::int64_t>());
}

TEST_CASE("plan: a tower has a degree of its own, given or chosen", "[cli]") {
  scratch const in;
  in.file("f", images());
  auto const common = std::string("plan f --columns 2,1 --capacity 32,8192 --model qwen2.5-vl-7b --head-loss fused ");
  auto const shape = std::string("--ranks 2 --micro-batches 8 --stages 1 --tp 4 --zero 1");
  auto const usual = answer(in, common + shape), apart = answer(in, common + shape + " --vision-tp 1");
  CHECK(usual["model_plan"]["setting"].count("vision_tensor") == 0);
  CHECK(apart["model_plan"]["setting"]["vision_tensor"] == 1);
  CHECK(apart["modelled_step_ms"] < usual["modelled_step_ms"]);
  CHECK(apart["model_plan"]["end_of_step_ms"] > usual["model_plan"]["end_of_step_ms"]);  // more devices exchange its gradients
  CHECK(apart["model_plan"]["memory"][0]["state"] > usual["model_plan"]["memory"][0]["state"]);
  CHECK(in.ballast(common + shape + " --vision-tp 2").out.find(", TP 4, TP of the tower 2.") != std::string::npos);

  auto const searched = [&](std::string const& vision) {
    return answer(in, common + "--gpus 8 --global-batch 8 --tp 4 --memory 60Gi " + vision)["search"];
  };
  auto const any = searched("--vision-tp auto");
  double least = 1e300;
  std::uint64_t settings = 0;
  for (auto const* const one : {"", "--vision-tp 1", "--vision-tp 2"}) {
    auto const found = searched(one);
    least = (std::min)(least, found["mean_step_ms"].get<double>());
    settings += found["settings"].get<std::uint64_t>();
  }
  CHECK(any["mean_step_ms"] == least);
  CHECK(any["settings"] == settings);
}

TEST_CASE("what a tower's degree does not take is refused in one sentence", "[cli]") {
  scratch const in;
  in.file("f", images());
  in.file("mamba.json", R"({"model_type": "mamba2", "num_hidden_layers": 4, "hidden_size": 768, "num_heads": 24, "head_dim": 64,
    "expand": 2, "state_size": 128, "n_groups": 1, "vocab_size": 1000})");
  std::string const plan = "plan f --columns 2,1 --capacity 9,4096 --model qwen2.5-vl-7b ";
  std::pair<std::string, std::string> const refused[] = {
      {plan + "--ranks 2 --stages 1 --tp 4 --vision-tp 3", "--vision-tp 3: must divide --tp 4, whose devices share out the images"},
      {plan + "--ranks 2 --stages 1 --vision-tp 2", "--vision-tp 2: must divide --tp 1, "},
      {plan + "--ranks 2 --stages 1 --vision-tp auto", "--vision-tp auto: is chosen with --gpus; "},
      {plan + "--ranks 2 --stages 1 --vision-tp x", "--vision-tp x: expected a whole number"},
      {plan + "--ranks 2 --vision-tp 1", "--vision-tp requires --stages or --gpus"},
      {"plan f --columns 1 --capacity 4096 --gpus 8 --vision-tp auto", "--vision-tp: llama-3.1-8b has no vision tower or projector"},
      {"plan f --columns 1 --capacity 4096 --gpus 8 --model qwen2.5-vl-7b --vision-tp 1", "--vision-tp: these samples have no images; "},
      {"memory llama-3.1-8b --tokens 4096 --tiles 3", "--tiles: llama-3.1-8b has no vision tower or projector"},
      {"memory llama-3.1-8b --tokens 4096 --freeze vision", "--freeze: llama-3.1-8b has no vision tower or projector"},
      {"memory qwen2.5-vl-7b --tokens 1000 --tiles 4", "--tiles 4: are 1,024 tokens of the language model, 256 each, more than the 1,000 "},
      {"memory qwen2.5-vl-7b --tokens 1000 --tiles x", "--tiles x: expected a whole number from 0"},
      {"memory mamba.json --tokens 1000 --tp 5", "--tp 5: must divide the 24 heads of the state-space layers of mamba.json"},
  };
  for (auto const& [arguments, sentence] : refused) {
    auto const o = in.ballast(arguments);
    CAPTURE(arguments, o.err);
    CHECK(o.code == 2);
    CHECK(o.err.find(sentence) == 0);
    CHECK(std::count(o.err.begin(), o.err.end(), '\n') == 1);
  }
  CHECK(in.ballast("memory mamba.json --tokens 1000 --tp 2").code == 0);
  in.file("bad.json", "{\"model_type\": \"llama\",\n \"hidden_size\": 64,\n}\n");
  CHECK(in.ballast("memory bad.json --tokens 64").err ==
        "bad.json: not a JSON object: line 3 closes behind a comma, which JSON does not "
        "allow\n");
}

}  // namespace test_cli_towers
