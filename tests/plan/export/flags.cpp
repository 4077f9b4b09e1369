// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/export/flags.hpp>

#include <ballast/cost/presets.hpp>

#include "support/catch.hpp"

#include <string>
#include <vector>

namespace test_plan_export_flags {

namespace {

using namespace ballast;

training_setting interleaved() {
  training_setting by;
  by.model.spread = {.tensor = 4, .context = 2, .data = 8, .sequence_parallel = true, .zero = 1};
  by.pipeline = {.stages = 2, .schedule = interleaved_schedule{.chunks = 2}};
  by.recompute = {.what = recompute_setting::kind::modules, .modules = {recompute_module::layernorm, recompute_module::mlp}};
  by.sequence = 8192;
  by.micro_batches = 16;
  return by;
}

}  // namespace

TEST_CASE("megatron_flags: every flag that the plan depends on") {
  auto const e = megatron_flags(transformer_preset("llama-3.1-8b"), interleaved());
  CHECK(
      e.text ==
      "--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout \"Et*8|t*8|t*8|t*8L\" "
      "--context-parallel-size 2 --cp-comm-type p2p --sequence-parallel --use-distributed-optimizer --bf16 "
      "--recompute-granularity selective --recompute-modules layernorm mlp --seq-length 8192 --micro-batch-size 1 --global-batch-size 64");
  CHECK(e.without.empty());
  CHECK(e.words.size() == 24);
  CHECK(e.words[5] == "Et*8|t*8|t*8|t*8L");
}

TEST_CASE("exported flags: a model setting whose optimizer is not named is trained by Adam") {
  training_setting const by{.model = {.spread = {.data = 2, .zero = 1}}};
  CHECK(by.model.optimizer == training_setting{}.model.optimizer);
  CHECK(megatron_flags(transformer_preset("llama-3.1-8b"), by).without.empty());
}

TEST_CASE("swift_flags: defaults that differ from Megatron-LM's are written") {
  training_setting by;
  auto const e = swift_flags(transformer_preset("qwen3-30b-a3b"), by);
  CHECK(e.text ==
        "--tensor_model_parallel_size 1 --pipeline_model_parallel_size 1 --pipeline_model_parallel_layout \"Et*48L\" "
        "--context_parallel_size 1 --expert_model_parallel_size 1 --expert_tensor_parallel_size 1 --moe_token_dispatcher_type alltoall "
        "--use_distributed_optimizer false --bf16 true --recompute_granularity none --max_length 4096 --packing true --micro_batch_size 1 "
        "--global_batch_size 1");
  by.model.language = {.what = trained::low_rank, .rank = 16};
  by.recompute.what = recompute_setting::kind::uniform;
  auto const adapters = swift_flags(transformer_preset("qwen2.5-7b"), by);
  CHECK(adapters.text.find("--tuner_type lora --lora_rank 16 --recompute_granularity full --recompute_method uniform") !=
        std::string::npos);
  CHECK(adapters.without.empty());
}

TEST_CASE("exported flags: dropout and packing are those of the setting") {
  auto const& model = transformer_preset("llama-3.1-8b");
  training_setting by;
  auto const has = [](exported_setting const& e, char const* words) { return e.text.find(words) != std::string::npos; };
  CHECK(!has(megatron_flags(model, by), "dropout"));
  by.model.framework = framework_named("eager");  // Megatron-LM's default is 0.1
  CHECK(has(megatron_flags(model, by), "--hidden-dropout 0.0 --attention-dropout 0.0"));
  by.model.framework = framework_named("megatron");
  CHECK(has(megatron_flags(model, by), "--hidden-dropout 0.0 --attention-dropout 0.0"));
  by.model.kernels.attention_dropout = true;
  CHECK(has(megatron_flags(model, by), "--hidden-dropout 0.0 --attention-dropout 0.1"));
  CHECK(!has(swift_flags(model, by), "dropout"));  // which it has no flag for
  CHECK(swift_flags(model, by).without == std::vector<std::string>{"dropout"});
  CHECK((has(swift_flags(model, by), "--packing true") && has(swift_flags(model, by, false), "--packing false")));
}

TEST_CASE("exported flags: what a framework has no flag for is named") {
  auto by = interleaved();
  by.pipeline.schedule = zb1p_schedule{};
  by.recompute = {.what = recompute_setting::kind::alternate, .layers = 2};
  by.model.loss = {.how = head_loss::kind::chunked, .chunks = 8};
  by.model.optimizer = optimizer_named("adam-bf16-gradients");
  by.model.moved = offload::parameters;
  by.model.fp8_experts = true;
  by.model.language.what = trained::none;
  auto const& model = transformer_preset("llama-3.1-8b");
  CHECK(megatron_flags(model, by).without == std::vector<std::string>{"schedule zb1p", "offload parameters", "train none",
                                                                      "head loss chunked:8", "experts in 8 bits", "recompute alternate 2"});
  CHECK(swift_flags(model, by).without == std::vector<std::string>{"schedule zb1p", "optimizer adam-bf16-gradients", "offload parameters",
                                                                   "train none", "head loss chunked:8", "experts in 8 bits",
                                                                   "recompute alternate 2"});
  by.pipeline.stages = 0;
  CHECK_THROWS_AS(megatron_flags(model, by), invalid_input);
}

}  // namespace test_plan_export_flags
