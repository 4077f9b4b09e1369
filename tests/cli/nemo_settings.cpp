// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/framework_setting.hpp"

#include <ballast/cost/presets.hpp>

#include "settings.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <optional>
#include <string>

// Settings of NeMo RL, NeMo Automodel, Megatron-Bridge and NeMo, as their published files have them, written small.

namespace test_cli_nemo_settings {

namespace {

using namespace ballast_cli;
using enum ballast::recompute_setting::kind;

setting_request request(std::optional<std::int64_t> gpus = {}) {
  setting_request out;
  out.gpus = gpus;
  out.find_model = [](std::string const& name) -> std::optional<known_model> {
    if (name.find("70B") != name.npos) return known_model{ballast::transformer_preset("llama-3.1-70b")};
    if (name.find("Llama-3") != name.npos) return known_model{ballast::transformer_preset("llama-3.1-8b")};
    if (name == "Qwen/Qwen3-30B-A3B") return known_model{ballast::transformer_preset("qwen3-30b-a3b")};
    return std::nullopt;
  };
  out.find_file = [](std::string const& name) -> std::optional<std::string> {
    if (name != "../sft.yaml") return std::nullopt;
    return "sft:\n  max_num_epochs: 1\npolicy:\n  model_name: meta-llama/Llama-3.1-8B\n  train_global_batch_size: 128\n"
           "  train_micro_batch_size: 1\n  max_total_sequence_length: 1024\n  precision: bfloat16\n  dtensor_cfg:\n    enabled: true\n"
           "    tensor_parallel_size: 1\n    context_parallel_size: 1\n    activation_checkpointing: false\n  megatron_cfg:\n"
           "    enabled: false\n    activation_checkpointing: false\n    tensor_model_parallel_size: 1\n"
           "    pipeline_model_parallel_size: 1\n    context_parallel_size: 1\n    recompute_granularity: full\n"
           "  sequence_packing:\n    enabled: false\n"
           "    train_mb_tokens: ${mul:${..max_total_sequence_length}, ${policy.train_micro_batch_size}}\n"
           "cluster:\n  gpus_per_node: 8\n  num_nodes: 1\n";
  };
  return out;
}
imported_setting read(std::string const& text, std::string const& name, setting_request const& asked) {
  return read_framework_setting(text, name, asked);
}
using ballast_test::refused_setting;

}  // namespace

TEST_CASE("nemo_settings: NeMo RL over its defaults, by DTensor and by Megatron") {
  std::string const over = "defaults: ../sft.yaml\npolicy:\n  max_total_sequence_length: 4096\n  train_micro_batch_size: 2\n";
  auto const dtensor =
      read(over + "  dtensor_cfg:\n    tensor_parallel_size: 2\n    activation_checkpointing: true\n", "a.yaml", request());
  CHECK(dtensor.framework == "NeMo RL");
  auto const& by = dtensor.setting;
  CHECK((by.gpus() == 8 && by.model.spread.tensor == 2 && by.model.spread.data == 4 && by.model.spread.zero == 3));
  CHECK((by.sequence == 4096 && by.micro_batch == 2 && by.micro_batches == 16 && by.recompute.what == uniform));
  auto const megatron =
      read(over +
               "  sequence_packing:\n    enabled: true\n  dtensor_cfg:\n    enabled: false\n  megatron_cfg:\n    enabled: true\n"
               "    activation_checkpointing: true\n    tensor_model_parallel_size: 4\n    sequence_parallel: true\n"
               "    optimizer:\n      optimizer: adam\n      use_distributed_optimizer: true\ncluster:\n  num_nodes: 2\n",
           "a.yaml", request());
  auto const& core = megatron.setting;
  CHECK((core.gpus() == 16 && core.model.spread.tensor == 4 && core.model.spread.zero == 1 && core.recompute.what == uniform));
  CHECK((core.sequence == 8192 && core.micro_batch == 1 && core.micro_batches == 16));  // of tokens: 2 x 4,096, which `mul` says
  auto const bare = read("defaults: ../sft.yaml\ndata_plane:\n  enabled: true\n", "a.yaml", request());  // all of it is elsewhere
  CHECK((bare.framework == "NeMo RL" && bare.setting.sequence == 1024 && bare.setting.gpus() == 8));
  auto nowhere = request();
  nowhere.find_file = nullptr;
  auto const alone = read(
      "defaults: ../gone.yaml\npolicy:\n  model_name: meta-llama/Llama-3.1-8B\n  max_total_sequence_length: 512\n"
      "cluster:\n  gpus_per_node: 2\n",
      "a.yaml", nowhere);
  CHECK(alone.unread == std::vector<std::string>{"defaults: ../gone.yaml"});
}

TEST_CASE("nemo_settings: NeMo RL's other models") {
  auto const of = read(
      "defaults: ../sft.yaml\ngrpo:\n  num_prompts_per_step: 32\nloss_fn:\n  reference_policy_kl_penalty: 0.01\n"
      "policy:\n  generation:\n    backend: vllm\n    vllm_cfg:\n      tensor_parallel_size: 4\n"
      "      gpu_memory_utilization: 0.6\n",
      "a.yaml", request());
  REQUIRE(of.roles.size() == 2);
  CHECK((of.roles[0].role == "reference" && !of.roles[0].resident));
  CHECK((of.roles[1].role == "rollout" && of.roles[1].of.setting.model.spread.tensor == 4 && !of.roles[1].resident));
}

TEST_CASE("nemo_settings: Automodel's recipes, packed, with a pipeline and with adapters") {
  std::string const model =
      "recipe: TrainFinetuneRecipeForNextTokenPrediction\nmodel:\n"
      "  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained\n  pretrained_model_name_or_path: ";
  auto const mixture = read(model +
                                "Qwen/Qwen3-30B-A3B\nstep_scheduler:\n  global_batch_size: 512\n  local_batch_size: 8\n"
                                "distributed:\n  strategy: fsdp2\n  tp_size: 1\n  cp_size: 1\n  pp_size: 2\n  ep_size: 8\n"
                                "  activation_checkpointing: true\n  pipeline:\n    pp_schedule: interleaved1f1b\n"
                                "    pp_microbatch_size: 4\n    layers_per_stage: 12\npacked_sequence:\n  packed_sequence_size: 0\n"
                                "dataset:\n  seq_length: 4096\noptimizer:\n  _target_: torch.optim.AdamW\n  lr: 1e-5\n",
                            "a.yaml", request(32));
  CHECK(mixture.framework == "NeMo Automodel");
  auto const& by = mixture.setting;
  CHECK((by.pipeline.stages == 2 && by.chunks() == 2 && by.model.expert == 8 && by.model.spread.data == 16));
  CHECK((by.model.spread.zero == 2 && by.micro_batch == 4 && by.micro_batches == 8 && by.sequence == 4096));
  CHECK(by.recompute.what == uniform);
  auto const adapters = read(model +
                                 "meta-llama/Llama-3.1-8B\nstep_scheduler:\n  global_batch_size: 32\n  local_batch_size: 4\n"
                                 "distributed:\n  dp_size: 4\n  tp_size: 2\npeft:\n  dim: 16\n  match_all_linear: true\n"
                                 "packed_sequence:\n  packed_sequence_size: 8192\n",
                             "a.yaml", request());
  CHECK((adapters.setting.gpus() == 8 && adapters.setting.sequence == 8192 && adapters.setting.micro_batches == 2));
  CHECK((adapters.setting.model.language.what == ballast::trained::low_rank && adapters.setting.model.language.rank == 16));
  CHECK(refused_setting("recipe: TrainEagle3Recipe\nmodel:\n  x: 1\nstep_scheduler:\n  local_batch_size: 1\n", "a.yaml", request(8))
            .find("trains no language model") != std::string::npos);
}

TEST_CASE("nemo_settings: recipes of Megatron-Bridge, with flags and words that override them") {
  auto const plain =
      read("torchrun --nproc_per_node=8 --nnodes=4 run_recipe.py --recipe llama3_70b_pretrain_config\n", "run.sh", request());
  CHECK(plain.framework == "Megatron-Bridge");
  CHECK((plain.setting.model.spread.tensor == 4 && plain.setting.pipeline.stages == 4 && plain.setting.model.spread.context == 2));
  CHECK((plain.setting.gpus() == 32 && plain.setting.sequence == 8192 && plain.setting.micro_batch == 1));
  CHECK((plain.setting.global_batch() == 512 && plain.setting.model.loss.how == ballast::head_loss::kind::in_place));
  auto const over = read(
      "python run_recipe.py --recipe llama3_8b_pretrain --tensor_model_parallel_size 2 model.context_parallel_size=1 "
      "train.global_batch_size=64 model.seq_length=4096\n",
      "run.sh", request(16));
  CHECK((over.setting.model.spread.tensor == 2 && over.setting.model.spread.context == 1 && over.setting.sequence == 4096));
  CHECK((over.setting.micro_batches == 8 && over.setting.model.spread.zero == 1));
  CHECK(refused_setting("python run_recipe.py --recipe llama9_8b_pretrain_config\n", "run.sh", request(8))
            .find("no recipe of Megatron-Bridge") != std::string::npos);
}

TEST_CASE("nemo_settings: what a run of Megatron-Bridge writes holds the shape of the model") {
  auto const of = read(
      "model:\n  _target_: megatron.bridge.models.llama.LlamaModelProvider\n  num_layers: 32\n  hidden_size: 4096\n"
      "  num_attention_heads: 32\n  num_query_groups: 8\n  kv_channels: 128\n  ffn_hidden_size: 14336\n  gated_linear_unit: true\n"
      "  add_bias_linear: false\n  normalization: RMSNorm\n  position_embedding_type: rope\n  share_embeddings_and_output_weights: false\n"
      "  vocab_size: 128256\n  make_vocab_size_divisible_by: 128\n  tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 2\n"
      "  sequence_parallel: true\n  recompute_granularity: selective\n  recompute_modules: [core_attn]\n  seq_length: 8192\n"
      "train:\n  micro_batch_size: 2\n  global_batch_size: 64\n"
      "ddp:\n  use_distributed_optimizer: true\n  grad_reduce_in_fp32: false\noptimizer:\n  optimizer: adam\n  lr: 0.0003\n",
      "run_config.yaml", request(8));
  CHECK(of.framework == "Megatron-Bridge");
  CHECK(of.model == ballast::transformer_preset("llama-3.1-8b"));
  CHECK((of.setting.model.spread.tensor == 2 && of.setting.pipeline.stages == 2 && of.setting.micro_batches == 16));
  CHECK((of.setting.recompute.what == modules && of.setting.model.optimizer.name == "adam-bf16-gradients"));
}

TEST_CASE("nemo_settings: NeMo 1 and NeMo 2") {
  std::string const shape =
      "  num_layers: 32\n  hidden_size: 4096\n  num_attention_heads: 32\n  num_query_groups: 8\n  ffn_hidden_size: 14336\n"
      "  vocab_size: 128256\n";
  auto const first = read(
      "trainer:\n  devices: 8\n  num_nodes: 2\n  precision: bf16\nmodel:\n  micro_batch_size: 1\n"
      "  global_batch_size: 128\n  tensor_model_parallel_size: 4\n  pipeline_model_parallel_size: 2\n"
      "  encoder_seq_length: 4096\n  activation: fast-swiglu\n  bias: false\n  normalization: RMSNorm\n"
      "  position_embedding_type: rope\n  share_embeddings_and_output_weights: false\n"
      "  activations_checkpoint_granularity: full\n  activations_checkpoint_method: uniform\n"
      "  activations_checkpoint_num_layers: 1\n" +
          shape + "  optim:\n    name: distributed_fused_adam\n    lr: 1e-4\n",
      "megatron_gpt_config.yaml", request());
  CHECK(first.framework == "NeMo");
  CHECK((first.model.gated && first.model.kv_heads == 8 && !first.model.tied));
  CHECK((first.setting.gpus() == 16 && first.setting.model.spread.zero == 1 && first.setting.micro_batches == 64));
  CHECK((first.setting.recompute.what == uniform && first.setting.sequence == 4096));
  auto asked = request();
  asked.model = ballast::transformer_preset("llama-3.1-8b");
  auto const second = read(
      "trainer:\n  devices: 8\n  num_nodes: 1\n  strategy:\n    _target_: nemo.lightning.MegatronStrategy\n"
      "    tensor_model_parallel_size: 2\n    pipeline_model_parallel_size: 1\n    context_parallel_size: 2\n"
      "    sequence_parallel: true\ndata:\n  micro_batch_size: 1\n  global_batch_size: 32\n  seq_length: 8192\n",
      "run.yaml", asked);
  CHECK((second.setting.model.spread.tensor == 2 && second.setting.model.spread.context == 2 && second.setting.micro_batches == 16));
  CHECK(refused_setting("model:\n  num_layers: 2\n  tensor_model_parallel_size: 1\ninference:\n  greedy: false\ntrainer:\n  devices: 1\n",
                        "g.yaml", request(1))
            .find("generates") != std::string::npos);
}

}  // namespace test_cli_nemo_settings
