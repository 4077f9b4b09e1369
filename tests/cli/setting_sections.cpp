// SPDX-License-Identifier: Apache-2.0
#include "readers/framework_setting.hpp"

#include <ballast/cost/presets.hpp>

#include "settings.hpp"
#include "support/catch.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Keys in sections that importers pass over, and values that are none of their key.

namespace test_cli_setting_sections {

namespace {

using namespace ballast_cli;
using ballast_test::has_note;
using ballast_test::refused_setting;
using names = std::vector<std::string>;

setting_request request() {
  setting_request out{.model = ballast::transformer_preset("llama-3.1-8b"), .gpus = 8, .sequence = 4096};
  out.find_model = [](std::string const&) { return std::optional(known_model{ballast::transformer_preset("llama-3.1-8b")}); };
  return out;
}

/// A section with a slip of a key of it, and that key.
struct section_sample {
  std::string name, slip, meant;
};
/// A setting, in which "@SECTION@" is where a further key of that section may be.
struct sample {
  std::string framework, name, text;
  std::vector<section_sample> sections;

  [[nodiscard]] std::string line(std::string const& section, std::string const& key) const {
    if (name == "a.json") return ", \"" + key + "\": 1";
    if (name == "a.toml") return key + " = 1";
    if (framework == "verl") return section + "." + key + "=1";
    return framework == "OpenRLHF" ? "--" + section + "." + key + " 1" : key + ": 1";
  }
  /// With `key` in a section; without, if it is empty.
  [[nodiscard]] std::string with(std::string const& section, std::string const& key) const {
    auto out = text;
    for (auto const& one : sections) {
      auto const mark = "@" + one.name + "@";
      out.replace(out.find(mark), mark.size(), one.name == section ? line(section, key) : name == "a.yaml" ? "# none" : "");
    }
    return out;
  }
};

std::vector<sample> samples() {
  return {
      {"accelerate",
       "a.yaml",
       "distributed_type: FSDP\nmixed_precision: bf16\nfsdp_config:\n  fsdp_version: 2\n  @fsdp_config@\nparallelism_config:\n"
       "  parallelism_config_tp_size: 1\n  @parallelism_config@\nfp8_config:\n  margin: 0\n  @fp8_config@\n",
       {{"fsdp_config", "fsdp_offload_parms", "fsdp_config.fsdp_offload_params"},
        {"parallelism_config", "parallelism_config_dp_replicate_sise", "parallelism_config.parallelism_config_dp_replicate_size"},
        {"fp8_config", "amax_compute_alg", "fp8_config.amax_compute_algo"}}},
      {"accelerate",
       "a.yaml",
       "distributed_type: DEEPSPEED\nmixed_precision: bf16\ndeepspeed_config:\n  zero_stage: 3\n  @deepspeed_config@\n",
       {{"deepspeed_config", "offload_optimizer_devce", "deepspeed_config.offload_optimizer_device"}}},
      {"accelerate",
       "a.yaml",
       "distributed_type: MEGATRON_LM\nmixed_precision: bf16\nmegatron_lm_config:\n  megatron_lm_tp_degree: 2\n  @megatron_lm_config@\n",
       {{"megatron_lm_config", "megatron_lm_recompute_activatons", "megatron_lm_config.megatron_lm_recompute_activations"}}},
      {"litgpt",
       "a.yaml",
       "checkpoint_dir: checkpoints/a/b\nprecision: bf16-true\ndevices: 8\nlora_r: 8\ndata:\n  class_path: litgpt.data.JSON\n  @data@\n"
       "train:\n  global_batch_size: 8\n  micro_batch_size: 1\n  @train@\noptimizer:\n  init_args:\n    lr: 1\n  @optimizer@\n",
       {{"data", "", ""}, {"train", "max_seq_lenght", "train.max_seq_length"}, {"optimizer", "class_pth", "optimizer.class_path"}}},
      {"DeepSpeed",
       "a.json",
       R"({"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true @bf16@}, "fp16": {"loss_scale": 0 @fp16@},
          "optimizer": {"type": "AdamW" @optimizer@}, "activation_checkpointing": {"profile": false @activation_checkpointing@},
          "zero_optimization": {"stage": 2 @zero_optimization@, "offload_optimizer": {"device": "cpu" @zero_optimization.offload_optimizer@},
          "offload_param": {"device": "none" @zero_optimization.offload_param@}}})",
       {{"bf16", "bf16_master_weights_and_grad", "bf16.bf16_master_weights_and_grads"},
        {"fp16", "consecutive_hysteresi", "fp16.consecutive_hysteresis"},
        {"optimizer", "", ""},
        {"activation_checkpointing", "partition_activation", "activation_checkpointing.partition_activations"},
        {"zero_optimization", "overlap_com", "zero_optimization.overlap_comm"},
        {"zero_optimization.offload_optimizer", "pin_memry", "zero_optimization.offload_optimizer.pin_memory"},
        {"zero_optimization.offload_param", "buffer_coun", "zero_optimization.offload_param.buffer_count"}}},
      {"NeMo RL",
       "a.yaml",
       "policy:\n  model_name: a/b\n  train_micro_batch_size: 1\n  train_global_batch_size: 64\n  max_total_sequence_length: 4096\n  "
       "@policy@\n"
       "  dtensor_cfg:\n    enabled: true\n    @policy.dtensor_cfg@\n  sequence_packing:\n    enabled: false\n    "
       "@policy.sequence_packing@\n"
       "  optimizer:\n    name: torch.optim.AdamW\n    @policy.optimizer@\n"
       "loss_fn:\n  token_level_loss: true\n  @loss_fn@\ngrpo:\n  num_prompts_per_step: 8\n  @grpo@\ndata:\n  shuffle: true\n  @data@\n"
       "cluster:\n  gpus_per_node: 8\n",
       {{"policy", "generation_batch_sise", "policy.generation_batch_size"},
        {"policy.dtensor_cfg", "tensor_parallel_sise", "policy.dtensor_cfg.tensor_parallel_size"},
        {"policy.sequence_packing", "train_mb_token", "policy.sequence_packing.train_mb_tokens"},
        {"policy.optimizer", "", ""},
        {"loss_fn", "reference_policy_kl_penalt", "loss_fn.reference_policy_kl_penalty"},
        {"grpo", "max_rollout_turn", "grpo.max_rollout_turns"},
        {"data", "max_input_seq_lengt", "data.max_input_seq_length"}}},
      {"NeMo Automodel",
       "a.yaml",
       "recipe: TrainFinetuneRecipeForNextTokenPrediction\nmodel:\n  pretrained_model_name_or_path: a/b\n  @model@\ndistributed:\n  "
       "strategy: fsdp2\n"
       "  @distributed@\nstep_scheduler:\n  global_batch_size: 64\n  local_batch_size: 1\n  @step_scheduler@\noptimizer:\n  lr: 1\n  "
       "@optimizer@\n"
       "packed_sequence:\n  packed_sequence_size: 0\n  @packed_sequence@\n",
       {{"model", "mtp_loss_scaling_facto", "model.mtp_loss_scaling_factor"},
        {"distributed", "sequence_paralel", "distributed.sequence_parallel"},
        {"step_scheduler", "", ""},
        {"optimizer", "bias_correctio", "optimizer.bias_correction"},
        {"packed_sequence", "split_across_pac", "packed_sequence.split_across_pack"}}},
      {"verl",
       "a.sh",
       "python3 -m verl.trainer.main_ppo data.train_files=a @data@ @algorithm@ @trainer@ algorithm.adv_estimator=grpo "
       "actor_rollout_ref.model.path=a/b @actor_rollout_ref.model@ actor_rollout_ref.actor.ppo_mini_batch_size=64 "
       "@actor_rollout_ref.actor@ "
       "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 actor_rollout_ref.actor.optim.lr=1 @actor_rollout_ref.actor.optim@ ",
       {{"data", "max_prompt_lenght", "data.max_prompt_length"},
        {"algorithm", "use_kl_in_rewar", "algorithm.use_kl_in_reward"},
        {"trainer", "n_gpus_per_nod", "trainer.n_gpus_per_node"},
        {"actor_rollout_ref.model", "lora_rnk", "actor_rollout_ref.model.lora_rank"},
        {"actor_rollout_ref.actor", "use_kl_los", "actor_rollout_ref.actor.use_kl_loss"},
        {"actor_rollout_ref.actor.optim", "optimizer_imp", "actor_rollout_ref.actor.optim.optimizer_impl"}}},
      {"torchtune",
       "a.yaml",
       "model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\n  @model@\nbatch_size: 1\ndtype: bf16\noptimizer:\n"
       "  _component_: torch.optim.AdamW\n  @optimizer@\nloss:\n  _component_: torchtune.modules.loss.LinearCrossEntropyLoss\n  @loss@\n",
       {{"model", "lora_dropot", "model.lora_dropout"}, {"optimizer", "foreac", "optimizer.foreach"}, {"loss", "", ""}}},
      {"axolotl",
       "a.yaml",
       "base_model: a/b\nsequence_len: 4096\nmicro_batch_size: 1\nbf16: true\nadapter: lora\nfsdp_config:\n  offload_params: false\n  "
       "@fsdp_config@\n"
       "trl:\n  beta: 0\n  @trl@\n",
       {{"fsdp_config", "activation_checkpointin", "fsdp_config.activation_checkpointing"},
        {"trl", "num_generation", "trl.num_generations"}}},
      {"LLaMA-Factory",
       "a.yaml",
       "model: a/b\nmodel_class: llm\ntrain_dataset: data.yaml\ncutoff_len: 4096\nmicro_batch_size: 1\npeft_config:\n  name: lora\n  "
       "@peft_config@\n"
       "dist_config:\n  name: fsdp2\n  @dist_config@\noptim_config:\n  name: adamw_torch\n  @optim_config@\n",
       {{"peft_config", "target_module", "peft_config.target_modules"},
        {"dist_config", "ep_dispatche", "dist_config.ep_dispatcher"},
        {"optim_config", "momentu", "optim_config.momentum"}}},
      {"torchtitan",
       "a.toml",
       "[model]\nname = \"llama3\"\nflavor = \"8B\"\n@model@\n[training]\nlocal_batch_size = 1\nseq_len = 4096\n@training@\n[parallelism]\n"
       "tensor_parallel_degree = 1\n@parallelism@\n[activation_checkpoint]\nmode = \"none\"\n@activation_checkpoint@\n[optimizer]\nname = "
       "\"AdamW\"\n@optimizer@\n[compile]\nenable = false\n@compile@\n[float8]\n@float8@\n",
       {{"model", "", ""},
        {"training", "global_batch_siz", "training.global_batch_size"},
        {"parallelism", "pipeline_parallel_degre", "parallelism.pipeline_parallel_degree"},
        {"activation_checkpoint", "selective_ac_optio", "activation_checkpoint.selective_ac_option"},
        {"optimizer", "implementaton", "optimizer.implementation"},
        {"compile", "component", "compile.components"},
        {"float8", "enable_float8_linea", "float8.enable_float8_linear"}}},
      {"Megatron-Bridge",
       "a.yaml",
       "model:\n  tensor_model_parallel_size: 1\n  seq_length: 4096\n  @model@\ntrain:\n  micro_batch_size: 1\n  global_batch_size: 8\n"
       "  @train@\nddp:\n  overlap_grad_reduce: true\n  @ddp@\n",
       {{"model", "pipeline_model_parallel_siz", "pipeline_model_parallel_size"},
        {"train", "", ""},
        {"ddp", "use_distributed_optimize", "use_distributed_optimizer"}}},
      {"NeMo",
       "a.yaml",
       "trainer:\n  devices: 8\n  num_nodes: 1\n  precision: bf16\n  @trainer@\nmodel:\n  micro_batch_size: 1\n  global_batch_size: 8\n"
       "  tensor_model_parallel_size: 1\n  encoder_seq_length: 4096\n  @model@\n",
       {{"trainer", "", ""}, {"model", "pipeline_model_parallel_siz", "pipeline_model_parallel_size"}}},
      {"OpenRLHF",
       "a.sh",
       "python3 -m openrlhf.cli.train_sft --actor.model_name_or_path a/b --data.max_len 4096 @data@ --train.batch_size 8 "
       "--train.micro_batch_size 1 "
       "@train@ ",
       {{"data", "max_sample", "data.max_samples"}, {"train", "num_episode", "train.num_episodes"}}}};
}

}  // namespace

TEST_CASE("setting_sections: each key of each section of each format is seen once", "[property]") {
  for (auto const& of : samples()) {
    auto asked = request();
    if (of.framework == "accelerate") asked.micro_batch = 1;  // which the trainer's command says
    auto const read = [&](std::string const& text) { return read_framework_setting(text, of.name, asked); };
    CAPTURE(of.framework);
    auto const text_alone = of.with("", "");
    auto const sentence_alone = refused_setting(text_alone, of.name, asked);
    CAPTURE(text_alone, sentence_alone);
    CHECK(sentence_alone == "accepted");
    if (sentence_alone != "accepted") continue;
    auto const alone = read(text_alone);
    CHECK(alone.framework == of.framework);
    for (auto const& section : of.sections) {
      auto const found = [&](std::string const& key, names passed_keys::* kind) {
        auto const text = of.with(section.name, key);
        auto const sentence = refused_setting(text, of.name, asked);
        CAPTURE(section.name, key, sentence);
        CHECK(sentence == "accepted");
        if (sentence != "accepted") return;
        auto const with = read(text);
        CHECK(with.setting == alone.setting);
        auto count = 0, right = 0;
        for (auto const* const list : {&with.passed.harmless, &with.passed.doubtful, &with.passed.unknown})
          for (auto const& listed : *list)
            if (listed == key || listed == section.name + "." + key) {
              ++count;
              right += list == &(with.passed.*kind) ? 1 : 0;
            }
        CHECK(count == 1);
        CHECK(right == 1);
      };
      found("offload_everything_new", &passed_keys::doubtful);
      found("zq1907wy", &passed_keys::unknown);
      found("something_log", &passed_keys::harmless);
      if (section.slip.empty()) continue;
      auto const sentence = refused_setting(of.with(section.name, section.slip), of.name, asked);
      CAPTURE(section.name, sentence);
      CHECK(sentence.find("is " + section.meant + " meant?") != std::string::npos);
      CHECK(sentence.find(section.slip) != std::string::npos);
    }
  }
}

TEST_CASE("setting_sections: sections of logs, engines and other models are known whole, but for slips") {
  auto const* const text =
      "policy:\n  model_name: a/b\n  train_micro_batch_size: 1\n  train_global_batch_size: 64\n  max_total_sequence_length: 4096\n"
      "  generation:\n    backend: vllm\n    vllm_cfg:\n      zorp: 1\n      offload_new: 1\n  dtensor_cfg:\n    enabled: true\n"
      "  megatron_cfg:\n    enabled: false\n    offload_new: 1\n"
      "  optimizer: null\n  new_offload: null\n"
      "logger:\n  offload_new: 1\ncluster:\n  gpus_per_node: 8\n";
  auto const of = read_framework_setting(text, "a.yaml", request());
  CHECK(of.passed.doubtful.empty());
  CHECK(of.passed.unknown.empty());
  CHECK(of.passed.harmless == names{"policy.new_offload"});  // whose value is none
  auto const slip =
      "policy:\n  model_name: a/b\n  train_micro_batch_size: 1\n  max_total_sequence_length: 4096\n  generation:\n"
      "    backend: vllm\n    vllm_cfg:\n      tensor_parallel_sise: 2\ncluster:\n  gpus_per_node: 8\n";
  CHECK(refused_setting(slip, "a.yaml", request()).find("is policy.generation.vllm_cfg.tensor_parallel_size meant?") != std::string::npos);
}

TEST_CASE("setting_sections: a value that is none of its key is refused with those that are") {
  auto asked = request();
  asked.vocabulary = 1000;
  asked.micro_batch = 1;
  auto const refused = [&](std::string const& text, std::string const& name = "a.yaml") { return refused_setting(text, name, asked); };
  std::string const axolotl = "base_model: a/b\nsequence_len: 4096\nmicro_batch_size: 1\nbf16: true\n";
  CHECK(refused("distributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHRD\n") ==
        "a.yaml:3: fsdp_config.fsdp_sharding_strategy = FULL_SHRD must be one of full_shard, shard_grad_op, no_shard, hybrid_shard, "
        "hybrid_shard_zero2, 1, 2, 3, 4, 5; did you mean full_shard?");
  CHECK(refused("distributed_type: FSDP\nmixed_precision: bf17\nfsdp_config:\n  fsdp_version: 2\n") ==
        "a.yaml:2: mixed_precision = bf17 must be one of no, fp16, bf16, fp8, false; did you mean bf16?");
  CHECK(refused("distributed_type: FSPD\nmixed_precision: bf16\n").find("did you mean FSDP?") != std::string::npos);
  CHECK(refused("distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 4\n").find("from 0 to 3") != std::string::npos);
  CHECK(refused("distributed_type: DEEPSPEED\ndeepspeed_config:\n  offload_param_device: gpu\n").find("none, cpu, nvme") !=
        std::string::npos);
  CHECK(refused(axolotl + "adapter: qlra\n") == "a.yaml:5: adapter = qlra is none that is known; is qlora meant?");
  CHECK(refused(axolotl + "optimizer: adamw_trch\n") == "a.yaml:5: optimizer = adamw_trch is none that is known; is adamw_torch meant?");
  CHECK(refused(axolotl + "attn_implementation: eagr\n") == "a.yaml:5: attn_implementation = eagr is none that is known; is eager meant?");
  for (auto const* const other : {"optimizer: new_optimizer\n", "attn_implementation: kernels-community/x\n", "adapter: of_a_plugin\n",
                                  "attn_implementation: flash_attention_4\n"})
    CHECK(refused(axolotl + other) == "accepted");
  CHECK(has_note(read_framework_setting(axolotl + "optimizer: new_optimizer\n", "a.yaml", asked), "is judged as Adam"));
  CHECK(refused("checkpoint_dir: a\nprecision: bf16-tru\ntrain:\n  micro_batch_size: 1\n").find("did you mean bf16-true?") !=
        std::string::npos);
  CHECK(refused("checkpoint_dir: a\nlora_r: 8\nquantize: bnb.nf5\ntrain:\n  micro_batch_size: 1\n").find("did you mean bnb.nf4?") !=
        std::string::npos);
  CHECK(refused("model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\nbatch_size: 1\ndtype: bf61\noptimizer:\n"
                "  _component_: torch.optim.AdamW\n") == "a.yaml:4: dtype = bf61 must be one of bf16, fp32, fp16; did you mean bf16?");
  CHECK(
      refused(R"({"zero_optimization": {"stage": 1}, "data_types": {"grad_accum_dtype": "fp23"}})", "a.json").find("did you mean fp32?") !=
      std::string::npos);
  asked.model.reset();
  std::string const megatron =
      "torchrun pretrain_gpt.py --num-layers 4 --num-attention-heads 64 --seq-length 4096 --max-position-embeddings 4096 ";
  CHECK(refused(megatron + "--hidden-size 8191", "a.sh") ==
        "a.sh:1: hidden_size = 8191 is no multiple of num_attention_heads, 64, and kv_channels is not there");
  CHECK(refused(megatron + "--hidden-size 8191 --kv-channels 128", "a.sh") == "accepted");
  CHECK(refused(megatron + "--hidden-size 8192 --recompute-granularity ful", "a.sh").find("did you mean full?") != std::string::npos);
}

}  // namespace test_cli_setting_sections
