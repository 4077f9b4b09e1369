// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include "readers/omni_config.hpp"
#include "readers/preset_names.hpp"
#include "refused.hpp"

#include <ballast/cost/presets.hpp>

#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace test_cli_models_command {

using namespace ballast_test;

TEST_CASE("models: all presets, families and refusals are listed", "[cli]") {
  scratch const in;
  auto const text = in.ballast("models");
  REQUIRE(text.code == 0);
  auto const json = nlohmann::json::parse(in.ballast("models --json").out);
  std::size_t count = 0;
  auto const check = [&](auto const& presets, char const* kind) {
    for (auto const& p : presets) {
      CAPTURE(p.name);
      auto const& listed = json["presets"].at(count++);
      CHECK(listed["name"] == p.name);
      CHECK(listed["kind"] == kind);
      CHECK(listed["parameters"] == parameters(p.model));
      CHECK(listed["other_names"].size() == ballast_cli::other_names(p.name).size());
      CHECK(text.out.find("\n" + std::string(p.name) + " ") != std::string::npos);
    }
  };
  check(ballast::transformer_presets, "language");
  check(ballast::vision_language_presets, "vision-language");
  CHECK(json["presets"].size() == count);
  CHECK(json["refused"].size() == ballast_cli::unread_families().size());
  for (auto const* const kind : {"language", "vision", "encoders", "sound"}) CHECK(json["read"][kind].size() > 1);
  for (auto const& [kind, family] :
       {std::pair{"language", "llama"}, {"vision", "glm4v"}, {"encoders", "modernbert"}, {"sound", "voxtral"}}) {
    auto const& families = json["read"][kind];
    CHECK(std::find(families.begin(), families.end(), family) != families.end());
    CHECK(text.out.find(family) != std::string::npos);
  }
  CHECK(text.out.find("llama-3.1-8b               ") != std::string::npos);
  CHECK(text.out.find("8,030,261,248  32 layers: 32 full (also llama-3-8b, deepseek-r1-distill-llama-8b)\n") != std::string::npos);
  CHECK(text.out.find("24 layers: 12 full, 12 sliding 128; a token uses 4,187,440,704\n") != std::string::npos);  // gpt-oss-20b
  CHECK(text.out.find("\ngemma3n: its layers have several residual streams") != std::string::npos);
}

TEST_CASE("models: one is described by its preset, a hub's name or its config.json", "[cli]") {
  scratch const in;
  in.file("config.json", R"({"model_type": "llama", "intermediate_size": 14336, "num_key_value_heads": 8, "vocab_size": 128256})");
  // 32 layers of 4,096 tokens: matrices, pairs of 2 x 2 x 128 FLOPs for each of 32 heads, and the head
  auto const figures =
      "A forward pass of 4,096 tokens has 65,877,282,127,872 FLOPs, of which 6.68 % are those of pairs of tokens.\n"
      "Others have the same shape (also llama-3-8b, deepseek-r1-distill-llama-8b).\n";
  auto const described = in.ballast("models llama-3.1-8b").out;
  CHECK(described == std::string("llama-3.1-8b: a language model of 8,030,261,248 parameters, 6,979,588,096 without embedding and head; 32 "
                                 "layers: 32 full.\n") +
                         figures);
  CHECK(in.ballast("models meta-llama/Llama-3.1-8B-Instruct").out ==
        "meta-llama/Llama-3.1-8B-Instruct has the shape of llama-3.1-8b.\n" + described);
  auto const read = in.ballast("models config.json");
  CHECK(read.out.starts_with("config.json: llama of 8,030,261,248 parameters, "));
  CHECK(read.out.find("A forward pass of 4,096 tokens has 65,877,282,127,872 FLOPs") != std::string::npos);
  auto const json = nlohmann::json::parse(in.ballast("models config.json --json").out);
  CHECK((json["family"] == "llama" && json["parameters"] == 8'030'261'248 && json["layers"] == 32 && json["windowed_layers"] == 0));
  CHECK(json["forward_flops"]["flops"] == 65'877'282'127'872);
  CHECK(json["notes"].size() == 1);
  auto const vision = nlohmann::json::parse(in.ballast("models Qwen/Qwen2.5-VL-7B-Instruct --json").out);
  CHECK((vision["kind"] == "vision-language" && vision["parameters"] == 8'292'166'656 && vision["tower_parameters"] == 631'975'680));
  CHECK(in.ballast("models qwen2.5-vl-7b").out.find("; a tile has ") != std::string::npos);
  in.file("bert.json", R"({"model_type": "bert"})");
  CHECK(nlohmann::json::parse(in.ballast("models bert.json --json").out)["kind"] == "encoder");
}

TEST_CASE("models: what is not known is refused, and other commands take the names of hubs", "[cli]") {
  scratch const in;
  check_refused(in.ballast("models llama-3.1-9b"),
                "llama-3.1-9b: there is no such file or preset; ballast models lists the presets; did you mean llama-3.1-8b?");
  in.file("t5.json", R"({"model_type": "t5"})");
  check_refused(in.ballast("models t5.json"), "t5.json: the model_type t5 cannot be modelled: it is an encoder with a decoder");
  in.file("f", "100\n200\n");
  CHECK(in.ballast("plan f --capacity 1024 --ranks 1 --model Qwen/Qwen3-8B-Base").out.find("; qwen3-8b on h100") != std::string::npos);
  CHECK(in.ballast("memory Qwen/Qwen2.5-0.5B-Instruct --tokens 512").out.starts_with("qwen2.5-0.5b of 494,032,768 parameters on 1 dev"));
}

}  // namespace test_cli_models_command
