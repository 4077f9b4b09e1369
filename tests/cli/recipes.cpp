// SPDX-License-Identifier: Apache-2.0
#include "readers/framework_setting.hpp"
#include "readers/recipe_models.hpp"
#include "readers/recipe_words.hpp"

#include <ballast/cost/presets.hpp>

#include "settings.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Recipes of Megatron-Bridge and NeMo by name, and what overrides them.

namespace test_cli_recipes {

namespace {

using namespace ballast_cli;
using ballast_test::has_note;
using ballast_test::refused_setting;

setting_request request(std::optional<std::int64_t> gpus = {}) {
  setting_request out;
  out.gpus = gpus;
  out.find_model = [](std::string const& name) -> std::optional<known_model> {
    for (auto const& [part, preset] : {std::pair{"3-70B", "llama-3.1-70b"},
                                       {"3.1-405B", "llama-3.1-405b"},
                                       {"3-8B", "llama-3.1-8b"},
                                       {"Qwen3-30B-A3B", "qwen3-30b-a3b"},
                                       {"GLM-4.5-Air", "glm-4.5-air"},
                                       {"DeepSeek-V3", "deepseek-v3"},
                                       {"Moonlight", "moonlight-16b-a3b"},
                                       {"gpt-oss-20b", "gpt-oss-20b"}})
      if (name.find(part) != name.npos) return known_model{ballast::transformer_preset(preset)};
    return std::nullopt;
  };
  return out;
}
imported_setting bridge(std::string const& words, std::optional<std::int64_t> gpus = {}) {
  return read_framework_setting("python run_recipe.py --recipe " + words + "\n", "run.sh", request(gpus));
}
imported_setting nemo(std::string const& words) { return read_framework_setting("nemo llm " + words + "\n", "run.sh", request()); }
std::string refused_recipe(std::string const& words) {
  return refused_setting("python run_recipe.py --recipe " + words + "\n", "run.sh", request(8));
}

}  // namespace

TEST_CASE("recipes: a line is found by each of its names, with what its model has in common") {
  constexpr std::string_view table = "= a/M te mbs=2\nx_pretrain(_8gpu_h100)_16k as=old tp=4\ny_sft\n= a/N\nz_sft sp\n";
  for (auto const* const name : {"x_pretrain_8gpu_h100_16k", "x_pretrain_16k", "old"}) {
    auto const found = recipe_named(table, name);
    REQUIRE(found);
    CHECK((found->name == "x_pretrain_8gpu_h100_16k" && found->model == "a/M"));
    CHECK((found->has("te") && found->value("tp") == "4" && found->value("mbs") == "2" && !found->value("te")));
  }
  CHECK(recipe_named(table, "z_sft")->words == std::vector<std::string_view>{"sp"});
  for (auto const* const name : {"x_pretrain", "", "=", "z", "ol"}) CHECK(!recipe_named(table, name));
}

TEST_CASE("recipes: each name of the tables is of one recipe, and each has lengths and batches") {
  for (auto const table : {bridge_recipes, nemo_recipes}) {
    std::set<std::string> names;
    for (std::size_t first = 0; first < table.size();) {
      auto const end = (std::min)(table.find('\n', first), table.size());
      auto const line = table.substr(first, end - first);
      first = end + 1;
      if (line.empty() || line.starts_with("= ")) continue;
      std::string name(line.substr(0, line.find(' ')));
      std::erase_if(name, [](char c) { return c == '(' || c == ')'; });
      CAPTURE(name);
      CHECK(names.insert(name).second);
      auto const found = recipe_named(table, name);
      REQUIRE(found);
      CHECK((found->name == name && !found->model.empty() && found->value("seq") && found->value("gbs")));
    }
    CHECK(names.size() == (table == bridge_recipes ? 300U : 218U));
  }
}

TEST_CASE("recipes: formats of gradients and states are those that the precision leaves") {
  auto const long_sums = bridge("qwen3_30b_a3b_pretrain_8gpu_h100_bf16_config");
  CHECK(long_sums.setting.model.optimizer.name == "adam");
  CHECK(long_sums.setting.recompute.what == ballast::recompute_setting::kind::uniform);
  CHECK(bridge("llama31_405b_sft").setting.model.optimizer.name == "adam-bf16-gradients");
  auto const deepseek = bridge("deepseek_v3_pretrain");
  auto const& state = deepseek.setting.model.optimizer.state;
  CHECK((state.gradient == 2 && state.optimizer == 2 + 2 + 2));  // half of a master copy, and two moments
  CHECK(deepseek.model.mtp_layers == 1);
  CHECK((deepseek.setting.gpus() == 1024 && deepseek.setting.pipeline.stages == 16 && deepseek.setting.model.expert == 64));
  CHECK(deepseek.time.dispatcher == ballast::token_dispatcher::once);
  auto const whole = bridge("llama3_8b_peft");
  CHECK((whole.setting.model.spread.zero == 0 && whole.setting.model.loss.how == ballast::head_loss::kind::plain));
}

TEST_CASE("recipes: adapters have the rank and the matrices of the recipe, unless words say otherwise") {
  using enum ballast::adapted_matrices;
  auto const adapters = [](std::string const& words) { return bridge(words, 8).setting.model.language; };
  CHECK((adapters("llama3_8b_peft").rank == 8 && adapters("llama3_8b_peft").matrices == every_matrix));
  CHECK(bridge("llama31_405b_peft").setting.model.language.rank == 16);
  CHECK((adapters("qwen3_30b_a3b_peft").rank == 8 && adapters("qwen3_30b_a3b_peft").matrices == queries_and_values));
  CHECK((adapters("glm45_air_106b_peft").rank == 32 && adapters("llama3_8b_peft peft.dim=64").rank == 64));
  CHECK(adapters("llama3_8b_peft peft.target_modules='[linear_qkv]'").matrices == queries_and_values);
  CHECK(adapters("llama3_8b_peft peft=null").what == ballast::trained::all);
  CHECK(has_note(bridge("glm45_air_106b_peft"), "those of a device share them: the memory is too high"));
  CHECK(!has_note(bridge("qwen3_30b_a3b_peft"), "share them"));
}

TEST_CASE("recipes: words of a precision set what they mean, and what a recipe said of it no longer counts") {
  for (auto const* const word : {"bf16_mixed", "bf16-mixed"}) {
    auto const plain = bridge(std::string("llama3_8b_pretrain mixed_precision=") + word);
    CHECK((plain.framework == "Megatron-Bridge" && plain.setting.model.optimizer.name == "adam" && !plain.setting.model.kernels.fp8));
  }
  CHECK(bridge("llama31_405b_sft mixed_precision=bf16_mixed").setting.model.optimizer.name == "adam");
  CHECK(bridge("llama3_8b_pretrain_2gpu_h100_fp8cs").setting.model.kernels.fp8);
  CHECK(!bridge("llama3_8b_pretrain_2gpu_h100_fp8cs mixed_precision=bf16_mixed").setting.model.kernels.fp8);
  for (auto const* const word :
       {"bf16_with_fp8_current_scaling_mixed", "bf16_with_mxfp8_mixed", "nanov2_bf16_with_fp8_current_scaling_mixed"})
    CHECK(bridge(std::string("llama3_8b_pretrain mixed_precision=") + word).setting.model.kernels.fp8);
  CHECK(has_note(bridge("llama3_8b_pretrain mixed_precision=bf16_with_nvfp4_mixed"), "is judged as 8 bits"));
  CHECK(refused_recipe("llama3_8b_pretrain mixed_precision=bf17_mixed").find("mixed_precision = bf17_mixed is none of") !=
        std::string::npos);
  CHECK(bridge("llama3_8b_pretrain mixed_precision.grad_reduce_in_fp32=false").setting.model.optimizer.name == "adam-bf16-gradients");
  auto const without = bridge("llama3_8b_pretrain ddp.grad_reduce_in_fp32=false");
  CHECK((without.setting.model.optimizer.name == "adam" && has_note(without, "ddp.grad_reduce_in_fp32 decides nothing")));
}

TEST_CASE("recipes: keys that words take away or change go with what belongs to them") {
  CHECK(bridge("qwen3_30b_a3b_pretrain_8gpu_h100_bf16 model.recompute_granularity=null").setting.recompute.what ==
        ballast::recompute_setting::kind::none);
  auto const fewer = bridge("moonlight_16b_sft_8gpu_h100_bf16 model.pipeline_model_parallel_size=1 model.tensor_model_parallel_size=8");
  CHECK((fewer.setting.pipeline.stages == 1 && has_note(fewer, "the layout of the recipe is for PP 2")));
  CHECK(bridge("glm45_air_106b_sft").setting.model.expert_tensor == 1);  // Bridge's default where experts are spread
  auto const own = bridge("llama3_8b_pretrain");
  CHECK((own.model.vocabulary == 32'128 && has_note(own, "the tokenizer of the recipe has 32001 words, and the model 128256")));
  CHECK(bridge("llama3_8b_pretrain tokenizer.tokenizer_model=meta-llama/Meta-Llama-3-8B").model.vocabulary == 128'256);
  CHECK(bridge("llama3_8b_sft").model.vocabulary == 128'256);
  CHECK(refused_recipe("llama3_8b_pretrain tokenizer.vocab_size=99999999").ends_with("a vocabulary above 2^24 words"));
  CHECK(refused_recipe("llama3_8b_peft peft.dim=99999").ends_with("rank 99999, which is above 2^16"));
  auto asked = request();
  asked.vocabulary = 64'000;
  CHECK(read_framework_setting("python a.py --recipe llama3_8b_pretrain\n", "run.sh", asked).model.vocabulary == 64'000);
}

TEST_CASE("recipes: models that no preset has are built, and others are refused by name") {
  CHECK(ballast::parameters(*recipe_model("nvidia/NVIDIA-Nemotron-Nano-9B-v2")) == 8'888'227'328);
  CHECK(ballast::parameters(*recipe_model("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16")) == 31'577'937'344 + 23 * 128);
  CHECK(ballast::parameters(*recipe_model("Qwen/Qwen3-Next-80B-A3B-Instruct")) == 79'674'391'296);
  CHECK(ballast::parameters(*recipe_model("Qwen/Qwen3.5-27B")) == 26'895'998'464);
  CHECK(ballast::parameters(*recipe_model("google/gemma-7b")) == 8'537'680'896);
  CHECK(!recipe_model("google/gemma-8b"));
  for (auto const& [name, billions] : {std::pair{"4B", 4.5}, {"8B", 8.1}, {"47B", 46.8}, {"56B", 56.3}}) {
    CAPTURE(name);
    auto const counted =
        static_cast<double>(ballast::parameters(*recipe_model("nvidia/Nemotron-H-" + std::string(name) + "-Base-8K"))) / 1e9;
    CHECK(std::abs(counted - billions) < 0.1);
  }
  auto const hybrid = bridge("nemotronh_8b_sft");
  CHECK((hybrid.setting.gpus() == 2 && hybrid.setting.sequence == 8192 && hybrid.model.space.heads == 128));
  CHECK(bridge("gpt3_175b_pretrain").model.layers == 96);
  CHECK(refused_recipe("glm52_pretrain_416gpu_h100_bf16").find("zai-org/GLM-5.2 is none that is known here") != std::string::npos);
  CHECK(refused_recipe("wan_14b_sft_8gpu_h100_bf16").find("trains a diffusion model") != std::string::npos);
}

TEST_CASE("recipes: factories of NeMo 2, with what they are called with and words that override them") {
  auto const plain = nemo("pretrain --factory llama3_8b trainer.devices=4");
  CHECK((plain.framework == "NeMo" && plain.setting.gpus() == 4 && plain.setting.model.spread.context == 2));
  CHECK((plain.setting.sequence == 8192 && plain.setting.global_batch() == 512 && plain.model.vocabulary == 50'304));
  auto const called = nemo("pretrain --factory \"llama3_70b(num_nodes=16, name='x')\" data.micro_batch_size=2");
  CHECK((called.setting.gpus() == 128 && called.setting.model.spread.tensor == 4 && called.setting.chunks() == 5));
  CHECK(called.setting.micro_batch == 2);
  auto const adapters = nemo("finetune --factory llama3_8b");
  CHECK((adapters.setting.model.language.rank == 8 && adapters.setting.model.spread.zero == 0 && adapters.setting.sequence == 2048));
  auto const full = nemo("finetune --factory \"llama3_8b(peft_scheme='none', packed_sequence=True)\" -y");
  CHECK((full.setting.model.language.what == ballast::trained::all && full.setting.model.spread.tensor == 2));
  CHECK((full.setting.sequence == 4096 && full.setting.global_batch() == 8 && full.model.vocabulary == 128'256));
  CHECK(nemo("pretrain --factory llama3_8b trainer.plugins.grad_reduce_in_fp32=False").setting.model.optimizer.name ==
        "adam-bf16-gradients");
  CHECK(nemo("pretrain --factory nemotron4_15b_16k").model.layers == 32);
  CHECK(has_note(nemo("pretrain --factory \"llama3_8b(performance_mode=True)\""), "performance_mode is not modelled"));
  CHECK(refused_setting("nemo llm pretrain --factory t5_3b\n", "run.sh", request()).find("t5_3b has no recipe of NeMo that pretrains") !=
        std::string::npos);
}

}  // namespace test_cli_recipes
