// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/framework_setting.hpp"

#include <ballast/cost/presets.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/plan/judge_setting.hpp>

#include "settings.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace test_cli_hf_settings {

namespace {

using namespace ballast_cli;
using ballast::head_loss;
using ballast::offload;
using ballast::parallelism;
using ballast::trained;
using ballast::transformer_preset;
using enum ballast::recompute_setting::kind;

imported_setting read(std::string const& text, std::string const& name, setting_request const& asked) {
  return read_framework_setting(text, name, asked);
}
setting_request on(std::int64_t gpus) { return {.model = transformer_preset("llama-3.1-8b"), .gpus = gpus}; }
imported_setting yaml(std::string const& text, std::int64_t gpus = 8) { return read(text, "a.yaml", on(gpus)); }
using ballast_test::has_note;
using ballast_test::refused_setting;
bool all_known(imported_setting const& of) { return of.passed.doubtful.empty() && of.passed.unknown.empty() && of.unread.empty(); }
bool is(imported_setting const& of, std::int64_t micro_batch, std::int64_t micro_batches, std::int64_t sequence) {
  return of.setting.micro_batch == micro_batch && of.setting.micro_batches == micro_batches && of.setting.sequence == sequence;
}
auto const& state_of(imported_setting const& of) { return of.setting.model.optimizer.state; }

/// A file that a setting names.
setting_request with_file(std::string const& name, std::string const& text, std::int64_t gpus = 8) {
  auto out = on(gpus);
  out.find_file = [=](std::string const& asked) -> std::optional<std::string> {
    if (asked == name) return text;
    return std::nullopt;
  };
  return out;
}

std::string const zero3 =
    R"({"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "bf16": {"enabled": "auto"},
        "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto", "stage3_max_live_parameters": 1e9}})";

}  // namespace

TEST_CASE("hf_settings: LLaMA-Factory") {
  std::string const lora =
      "model_name_or_path: some/model\nstage: sft\ndo_train: true\nfinetuning_type: lora\nlora_rank: 16\nlora_target: all\ndataset: a,b\n"
      "template: qwen\ncutoff_len: 4096\nper_device_train_batch_size: 2\ngradient_accumulation_steps: 4\nbf16: true\nddp_timeout: 1000\n";
  auto const plain = yaml(lora);
  CHECK(plain.framework == "LLaMA-Factory");
  CHECK((is(plain, 2, 4, 4096) && all_known(plain)));
  CHECK(plain.setting.model.spread == parallelism{.data = 8});
  CHECK((plain.setting.model.language.what == trained::low_rank && plain.setting.model.language.rank == 16));
  CHECK(plain.setting.recompute.what == uniform);
  CHECK(yaml(lora + "disable_gradient_checkpointing: true\n").setting.recompute.what == none);
  CHECK(yaml(lora + "quantization_bit: 4\n").setting.model.language.quantised);
  std::string const full =
      "model_name_or_path: some/model\nstage: sft\ndo_train: true\nfinetuning_type: full\ncutoff_len: 2048\nbf16: true\n"
      "per_device_train_batch_size: 1\ngradient_accumulation_steps: 2\ndeepspeed: ds/z3.json\n";
  auto const sharded = read(full, "a.yaml", with_file("ds/z3.json", zero3));
  CHECK((sharded.setting.model.spread == parallelism{.data = 8, .zero = 3} && is(sharded, 1, 2, 2048) && all_known(sharded)));
  CHECK(sharded.setting.model.optimizer == ballast::optimizer_named("adam-bf16-gradients"));
  auto const lost = yaml(full);  // a file that is not there is never guessed
  CHECK(lost.passed.doubtful == std::vector<std::string>{"deepspeed"});
  CHECK(lost.unread.size() == 1);
  auto const pairs = read(full + "pref_loss: sigmoid\n", "a.yaml", with_file("ds/z3.json", zero3));
  CHECK(pairs.roles.empty());
  auto preferences = full;
  preferences.replace(preferences.find("sft"), 3, "dpo");
  auto const dpo = read(preferences, "a.yaml", with_file("ds/z3.json", zero3));
  CHECK((dpo.setting.micro_batch == 2 && dpo.roles.size() == 1));
  CHECK(dpo.roles[0].of.setting.model.spread == dpo.setting.model.spread);
  CHECK(dpo.roles[0].of.setting.model.language.what == trained::none);
  preferences = lora;
  preferences.replace(preferences.find("sft"), 3, "dpo");
  CHECK(yaml(preferences).roles.empty());  // adapters are switched off
  CHECK(refused_setting("model_name_or_path: a/b\ntemplate: qwen\nexport_dir: out\n", "a.yaml", on(8)) ==
        "a.yaml: this is an export of a model, and no training");
  CHECK(refused_setting("model_name_or_path: a/b\ntemplate: qwen\ninfer_backend: huggingface\n", "a.yaml", on(8)) ==
        "a.yaml: this is a setting for inference, and no training");
  auto const flags = read(
      "llamafactory-cli train --stage sft --do_train True --model_name_or_path a/b --finetuning_type full --cutoff_len 1024 "
      "--per_device_train_batch_size 3 --pure_bf16 True",
      "run.sh", on(2));
  CHECK((is(flags, 3, 1, 1024) && flags.setting.model.optimizer == ballast::optimizer_named("adam-bf16")));
  auto const next = yaml(
      "model: a/b\nmodel_class: llm\ntrain_dataset: d.yaml\nmicro_batch_size: 2\ncutoff_len: 512\nbf16: true\n"
      "dist_config:\n  name: fsdp2\ncp_size: 2\n");
  CHECK((next.setting.model.spread == parallelism{.context = 2, .data = 8, .zero = 3} && is(next, 2, 1, 512)));
}

TEST_CASE("hf_settings: axolotl") {
  std::string const qlora =
      "base_model: some/model\nload_in_4bit: true\nadapter: qlora\nlora_r: 32\nlora_target_linear: true\ndatasets:\n  - path: a/b\n"
      "    type: alpaca\n    message_field_training: x\nsequence_len: 4096\nsample_packing: true\nmicro_batch_size: 2\n"
      "gradient_accumulation_steps: 4\noptimizer: adamw_bnb_8bit\nbf16: auto\ngradient_checkpointing: true\nwandb_project:\n";
  auto const one = yaml(qlora, 1);
  CHECK(one.framework == "axolotl");
  CHECK((is(one, 2, 4, 4096) && all_known(one) && one.setting.recompute.what == uniform));
  CHECK(one.setting.model.language == ballast::trainable{.what = trained::low_rank, .rank = 32, .quantised = true});
  CHECK(one.setting.model.optimizer.moments == ballast::moment_form::blocks);
  std::string const full =
      "base_model: some/model\ndatasets:\n  - path: a/b\n    type: alpaca\nsequence_len: 8192\nmicro_batch_size: 1\n"
      "gradient_accumulation_steps: 2\noptimizer: adamw_torch_fused\nbf16: true\n";
  auto const sharded = yaml(full +
                            "fsdp_version: 2\nfsdp_config:\n  offload_params: true\n  reshard_after_forward: true\n"
                            "  activation_checkpointing: true\n");
  CHECK((sharded.setting.model.spread == parallelism{.data = 8, .zero = 3} && sharded.setting.model.moved == offload::parameters));
  CHECK((sharded.setting.recompute.what == uniform && is(sharded, 1, 2, 8192) && all_known(sharded)));
  CHECK(yaml(full).setting.model.optimizer == ballast::optimizer_named("adam-bf16"));
  auto const degrees =
      read(full + "dp_shard_size: 2\ntensor_parallel_size: 2\ncontext_parallel_size: 2\nfsdp_config:\n  offload_params: false\n", "a.yaml",
           {.model = transformer_preset("llama-3.1-8b")});
  CHECK(degrees.setting.model.spread == parallelism{.tensor = 2, .context = 2, .data = 4, .zero = 3});
  CHECK(degrees.setting.gpus() == 8);
  CHECK(yaml(full + "plugins:\n  - axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin\n").setting.model.loss.how ==
        head_loss::kind::fused);
  auto const dpo = yaml(full + "rl: dpo\n");
  CHECK((dpo.setting.micro_batch == 2 && dpo.roles.size() == 1));
  CHECK(refused_setting(full + "load_in_4bit: true\n", "a.yaml", on(8)) ==
        "a.yaml:10: load_in_4bit = true is not modelled without adapters");
  CHECK(has_note(yaml(full + "gradient_checkpointing: offload\n"), "gradient_checkpointing offload is judged as true"));
}

TEST_CASE("hf_settings: TRL and programs with the trainer of transformers") {
  auto const sft = read(
      "trl sft --model_name_or_path a/b --dataset_name d --per_device_train_batch_size 2 --gradient_accumulation_steps 8 "
      "--packing --eval_strategy steps --use_peft --lora_r 32 --lora_alpha 16 --dtype bfloat16",
      "run.sh", on(4));
  CHECK((sft.framework == "TRL" && is(sft, 2, 8, 1024) && all_known(sft)));
  CHECK((sft.setting.recompute.what == uniform && sft.setting.model.language.rank == 32));
  CHECK(sft.setting.model.language.matrices == ballast::adapted_matrices::queries_and_values);
  auto asked = with_file("c/zero3.yaml",
                         "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\nmixed_precision: bf16\nnum_processes: 16\n");
  asked.gpus.reset();
  auto const dpo = read(
      "accelerate launch --config_file c/zero3.yaml examples/scripts/dpo.py --model_name_or_path a/b --dataset_name d "
      "--per_device_train_batch_size 1 --max_length 4096",
      "run.sh", asked);
  CHECK((dpo.setting.model.spread == parallelism{.data = 16, .zero = 3} && is(dpo, 2, 1, 4096) && dpo.roles.size() == 1));
  std::string const grpo =
      "trl grpo --model_name_or_path a/b --dataset_name d --max_completion_length 512 --max_prompt_length 1024 --use_vllm ";
  CHECK(read(grpo, "run.sh", on(8)).roles.empty());
  CHECK(read(grpo, "run.sh", on(8)).setting.sequence == 1536);
  CHECK(has_note(read(grpo, "run.sh", on(8)), "vLLM reserves 0.30 of each device"));
  CHECK(read(grpo + "--beta 0.04", "run.sh", on(8)).roles.size() == 1);
  auto const recipe = yaml(
      "model_name_or_path: a/b\ndataset_name: d\nmax_length: 2048\nlearning_rate: 1.0e-5\nper_device_train_batch_size: 4\n"
      "bf16: true\noptim: paged_adamw_8bit\ngradient_checkpointing: false\n");
  CHECK((recipe.framework == "TRL" && is(recipe, 4, 1, 2048) && recipe.setting.recompute.what == none));
  CHECK((state_of(recipe).parameter == 4 && state_of(recipe).optimizer == 2));
  auto const clm = read(
      "torchrun --nproc_per_node 8 run_clm.py --model_name_or_path a/b --do_train --block_size 1024 "
      "--per_device_train_batch_size 4 --fsdp 'full_shard auto_wrap' --bf16 --output_dir o",
      "run.sh", {.model = transformer_preset("llama-3.1-8b")});
  CHECK((clm.framework == "Transformers" && is(clm, 4, 1, 1024) && clm.setting.model.spread == parallelism{.data = 8, .zero = 3}));
  CHECK((clm.setting.recompute.what == none && clm.setting.model.optimizer == ballast::optimizer_named("adam-fp32")));
}

TEST_CASE("hf_settings: accelerate") {
  setting_request const asked{.model = transformer_preset("llama-3.1-8b"), .sequence = 2048, .micro_batch = 2};
  auto const fsdp = read(
      "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: SHARD_GRAD_OP\n"
      "  fsdp_offload_params: false\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_activation_checkpointing: true\n"
      "mixed_precision: bf16\nnum_machines: 2\nnum_processes: 16\n",
      "a.yaml", asked);
  CHECK((fsdp.framework == "accelerate" && all_known(fsdp) && is(fsdp, 2, 1, 2048)));
  CHECK((fsdp.setting.model.spread == parallelism{.data = 16, .zero = 2} && fsdp.setting.recompute.what == uniform));
  auto const engine = read(
      "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\n"
      "  gradient_accumulation_steps: 4\n  offload_optimizer_device: cpu\n  offload_param_device: cpu\n"
      "mixed_precision: bf16\nnum_processes: 4\n",
      "a.yaml", asked);
  CHECK((engine.setting.model.spread == parallelism{.data = 4, .zero = 3} && engine.setting.model.moved == offload::parameters));
  CHECK((is(engine, 2, 4, 2048) && all_known(engine)));
  auto const ulysses = read(
      "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\nmixed_precision: bf16\nnum_processes: 4\n"
      "parallelism_config:\n  parallelism_config_sp_size: 2\n  parallelism_config_sp_backend: deepspeed\n",
      "a.yaml", asked);
  CHECK(ulysses.setting.model.spread == parallelism{.context = 2, .data = 4, .zero = 3});
  CHECK(ulysses.setting.model.method == ballast::context_method::ulysses);
  auto const megatron = read(
      "distributed_type: MEGATRON_LM\nmegatron_lm_config:\n  megatron_lm_tp_degree: 2\n  megatron_lm_pp_degree: 2\n"
      "  megatron_lm_num_micro_batches: 4\n  megatron_lm_use_distributed_optimizer: true\nnum_processes: 8\n",
      "a.yaml", asked);
  CHECK(megatron.setting.model.spread == parallelism{.tensor = 2, .data = 2, .zero = 1});
  CHECK((megatron.setting.pipeline.stages == 2 && megatron.setting.micro_batches == 4));
  CHECK(refused_setting("distributed_type: TPU\nnum_processes: 8\n", "a.yaml", asked) ==
        "a.yaml:1: distributed_type = TPU is no training on GPUs");
}

TEST_CASE("hf_settings: torchtune") {
  std::string const lora =
      "model:\n  _component_: torchtune.models.llama3_1.lora_llama3_1_8b\n  lora_attn_modules: ['q_proj', 'k_proj', 'v_proj', "
      "'output_proj']\n"
      "  apply_lora_to_mlp: True\n  lora_rank: 16\ntokenizer:\n  _component_: torchtune.models.llama3.llama3_tokenizer\n  max_seq_len: "
      "4096\n"
      "dataset:\n  packed: True\nbatch_size: 2\ngradient_accumulation_steps: 8\ndtype: bf16\nenable_activation_checkpointing: True\n"
      "optimizer:\n  _component_: torch.optim.AdamW\n  fused: True\nloss:\n  _component_: torchtune.modules.loss.LinearCrossEntropyLoss\n";
  auto asked = on(8);
  asked.model.reset();
  asked.find_model = [](std::string const& name) -> std::optional<known_model> {
    if (name == "llama-3.1-8b" || name == "qwen2.5-0.5b") return known_model{.language = transformer_preset(name)};
    return std::nullopt;
  };
  auto const several = read(lora, "a.yaml", asked);
  CHECK((several.framework == "torchtune" && all_known(several) && is(several, 2, 8, 4096)));
  CHECK((several.setting.model.spread == parallelism{.data = 8, .zero = 3} && several.setting.recompute.what == uniform));
  CHECK(several.setting.model.language == ballast::trainable{.what = trained::low_rank, .rank = 16});
  CHECK(several.setting.model.loss == head_loss{.how = head_loss::kind::chunked, .chunks = 8});
  auto full = lora;
  full.replace(full.find("llama3_1.lora_llama3_1_8b"), 25, "qwen2_5.qwen2_5_0_5b_base");
  full.replace(full.find("torch.optim.AdamW"), 17, "bitsandbytes.optim.PagedAdamW8bit");
  asked.gpus.reset();
  auto const one = read(full, "0.5B_full_single_device.yaml", asked);
  CHECK((one.setting.gpus() == 1 && one.setting.model.spread.zero == 0 && one.model == transformer_preset("qwen2.5-0.5b")));
  CHECK((one.setting.model.language.what == trained::all && state_of(one).optimizer == 2));
  CHECK(refused_setting("model:\n  _component_: torchtune.models.llama2.llama2_7b\nmax_new_tokens: 3\n", "a.yaml", on(1)) ==
        "a.yaml: this evaluates, generates or quantises, as it has no optimizer, and no training");
}

TEST_CASE("hf_settings: litgpt") {
  auto const lora = yaml(
      "checkpoint_dir: checkpoints/a/b\nprecision: bf16-true\nquantize: bnb.nf4\ndevices: 1\nnum_nodes: 1\nlora_r: 32\n"
      "lora_query: true\nlora_key: false\nlora_value: true\ntrain:\n  global_batch_size: 8\n  micro_batch_size: 2\n"
      "  max_seq_length: 512\noptimizer:\n  class_path: torch.optim.AdamW\n",
      1);
  CHECK((lora.framework == "litgpt" && all_known(lora) && is(lora, 2, 4, 512) && lora.setting.recompute.what == none));
  CHECK(lora.setting.model.language ==
        ballast::trainable{
            .what = trained::low_rank, .rank = 32, .quantised = true, .matrices = ballast::adapted_matrices::queries_and_values});
  setting_request const asked{.model = transformer_preset("llama-3.1-8b")};
  auto const full = read(
      "checkpoint_dir: checkpoints/a/b\nprecision: bf16-true\ndevices: 4\ntrain:\n  global_batch_size: 64\n  micro_batch_size: 4\n"
      "  max_seq_length: 2048\n",
      "a.yaml", asked);
  CHECK((full.setting.model.spread == parallelism{.data = 4, .zero = 3} && is(full, 4, 4, 2048) && full.setting.recompute.what == uniform));
  auto const pretraining = read(
      "model_name: m\nprecision: bf16-mixed\ndevices: 4\ntokenizer_dir: t\ntrain:\n  global_batch_size: 64\n"
      "  micro_batch_size: 4\n  max_seq_length: 2048\n",
      "a.yaml", asked);
  CHECK((pretraining.setting.recompute.what == none && pretraining.setting.model.optimizer == ballast::optimizer_named("adam-fp32")));
}

TEST_CASE("hf_settings: DeepSpeed's field names, new sections, and auto from TrainingArguments") {
  auto asked = on(8);
  asked.sequence = 2048;
  asked.trainer = R"({"per_device_train_batch_size": 2, "gradient_accumulation_steps": 4, "bf16": true, "gradient_checkpointing": true,
                      "optim": "adamw_bnb_8bit"})";
  auto const filled = read(zero3, "ds.json", asked);
  CHECK((is(filled, 2, 4, 2048) && filled.setting.recompute.what == uniform && all_known(filled)));
  CHECK(filled.setting.model.optimizer.moments == ballast::moment_form::blocks);
  CHECK_FALSE(has_note(filled, "bf16.enabled = auto is judged"));
  asked.trainer = "{}";
  CHECK(is(read(zero3, "ds.json", asked), 8, 1, 2048));  // the trainer's defaults
  asked.trainer.reset();
  CHECK(refused_setting(zero3, "ds.json", asked).find("--micro-batch says it") != std::string::npos);
  asked.micro_batch = 1;
  auto const fields =
      read(R"({"bf16": {"enabled": true}, "zero_optimization": {"stage": 3, "max_live_parameters": 3e7, "leaf_module": {"names": ["A"]},
                               "prefetch_bucket_size": 5e7, "zenflow": {"topk_ratio": 0.1}, "offload_optimizer": {"device": "cpu"}},
                               "torch_autocast": {"enabled": false}})",
           "ds.json", asked);
  CHECK((all_known(fields) && has_note(fields, "of 30000000 gathered parameters") && has_note(fields, "ZenFlow")));
}

TEST_CASE("hf_settings: lists of maps in YAML") {
  auto const of = yaml(
      "base_model: m\nsequence_len: 64\nmicro_batch_size: 1\nbf16: true\nadapter: lora\nnew_things:\n  - a: 1\n    b: 2\n  - a: 3\n  - "
      "word\n");
  CHECK(of.passed.unknown == std::vector<std::string>{"new_things.0.a", "new_things.0.b", "new_things.1.a", "new_things"});
}

}  // namespace test_cli_hf_settings
