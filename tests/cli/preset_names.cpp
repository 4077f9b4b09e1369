// SPDX-License-Identifier: Apache-2.0
#include "readers/preset_names.hpp"

#include <ballast/cost/presets.hpp>

#include "support/catch.hpp"

#include <optional>
#include <string>
#include <utility>

namespace test_cli_preset_names {

using ballast_cli::other_names;
using ballast_cli::preset_of;

TEST_CASE("preset_names: names of hubs and paths find the preset of their shape") {
  std::pair<char const*, char const*> const names[]{
      {"Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"},
      {"meta-llama/Llama-3.1-8B", "llama-3.1-8b"},
      {"unsloth/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b"},
      {"meta-llama/Meta-Llama-3-8B", "llama-3.1-8b"},
      {"meta-llama/Llama-3.3-70B-Instruct", "llama-3.1-70b"},
      {"meta-llama/Llama-2-7b-chat-hf", "llama-2-7b"},
      {"llama3_8b", "llama-3.1-8b"},
      {"Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b"},
      {"Qwen/Qwen3-0.6B-Base", "qwen3-0.6b"},
      {"Qwen/Qwen-7B", "qwen-7b-chat"},
      {"google/gemma-2-9b-it", "gemma-2-9b"},
      {"google/gemma-3-1b-pt", "gemma-3-1b"},
      {"mistralai/Mistral-7B-v0.1", "mistral-7b-v0.1"},
      {"mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"},
      {"mistralai/Mistral-Small-24B-Base-2501", "mistral-small-24b"},
      {"mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"},
      {"mistralai/Mixtral-8x22B-v0.1", "mixtral-8x22b"},
      {"microsoft/Phi-3-mini-4k-instruct", "phi-3-mini-4k"},
      {"microsoft/Phi-3.5-mini-instruct", "phi-3-mini-128k"},
      {"deepseek-ai/DeepSeek-V2-Lite-Chat", "deepseek-v2-lite"},
      {"deepseek-ai/DeepSeek-R1-0528", "deepseek-v3"},
      {"deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", "deepseek-r1-distill-qwen-1.5b"},
      {"deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "qwen2.5-7b"},
      {"unsloth/gpt-oss-20b-BF16", "gpt-oss-20b"},
      {"openai-community/gpt2", "gpt2"},
      {"Qwen/Qwen2.5-VL-7B-Instruct", "qwen2.5-vl-7b"},
      {"/mnt/models/Qwen3-8B/", "qwen3-8b"},
      {"models/meta-llama/Llama-3.2-1B", "llama-3.2-1b"},
      {"/models/hub/models--Qwen--Qwen3-8B-Base/snapshots/49e3418fbbbca6ecbdf9608b4d22e5a407081db4", "qwen3-8b"},
  };
  for (auto const& [name, preset] : names) {
    CAPTURE(name);
    CHECK(preset_of(name) == std::optional<std::string>(preset));
  }
}

TEST_CASE("preset_names: nothing is guessed") {
  for (auto const* const name :
       {"", "/", "-", "instruct", "Qwen/Qwen2.5-7B-Instruct-AWQ", "Qwen/Qwen2.5-7B-Instruct-1M", "me/Qwen2.5-7B-Instruct-SFT",
        "unsloth/Qwen2.5-7B-unsloth-bnb-4bit", "Qwen/Qwen2.5-8B", "Qwen/Qwen2.5", "meta-llama/Llama-3.2-11B-Vision",
        "mistralai/Mixtral-8x22B-Instruct-v0.1", "Qwen2.5-7B-Instruct/checkpoint-1000", "meta-llama", "Qwen/Qwen3-8B-FP8",
        "models--Qwen--Qwen3-8B/snapshots/1/model.safetensors", "xQwen3-8B"}) {
    CAPTURE(name);
    CHECK(preset_of(name) == std::nullopt);
  }
}

TEST_CASE("preset_names: each preset is found by its own name, and other names lead to presets", "[property]") {
  auto const check = [](auto const& presets) {
    for (auto const& p : presets) {
      CAPTURE(p.name);
      CHECK(preset_of(p.name) == std::optional(std::string(p.name)));
      CHECK(preset_of("owner/" + std::string(p.name) + "-BF16") == std::optional(std::string(p.name)));
      for (auto const other : other_names(p.name)) CHECK(preset_of(other) == std::optional(std::string(p.name)));
    }
  };
  check(ballast::transformer_presets);
  check(ballast::vision_language_presets);
  CHECK(other_names("llama-3.1-8b").size() == 2);
}

}  // namespace test_cli_preset_names
