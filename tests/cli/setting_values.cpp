// SPDX-License-Identifier: Apache-2.0
#include "readers/framework_setting.hpp"

#include <ballast/cost/presets.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/plan/memory_of.hpp>

#include "settings.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace test_cli_setting_values {

namespace {

using namespace ballast_cli;
using ballast_test::has_note;
using ballast_test::refused_setting;

setting_request request() {
  setting_request out{
      .model = ballast::transformer_preset("llama-3.1-8b"), .gpus = 8, .sequence = {}, .micro_batch = {}, .micro_batches = {}};
  out.vocabulary = 1000;
  out.sequence = 4096;
  return out;
}
imported_setting read(std::string const& text, std::string const& name = "a.yaml") { return read_framework_setting(text, name, request()); }
std::string refused(std::string const& text, std::string const& name = "a.yaml") { return refused_setting(text, name, request()); }
bool says(std::string const& sentence, std::string const& part) { return sentence.find(part) != sentence.npos; }
bool all_known(imported_setting const& of) { return of.passed.doubtful.empty() && of.passed.unknown.empty(); }

std::string const megatron = "torchrun pretrain_gpt.py --seq-length 4096 --micro-batch-size 1 --global-batch-size 16 ";
std::string const llamafactory = "stage: sft\ndo_train: true\nmodel_name_or_path: a/b\ncutoff_len: 64\nper_device_train_batch_size: 1\n";
std::string const axolotl = "base_model: m\nsequence_len: 64\nmicro_batch_size: 1\n";
std::string const trl = "model_name_or_path: a/b\nmax_length: 64\nper_device_train_batch_size: 1\nuse_peft: true\nlora_r: 8\n";
std::string const verl =
    "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=a/b actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 "
    "trainer.n_gpus_per_node=8 ";
std::string const automodel =
    "recipe: TrainFinetuneRecipeForNextTokenPrediction\nstep_scheduler:\n  local_batch_size: 1\ndataset:\n  seq_length: 64\n";
std::string const openrlhf = "deepspeed --module openrlhf.cli.train_sft --model.model_name_or_path a/b --data.max_len 64 ";
std::string const swift = "swift sft --model a/b --dataset d --max_length 64 ";

}  // namespace

TEST_CASE("setting_values: Megatron-LM's words are those of its keys") {
  for (auto const* const key :
       {"--fp8-format hybird", "--fp8-format e5m2", "--fp4-format nvfp4", "--fp8-format hybrid --fp8-recipe delyaed",
        "--moe-token-dispatcher-type alltoal", "--moe-flex-dispatcher-backend deepe", "--position-embedding-type rop",
        "--normalization RMSNrom", "--cuda-graph-impl lokal", "--cuda-graph-impl local --cuda-graph-modules atn",
        "--megatron-fsdp-main-grads-dtype fp12"}) {
    CAPTURE(key);
    CHECK(says(refused(megatron + "--bf16 " + key, "a.sh"), "must be one of "));
  }
  for (auto const* const key : {"--fp8-format e4m3 --fp8-recipe blockwise", "--fp8-format hybrid --fp8-recipe $RECIPE", "--fp4-format e2m1",
                                "--cuda-graph-impl full_iteration", "--cuda-graph-impl local --cuda-graph-modules attn moe_router",
                                "--moe-token-dispatcher-type flex", "--position-embedding-type mrope", "--train-iters $ITERS",
                                "--train-iters 100 --lr 1.0e-5 --seed 1_000"}) {
    CAPTURE(key);
    CHECK(refused(megatron + "--bf16 " + key, "a.sh") == "accepted");
  }
  CHECK(refused(megatron + "--bf16 --train-iters x", "a.sh") == "a.sh:1: train_iters = x must be a number");
  CHECK(refused(megatron + "--bf16 --fp16", "a.sh") == "a.sh:1: fp16 without a value is on beside bf16, of which only one may be");
  auto const defers = [](std::string const& more) { return megatron + "--bf16 --defer-embedding-wgrad-compute " + more; };
  CHECK(says(refused(defers(""), "a.sh"), "needs a pipeline of several stages"));
  CHECK(read(defers("--pipeline-model-parallel-size 2 --wgrad-deferral-limit 2"), "a.sh").setting.model.kernels.deferred == 2);
  CHECK(
      says(refused(defers("--pipeline-model-parallel-size 2 --no-gradient-accumulation-fusion"), "a.sh"), "gradient_accumulation_fusion"));
  // in documents 8 bits may be off
  std::string const document = "tensor_model_parallel_size: 1\nseq_length: 64\nmicro_batch_size: 1\nbf16: true\nhidden_size: 4096\n";
  CHECK(!read(document + "fp8: false\n").setting.model.kernels.fp8);
  CHECK(read(document + "fp8: hybrid\n").setting.model.kernels.fp8);
}

TEST_CASE("setting_values: formats and engines of the others") {
  std::pair<std::string, std::string> const yaml[]{
      {llamafactory + "flash_attn: fa9\n",
       "a.yaml:6: flash_attn = fa9 must be one of auto, fa2, fa3, sdpa, disabled, off, true, false; did you mean fa2?"},
      {llamafactory + "quantization_method: bnbb\n",
       "a.yaml:6: quantization_method = bnbb must be one of bnb, bitsandbytes, gptq, awq, aqlm, quanto, eetq, hqq, mxfp4, fp8; did you "
       "mean bnb?"},
      {llamafactory + "bf16: true\nfp16: true\n", "a.yaml:7: fp16 = true is on beside bf16, of which only one may be"},
      {axolotl + "bf16: true\nfp16: true\n", "a.yaml:5: fp16 = true is on beside bf16, of which only one may be"},
      {trl + "bf16: true\nfp16: true\n", "a.yaml:7: fp16 = true is on beside bf16, of which only one may be"},
      {trl + "dtype: bf17\n",
       "a.yaml:6: dtype = bf17 must be one of auto, bfloat16, float16, float32, bf16, fp16, fp32; did you mean bf16?"},
      {llamafactory + "bf16: true\nlearning_rate: fast\n", "a.yaml:7: learning_rate = fast must be a number"},
      {automodel + "distributed:\n  strategy: fsdp3\n",
       "a.yaml:7: distributed.strategy = fsdp3 must be one of fsdp2, megatron_fsdp, ddp; did you mean fsdp2?"},
      {automodel + "model:\n  torch_dtype: torch.bfloat17\n",
       "a.yaml:7: model.torch_dtype = torch.bfloat17 must be one of bf16, bfloat16, float16, half, float32, float, auto; did you mean "
       "bfloat16?"}};
  for (auto const& [text, sentence] : yaml) CHECK(refused(text) == sentence);
  std::pair<std::string, std::string> const scripts[]{
      {swift + "--torch_dtype bf17", "torch_dtype = bf17 must be one of bfloat16, float16, float32"},
      {swift + "--bf16 true --fp16 true", "is on beside bf16"},
      {verl + "actor_rollout_ref.actor.strategy=fspd", "is fsdp meant?"},
      {verl + "actor_rollout_ref.actor.fsdp_config.model_dtype=bf17", "did you mean bf16?"},
      {verl + "algorithm.adv_estimator=grop", "is grpo meant?"},
      {openrlhf + "--ds.param_dtype fp32", "must be one of bf16, fp16"},
      {openrlhf + "--optim adamw", "must be one of adam, muon"}};
  for (auto const& [text, part] : scripts) {
    CAPTURE(text);
    CHECK(says(refused(text, "a.sh"), part));
  }
  CHECK(says(refused(R"({"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}, "fp16": {"enabled": true}})", "a.json"),
             "is on beside bf16.enabled"));
  // one of both may be automatic, and then gives way
  CHECK(read(axolotl + "bf16: auto\nfp16: true\n").framework == "axolotl");
  CHECK(has_note(read(verl + "actor_rollout_ref.actor.strategy=veomni", "a.sh"), "strategy veomni is judged as FSDP"));
  CHECK(has_note(read(axolotl + "bf16: true\nattn_implementation: of_a_plugin\n"), "is none that is known here"));
  CHECK(!has_note(read(axolotl + "bf16: true\nattn_implementation: flash_attention_4\n"), "is none that is known here"));
}

TEST_CASE("setting_values: keys that touch neither memory nor time raise no doubt") {
  CHECK(all_known(read(llamafactory + "bf16: true\nvllm_maxlen: 64\nvllm_gpu_util: 0.5\nvllm_enforce_eager: true\nbuffer_size: 16\n"
                                      "average_tokens_across_devices: true\ngradient_checkpointing: true\n")));
  auto const of = read(megatron +
                           "--bf16 --record-memory-history --distrib-optim-fully-reshardable-mem-efficient --cpu-offloading-num-layers 2 "
                           "--cpu-offloading",
                       "a.sh");
  CHECK(all_known(of));
  CHECK(std::count_if(of.notes.begin(), of.notes.end(), [](auto const& n) { return says(n, "cpu_offloading"); }) == 1);
}

TEST_CASE("setting_values: copies of embedding and head that train whole have weights, gradients and moments") {
  auto const model = ballast::transformer_preset("llama-3.1-8b");
  auto const matrix = model.vocabulary * model.hidden;
  auto const bytes = [](imported_setting const& of) {
    REQUIRE(of.roles.size() == 1);
    CHECK(of.roles[0].role.starts_with("trained copy"));
    CHECK(of.roles[0].resident);
    auto const& by = of.roles[0].of.setting;
    auto const parts = ballast::memory_of(of.roles[0].of.model, by).front();
    CHECK((parts.gathered > 0) == (by.gpus() > 1));  // buckets, or what FSDP gathers
    return parts.states;
  };
  auto const near = [](std::int64_t is, std::int64_t expected) { return is >= expected && is - expected < expected / 1000; };
  auto const lora = axolotl + "bf16: true\nadapter: lora\n";
  auto const both = "lora_modules_to_save: [embed_tokens, lm_head]\n";
  CHECK(near(bytes(read(lora + both)), 2 * matrix * 8));  // all in bfloat16, as the model is
  CHECK(near(bytes(read(lora + "lora_modules_to_save: [lm_head]\n")), matrix * 8));
  CHECK(near(bytes(read(lora + both + "fsdp: [full_shard]\n")), 2 * matrix * 16 / 8));
  auto const casts = llamafactory + "finetuning_type: lora\nbf16: true\nadditional_target: embed_tokens,lm_head\n";
  CHECK(near(bytes(read(casts)), 2 * matrix * 16));  // what trains is in float32
  CHECK(near(bytes(read(trl + "bf16: true\ndtype: bfloat16\nlora_modules_to_save: embed_tokens\n")), matrix * 8));
  CHECK(near(bytes(read(swift + "--tuner_type lora --modules_to_save embed_tokens", "a.sh")), matrix * 8));
  CHECK(read(axolotl + "bf16: true\n" + both).roles.empty());  // everything trains anyway
  auto const norm = read(lora + "lora_modules_to_save: [norm]\n");
  CHECK(norm.roles.empty());
  CHECK(has_note(norm, "norm: trains whole beside the adapters, which is not counted: the memory is too low"));
}

}  // namespace test_cli_setting_values
