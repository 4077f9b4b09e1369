// SPDX-License-Identifier: Apache-2.0
#include "readers/detail_keys.hpp"
#include "readers/framework_setting.hpp"
#include "readers/setting_writers.hpp"

#include <ballast/cost/presets.hpp>
#include <ballast/plan/judge_setting.hpp>

#include "settings.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

// What a written file keeps beside the setting: what its framework reads, its writer writes.

namespace test_cli_written_details {

namespace {

using namespace ballast_cli;
using strings = std::vector<std::string>;

imported_setting read(std::string_view word, std::string const& text, std::string const& name, char const* model = "qwen3-30b-a3b") {
  setting_request asked{};
  asked.model = ballast::transformer_preset(model);
  asked.gpus = 16;
  asked.framework = word;
  if (word == "deepspeed" || word == "accelerate") asked.sequence = 2048;
  if (word == "accelerate") {
    asked.micro_batch = 1;
    asked.micro_batches = 4;
  }
  return read_framework_setting(text, name, asked);
}
std::string name_of(std::string text) {
  while (text.starts_with('#')) text.erase(0, text.find('\n') + 1);
  return text.starts_with('{')                                      ? "a.json"
         : text.starts_with('[')                                    ? "a.toml"
         : text.substr(0, text.find_first_of(" \n")).ends_with(':') ? "a.yaml"
                                                                    : "a.sh";
}
bool is_named(strings const& lost, std::string_view label) {
  return std::any_of(lost.begin(), lost.end(), [&](auto const& line) { return line.starts_with(label); });
}

/// Whether the second has the keys of Megatron-Core that the first has.
bool keeps_core(imported_setting const& of, imported_setting const& back) {
  auto const &mine = of.details.core, &theirs = back.details.core;
  return std::includes(theirs.begin(), theirs.end(), mine.begin(), mine.end());
}

/// A file whose every key of time, formats and numbers its own writer has to say.
struct own_file {
  std::string_view word;
  std::string text;
  char const* model = "qwen3-30b-a3b";
};

std::string const core_flags_of_16 =
    "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --sequence-parallel --expert-model-parallel-size 4 "
    "--expert-tensor-parallel-size 1 --use-distributed-optimizer --seq-length 4096 --micro-batch-size 1 --global-batch-size 64 "
    "--hidden-dropout 0 --attention-dropout 0 --no-create-attention-mask-in-dataloader --moe-grouped-gemm --train-iters 500 "
    "--lr 1.0e-4 --weight-decay 0.1 --lr-warmup-iters 20 ";

std::vector<own_file> own_files() {
  std::string const trainer =
      "num_processes: 16\nmodel_name_or_path: a/b\nbf16: true\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 4\n"
      "num_train_epochs: 2.5\nweight_decay: 0.05\nwarmup_ratio: 0.03\n";
  auto const trl = [&](std::string const& more) {
    return "trl sft --dataset_name d --max_length 2048 --use_peft --lora_r 8 --lora_alpha 16 " + more;
  };
  std::string const flags =
      "--num_processes 16 --model_name_or_path a/b --per_device_train_batch_size 1 --gradient_accumulation_steps 4 --num_train_epochs 2.5 "
      "--weight_decay 0.05 --warmup_steps 7 --max_steps 90 ";
  std::string const bridge =
      "model:\n  tensor_model_parallel_size: 2\n  sequence_parallel: true\n  expert_model_parallel_size: 4\n"
      "  expert_tensor_parallel_size: 1\n  seq_length: 4096\n  moe_grouped_gemm: true\n  gradient_accumulation_fusion: false\n";
  return {
      {"megatron",
       core_flags_of_16 +
           "--bf16 --use-precision-aware-optimizer --main-grads-dtype bf16 --main-params-dtype fp16 --exp-avg-dtype bf16 "
           "--exp-avg-sq-dtype fp8 --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep "
           "--overlap-grad-reduce --overlap-param-gather --cuda-graph-impl transformer_engine --cuda-graph-scope attn moe_router "
           "--fp8-format e4m3 --fp8-recipe blockwise --tp-comm-overlap"},
      {"megatron", core_flags_of_16 + "--bf16 --use-precision-aware-optimizer --grad-reduce-in-bf16 --cuda-graph-impl local "
                                      "--fp4-format e2m1 --fp8-param-gather --moe-token-dispatcher-type allgather"},
      {"megatron", core_flags_of_16 + "--fp16 --overlap-grad-reduce --overlap-param-gather --moe-token-dispatcher-type alltoall_seq"},
      {"megatron", core_flags_of_16 + "--fp16 --accumulate-allreduce-grads-in-fp32 --optimizer lion"},
      {"megatron", core_flags_of_16 + "--bf16 --optimizer dist_muon --optimizer-cpu-offload --optimizer-offload-fraction 0.5"},
      {"bridge", bridge +
                     "  moe_token_dispatcher_type: flex\n  moe_flex_dispatcher_backend: deepep\n  overlap_moe_expert_parallel_comm: true\n"
                     "  cuda_graph_impl: local\ntrain:\n  micro_batch_size: 1\n  global_batch_size: 64\n  train_iters: 50\nddp:\n"
                     "  use_distributed_optimizer: true\n  overlap_grad_reduce: true\n  overlap_param_gather: true\noptimizer:\n"
                     "  use_precision_aware_optimizer: true\n  store_param_remainders: false\n  lr: 0.001\n  weight_decay: 0.2\n"
                     "  exp_avg_dtype:\n    _call_: false\n    _target_: torch.bfloat16\n  exp_avg_sq_dtype:\n    _call_: false\n"
                     "    _target_: torch.uint8\nscheduler:\n  lr_warmup_fraction: 0.01\nmixed_precision: bf16_with_mxfp8_mixed\n"},
      {"bridge", bridge + "  moe_token_dispatcher_type: alltoall\ntrain:\n  micro_batch_size: 1\n  global_batch_size: 64\nddp:\n"
                          "  use_distributed_optimizer: true\nmixed_precision:\n  _target_: a.MixedPrecisionConfig\n  bf16: true\n"
                          "  grad_reduce_in_fp32: false\npeft:\n  dim: 16\n  alpha: 64\n"},
      {"nemo",
       "trainer:\n  devices: 8\n  num_nodes: 2\n  max_steps: 40\n  plugins:\n    precision: bf16-mixed\n    fp8: hybrid\n"
       "    fp8_recipe: delayed\n  strategy:\n    tensor_model_parallel_size: 2\n    sequence_parallel: true\n"
       "    expert_model_parallel_size: 4\n    expert_tensor_parallel_size: 1\n    ddp:\n      use_distributed_optimizer: true\n"
       "      overlap_grad_reduce: true\n      overlap_param_gather: true\nmodel:\n  config:\n    moe_token_dispatcher_type: flex\n"
       "data:\n  seq_length: 4096\n  micro_batch_size: 1\n  global_batch_size: 64\noptim:\n  config:\n    weight_decay: 0.1\n"
       "    use_precision_aware_optimizer: true\n    main_grads_dtype:\n      _call_: false\n      _target_: torch.bfloat16\n"},
      {"megatron-swift",
       "NPROC_PER_NODE=16 megatron sft --model a/b --tensor_model_parallel_size 2 --sequence_parallel true "
       "--expert_model_parallel_size 4 --max_length 2048 --micro_batch_size 1 --global_batch_size 64 --packing true "
       "--use_precision_aware_optimizer true --exp_avg_dtype bf16 --exp_avg_sq_dtype fp16 --overlap_grad_reduce true "
       "--overlap_param_gather true --moe_token_dispatcher_type flex --fp8_format hybrid --fp8_recipe blockwise "
       "--tuner_type lora --lora_rank 8 --lora_alpha 16 --num_train_epochs 3 --lr_warmup_fraction 0.05 --weight_decay 0.1"},
      {"deepspeed", R"({"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 4, "bf16": {"enabled": true,
  "bf16_master_weights_and_grads": true, "bf16_optimizer_states": true}, "zero_optimization": {"stage": 2, "overlap_comm": true},
  "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "weight_decay": 0.1}}, "communication_data_type": "fp32"})"},
      {"deepspeed", R"({"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 4, "fp16": {"enabled": true},
  "zero_optimization": {"stage": 3, "overlap_comm": false}, "optimizer": {"type": "Lion"}})"},
      {"torchtitan",
       "[model]\nconverters = [\"quantize.linear.float8\"]\n[training]\nlocal_batch_size = 1\nglobal_batch_size = 64\nseq_len = 4096\n"
       "steps = 1000\nmixed_precision_reduce = \"bfloat16\"\ndisable_cuda_graphs = false\n[parallelism]\nexpert_parallel_degree = 4\n"
       "expert_parallel_comm_backend = \"deepep\"\n[compile]\nenable = true\n[optimizer]\nlr = 3e-4\nweight_decay = 0.2\n"
       "[lr_scheduler]\nwarmup_steps = 30\n"},
      {"trl", trl(flags + "--bf16 true --attn_implementation flash_attention_3 --torch_compile true --packing true"), "llama-3.1-8b"},
      {"trl", trl(flags + "--fp16 true --packing false --optim adafactor"), "llama-3.1-8b"},
      {"llamafactory",
       trainer + "stage: sft\ndo_train: true\nfinetuning_type: lora\nlora_rank: 8\nlora_alpha: 32\nlora_target: all\n"
                 "dataset: d\ncutoff_len: 2048\ntorch_compile: true\nflash_attn: fa3\noptim: adamw_8bit\n",
       "llama-3.1-8b"},
      {"axolotl",
       "base_model: a/b\nsequence_len: 2048\nmicro_batch_size: 1\ngradient_accumulation_steps: 4\nfp16: true\nbf16: false\n"
       "num_epochs: 3\nwarmup_steps: 10\nweight_decay: 0.01\nlearning_rate: 0.0002\nlora_alpha: 16\nadapter: lora\nlora_r: 8\n"
       "lora_target_linear: true\nsample_packing: true\ntorch_compile: true\nattn_implementation: flash_attention_3\n"
       "datasets:\n  - path: d\noptimizer: lion_32bit\n",
       "llama-3.1-8b"},
      {"torchtune",
       "model:\n  _component_: torchtune.models.llama3_1.lora_llama3_1_8b\n  lora_attn_modules: [q_proj, k_proj, v_proj, output_proj]\n"
       "  apply_lora_to_mlp: true\n  lora_rank: 8\n  lora_alpha: 16\ntokenizer:\n  max_seq_len: 2048\nbatch_size: 2\n"
       "gradient_accumulation_steps: 4\nepochs: 2\ncompile: true\ndtype: bf16\noptimizer:\n  _component_: torch.optim.AdamW\n"
       "  weight_decay: 0.01\nloss:\n  _component_: torchtune.modules.loss.LinearCrossEntropyLoss\n",
       "llama-3.1-8b"},
      {"swift",
       "NPROC_PER_NODE=16 swift sft --model a/b --dataset d --max_length 2048 --torch_dtype float16 --tuner_type lora --lora_rank 8 "
       "--lora_alpha 32 --target_modules all-linear --attn_impl flash_attention_3 --per_device_train_batch_size 1 "
       "--gradient_accumulation_steps 4 --num_train_epochs 1 --warmup_ratio 0.05 --packing true --optim adamw_8bit",
       "llama-3.1-8b"},
      {"litgpt",
       "checkpoint_dir: checkpoints/a/b\nprecision: 16-true\ndevices: 16\nlora_r: 8\nlora_alpha: 16\nlora_query: true\nlora_key: true\n"
       "lora_value: true\nlora_projection: true\nlora_mlp: true\ntrain:\n  global_batch_size: 64\n  micro_batch_size: 1\n"
       "  max_seq_length: 2048\n  epochs: 2\n  lr_warmup_steps: 10\noptimizer:\n  class_path: torch.optim.AdamW\n  init_args:\n"
       "    lr: 0.0002\n    weight_decay: 0.02\n",
       "llama-3.1-8b"},
      {"openrlhf",
       "deepspeed --num_gpus 16 --module openrlhf.cli.train_sft --model.model_name_or_path a/b --data.max_len 2048 "
       "--train.micro_batch_size 1 --train.batch_size 64 --ds.zero_stage 3 --ds.packing_samples --ds.param_dtype fp16 "
       "--ds.attn_implementation flash_attention_3 --ds.lora.rank 8 --ds.lora.alpha 16 --train.max_epochs 2 --adam.lr 1e-5 "
       "--adam.weight_decay 0.01 --lr_warmup_ratio 0.05",
       "llama-3.1-8b"},
      {"automodel",
       "recipe: TrainFinetuneRecipeForNextTokenPrediction\nstep_scheduler:\n  global_batch_size: 64\n  local_batch_size: 1\n"
       "  num_epochs: 2\n  max_steps: 100\nmodel:\n  torch_dtype: bfloat16\n  attn_implementation: flash_attention_3\n  backend:\n"
       "    dispatcher: deepep\ndistributed:\n  strategy: fsdp2\n  ep_size: 4\ncompile:\n  enabled: true\nfp8:\n  enabled: true\n"
       "dataset:\n  _target_: d\n  seq_length: 2048\noptimizer:\n  _target_: torch.optim.AdamW\n  lr: 1.0e-5\n  weight_decay: 0.1\n"
       "lr_scheduler:\n  lr_warmup_steps: 20\npeft:\n  match_all_linear: true\n  dim: 8\n  alpha: 32\n"},
      {"nemo-rl",
       "sft:\n  max_num_epochs: 2\n  max_num_steps: 50\npolicy:\n  model_name: a/b\n  train_global_batch_size: 64\n  "
       "train_micro_batch_size: 1\n"
       "  max_total_sequence_length: 2048\n  precision: bfloat16\n  megatron_cfg:\n    enabled: true\n    tensor_model_parallel_size: 2\n"
       "    sequence_parallel: true\n    expert_model_parallel_size: 4\n    expert_tensor_parallel_size: 1\n"
       "    moe_token_dispatcher_type: flex\n    optimizer:\n      use_precision_aware_optimizer: true\n      exp_avg_dtype: bf16\n"
       "      exp_avg_sq_dtype: bf16\n      weight_decay: 0.1\n      lr: 1.0e-5\n    distributed_data_parallel_config:\n"
       "      grad_reduce_in_fp32: true\n      overlap_grad_reduce: true\n      overlap_param_gather: true\n"
       "cluster:\n  gpus_per_node: 8\n  num_nodes: 2\n"},
      {"verl",
       "model:\n  path: a/b\n  lora:\n    rank: 8\n    alpha: 16\nengine:\n  strategy: megatron\n  tensor_model_parallel_size: 2\n"
       "  expert_model_parallel_size: 4\n  expert_tensor_parallel_size: 1\n  override_transformer_config:\n    moe_token_dispatcher_type: "
       "flex\n"
       "    cuda_graph_impl: local\n  override_ddp_config:\n    overlap_grad_reduce: true\n    overlap_param_gather: true\n"
       "optim:\n  lr: 1.0e-5\n  weight_decay: 0.1\n  lr_warmup_steps_ratio: 0.1\n  override_optimizer_config:\n"
       "    use_precision_aware_optimizer: true\n    exp_avg_dtype: bf16\ndata:\n  train_batch_size: 64\n  micro_batch_size_per_gpu: 1\n"
       "  max_length: 2048\n  use_dynamic_bsz: false\ntrainer:\n  n_gpus_per_node: 8\n  nnodes: 2\n  total_epochs: 2\n"},
  };
}

}  // namespace

TEST_CASE("written_details: a framework's own file is written again with all that its reader takes") {
  for (auto const& file : own_files()) {
    auto const of = read(file.word, file.text, name_of(file.text), file.model);
    auto const& to = framework_named("--write", std::string(file.word));
    auto const written = write_setting(to, of);
    CAPTURE(file.word, file.text, written.text);
    for (auto const& line : written.not_said) {
      CAPTURE(line);
      CHECK(line.find("which the program is told") != line.npos);
    }
    auto const back = read(file.word, written.text, name_of(written.text), file.model);
    CHECK(back.passed.doubtful == strings{});
    CHECK(back.passed.unknown == strings{});
    auto const &a = of.time, &b = back.time;
    CHECK((a.rates.family == b.rates.family && a.rates.fp8 == b.rates.fp8 && a.attention == b.attention && a.dispatcher == b.dispatcher));
    CHECK((a.graphs == b.graphs && a.gradient_overlap == b.gradient_overlap && a.float_reduction == b.float_reduction));
    CHECK(keeps_core(of, back));
    CHECK(back.details.numbers == of.details.numbers);
    auto const &m = of.setting.model, &n = back.setting.model;
    CHECK((n.optimizer.name == m.optimizer.name && n.optimizer.state == m.optimizer.state));
    CHECK(n.kernels == m.kernels);
  }
}

TEST_CASE("written_details: numbers of the optimiser and the run go to other frameworks, or are named") {
  std::string const of_both =
      "--dataset_name d --num_processes 8 --model_name_or_path a/b --per_device_train_batch_size 2 --gradient_accumulation_steps 4 ";
  auto const sft = read("trl",
                        "trl sft --max_length 2048 --use_peft --lora_r 8 --lora_target_modules all-linear --lora_alpha 16 --bf16 true "
                        "--weight_decay 0.05 --warmup_steps 7 --num_train_epochs 2 --max_steps 90 " +
                            of_both,
                        "a.sh", "llama-3.1-8b");
  auto const dpo = read("trl", "trl dpo --max_length 2048 --beta 0.3 --warmup_ratio 0.1 --fp16 true " + of_both, "a.sh", "llama-3.1-8b");
  CHECK((sft.details.numbers.size() == 5 && dpo.details.numbers.size() == 2));
  struct {
    char const* word;
    std::size_t kept;  // of the five
  } const targets[] = {{"trl", 5},       {"swift", 5}, {"llamafactory", 5}, {"axolotl", 5},  {"automodel", 5}, {"litgpt", 4},
                       {"torchtune", 3}, {"verl", 3},  {"openrlhf", 2},     {"nemo-rl", 3},  {"megatron", 3},  {"megatron-swift", 5},
                       {"bridge", 4},    {"nemo", 3},  {"torchtitan", 3},   {"deepspeed", 0}};
  for (auto const& [word, kept] : targets) {
    auto const& to = framework_named("--write", word);
    auto const written = write_setting(to, sft);
    CAPTURE(word, written.text);
    auto const back = read(word, written.text, name_of(written.text), "llama-3.1-8b");
    std::size_t same = 0;
    for (auto const& [what, value] : sft.details.numbers) {
      auto const at = back.details.numbers.find(what);
      auto const is = at != back.details.numbers.end() && std::stod(at->second) == std::stod(value);
      CAPTURE(what);
      CHECK(is != is_named(written.not_said, what));
      same += is ? 1 : 0;
    }
    CHECK(same == kept);
  }
  for (auto const* const word : {"swift", "llamafactory", "axolotl", "torchtune"}) {
    auto const written = write_setting(framework_named("--write", word), dpo);
    CAPTURE(word, written.text);
    auto const back = read(word, written.text, name_of(written.text), "llama-3.1-8b");
    REQUIRE(back.details.numbers.contains("beta of preferences"));
    CHECK(back.details.numbers.at("beta of preferences") == "0.3");
    CHECK(is_named(written.not_said, "16-bit format fp16") == (word == std::string_view("torchtune")));
    CHECK(is_named(written.not_said, "share of warm-up") == (word == std::string_view("torchtune")));
  }
}

TEST_CASE("written_details: keys of Megatron-Core go to the frameworks on it, and are named elsewhere") {
  auto const of = read("megatron",
                       core_flags_of_16 +
                           "--bf16 --use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype fp8 "
                           "--moe-token-dispatcher-type flex --overlap-grad-reduce --overlap-param-gather",
                       "a.sh");
  CHECK((of.setting.model.optimizer.state.optimizer == 5 && of.time.gradient_overlap));
  for (auto const* const word : {"bridge", "nemo", "megatron-swift", "verl", "nemo-rl"}) {
    auto const written = write_setting(framework_named("--write", word), of);
    CAPTURE(word, written.text);
    CHECK((!is_named(written.not_said, "optimizer") && !is_named(written.not_said, "tokens sent once") &&
           !is_named(written.not_said, "hidden exchanges of gradients") && !is_named(written.not_said, "exp_avg")));
    auto const back = read(word, written.text, name_of(written.text));
    CHECK(back.setting.model.optimizer == of.setting.model.optimizer);
    CHECK(keeps_core(of, back));
  }
  auto const titan = write_setting(framework_named("--write", "torchtitan"), of);
  CHECK(is_named(titan.not_said, "keys of Megatron-Core: exp_avg_dtype bf16, exp_avg_sq_dtype fp8"));
}

TEST_CASE("written_details: RLOO is written for TRL, and engines by their names") {
  std::string const group =
      "trl rloo --dataset_name d --num_processes 8 --model_name_or_path a/b --per_device_train_batch_size 4 --bf16 true "
      "--vllm_max_model_length 1024 --max_completion_length 512 --num_generations 4 --beta 0.1";
  auto const of = read("trl", group, "a.sh", "llama-3.1-8b");
  CHECK((of.task == training_task::rloo && of.details.penalises_rewards));
  auto const written = write_setting(framework_named("--write", "trl"), of);
  CAPTURE(written.text);
  CHECK(written.text.starts_with("trl rloo"));
  CHECK(written.not_said == strings{});
  auto const back = read("trl", written.text, "a.sh", "llama-3.1-8b");
  CHECK((back.task == training_task::rloo && back.details.answers == 4 && back.details.penalty == "0.1" && back.details.answer == 512));
}

}  // namespace test_cli_written_details
