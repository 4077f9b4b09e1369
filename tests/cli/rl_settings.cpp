// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/framework_setting.hpp"

#include <ballast/cost/presets.hpp>

#include "settings.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <optional>
#include <string>

// Settings of verl and OpenRLHF, as their published scripts have them, written small.

namespace test_cli_rl_settings {

namespace {

using namespace ballast_cli;
using enum ballast::recompute_setting::kind;

setting_request request() {
  setting_request out;
  out.find_model = [](std::string const& name) -> std::optional<known_model> {
    if (name == "Qwen/Qwen2.5-7B") return known_model{ballast::transformer_preset("qwen2.5-7b")};
    if (name == "Qwen/Qwen2.5-0.5B" || name == "Qwen2.5-0.5B") return known_model{ballast::transformer_preset("qwen2.5-0.5b")};
    if (name == "Qwen/Qwen3-30B-A3B") return known_model{ballast::transformer_preset("qwen3-30b-a3b")};
    return std::nullopt;
  };
  return out;
}
imported_setting read(std::string const& text, setting_request const& asked = request(), std::string const& name = "run.sh") {
  return read_framework_setting(text, name, asked);
}
std::string refused(std::string const& text, setting_request const& asked = request()) {
  try {
    (void)read(text, asked);
  } catch (bad_input const& e) {
    return e.what();
  }
  return "accepted";
}
using ballast_test::has_note;
imported_role const* role_of(imported_setting const& of, std::string const& name) {
  auto const at = std::find_if(of.roles.begin(), of.roles.end(), [&](auto const& role) { return role.role == name; });
  return at == of.roles.end() ? nullptr : &*at;
}

std::string const verl_base =
    "python3 -m verl.trainer.main_ppo --config-name=ppo_trainer algorithm.adv_estimator=grpo data.train_batch_size=1024 "
    "data.max_prompt_length=512 "
    "data.max_response_length=1024 actor_rollout_ref.actor.ppo_mini_batch_size=256 actor_rollout_ref.rollout.n=4 "
    "actor_rollout_ref.actor.optim.lr=1e-6 trainer.n_gpus_per_node=8 trainer.nnodes=2 ";

}  // namespace

TEST_CASE("rl_settings: verl's actor under FSDP, with a reference and a rollout model") {
  auto const by_fsdp = read(verl_base +
                            "actor_rollout_ref.model.path=Qwen/Qwen2.5-7B actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 "
                            "actor_rollout_ref.actor.ulysses_sequence_parallel_size=2 actor_rollout_ref.actor.use_kl_loss=True "
                            "actor_rollout_ref.actor.fsdp_config.param_offload=True actor_rollout_ref.ref.fsdp_config.param_offload=True "
                            "actor_rollout_ref.rollout.tensor_model_parallel_size=4 actor_rollout_ref.rollout.gpu_memory_utilization=0.6 "
                            "actor_rollout_ref.rollout.name=vllm\n");
  CHECK(by_fsdp.framework == "verl");
  CHECK(by_fsdp.model == ballast::transformer_preset("qwen2.5-7b"));
  auto const& by = by_fsdp.setting;
  CHECK((by.model.spread.context == 2 && by.model.spread.data == 16 && by.model.spread.zero == 3 && by.gpus() == 16));
  CHECK(by.model.method == ballast::context_method::ulysses);
  CHECK((by.sequence == 1536 && by.micro_batch == 4 && by.micro_batches == 32));  // 256 x 4 sequences over 8 ranks of 4
  CHECK(by.recompute.what == uniform);                                            // its default
  CHECK(by.model.moved == ballast::offload::none);                                // back on the devices while it trains
  CHECK(has_note(by_fsdp, "between the phases"));
  REQUIRE(by_fsdp.roles.size() == 2);
  auto const* const reference = role_of(by_fsdp, "reference");
  REQUIRE(reference != nullptr);
  CHECK((!reference->resident && reference->of.setting.model.spread.zero == 3));
  CHECK(reference->of.setting.model.language.what == ballast::trained::none);
  auto const* const rollout = role_of(by_fsdp, "rollout");
  REQUIRE(rollout != nullptr);
  CHECK((!rollout->resident && rollout->of.setting.model.spread.tensor == 4 && rollout->of.setting.model.spread.zero == 0));
}

TEST_CASE("rl_settings: verl's actor under Megatron, with a critic, and batches of tokens") {
  auto const of = read(
      "python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer.yaml algorithm.adv_estimator=gae data.max_prompt_length=1024 "
      "data.max_response_length=1024 actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B actor_rollout_ref.actor.ppo_mini_batch_size=64 "
      "actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.actor.ppo_max_token_len_per_gpu=8192 "
      "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=2 "
      "actor_rollout_ref.actor.megatron.expert_model_parallel_size=4 actor_rollout_ref.actor.megatron.expert_tensor_parallel_size=1 "
      "+actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=full "
      "+actor_rollout_ref.actor.megatron.override_transformer_config.recompute_method=uniform "
      "+actor_rollout_ref.actor.megatron.override_transformer_config.recompute_num_layers=1 "
      "critic.megatron.tensor_model_parallel_size=4 critic.megatron.pipeline_model_parallel_size=1 critic.megatron.param_offload=True "
      "actor_rollout_ref.rollout.free_cache_engine=False trainer.n_gpus_per_node=8 trainer.nnodes=2\n");
  auto const& by = of.setting;
  CHECK((by.model.spread.tensor == 2 && by.pipeline.stages == 2 && by.model.spread.data == 4 && by.model.expert == 4));
  CHECK((by.model.spread.sequence_parallel && by.model.spread.zero == 1 && by.recompute.what == uniform));
  CHECK((by.sequence == 8192 && by.micro_batch == 1 && by.micro_batches == 4));  // 16 sequences of 2,048 tokens of a rank
  CHECK(has_note(of, "use_dynamic_bsz"));
  auto const* const critic = role_of(of, "critic");
  REQUIRE(critic != nullptr);
  CHECK((critic->of.setting.model.spread.tensor == 4 && critic->of.setting.model.language.what == ballast::trained::all));
  CHECK((!critic->resident && critic->of.model.outputs == 1));
  REQUIRE(role_of(of, "rollout") != nullptr);
  CHECK(role_of(of, "rollout")->resident);
}

TEST_CASE("rl_settings: verl's trainer of SFT, and YAML with references") {
  auto asked = request();
  asked.gpus = 8;
  auto const of = read(
      "torchrun --nproc_per_node=8 -m verl.trainer.fsdp_sft_trainer data.train_batch_size=64 data.max_length=2048 "
      "data.micro_batch_size_per_gpu=2 "
      "model.partial_pretrain=Qwen/Qwen2.5-0.5B ulysses_sequence_parallel_size=2 use_remove_padding=true model.use_liger=True\n",
      asked);
  CHECK((of.setting.model.spread.context == 2 && of.setting.sequence == 2048 && of.setting.micro_batch == 2));
  CHECK((of.setting.micro_batches == 8 && of.setting.model.loss.how == ballast::head_loss::kind::fused));
  auto const yaml = read(
      "data:\n  max_prompt_length: 256\n  max_response_length: 256\n  micro: 4\nactor_rollout_ref:\n  model:\n"
      "    path: $HOME/models/Qwen/Qwen2.5-0.5B\n  actor:\n    strategy: fsdp2\n    ppo_mini_batch_size: 32\n"
      "    ppo_micro_batch_size_per_gpu: ${data.micro}\ntrainer:\n  nnodes: 1\n  n_gpus_per_node: 4\n"
      "algorithm:\n  adv_estimator: grpo\n",
      request(), "ppo.yaml");
  CHECK((yaml.framework == "verl" && yaml.setting.micro_batches == 2 && yaml.setting.sequence == 512));
  CHECK(refused(verl_base + "actor_rollout_ref.model.path=Qwen/Qwen2.5-7B\n").find("ppo_micro_batch_size_per_gpu is missing") !=
        std::string::npos);
  CHECK(refused(verl_base + "actor_rollout_ref.model.path=me/mine\n").find("--model names it") != std::string::npos);
}

TEST_CASE("rl_settings: OpenRLHF's SFT, DPO and PPO with all models on the same devices") {
  auto asked = request();
  asked.gpus = 8;
  std::string const rest = "--ds.param_dtype bf16 --ckpt.output_dir out --adam.lr 5e-6 ";
  auto const sft = read(
      "deepspeed --module openrlhf.cli.train_sft --model.model_name_or_path Qwen/Qwen2.5-7B --data.max_len 4096 "
      "--train.batch_size 128 --train.micro_batch_size 2 --ds.zero_stage 2 --ds.packing_samples "
      "--model.gradient_checkpointing_enable --ds.adam_offload " +
          rest,
      asked);
  CHECK(sft.framework == "OpenRLHF");
  CHECK((sft.setting.model.spread.zero == 2 && sft.setting.model.spread.data == 8 && sft.setting.micro_batch == 2));
  CHECK((sft.setting.micro_batches == 8 && sft.setting.sequence == 4096 && sft.setting.recompute.what == uniform));
  CHECK(sft.setting.model.moved == ballast::offload::gradients);
  auto const dpo = read(
      "deepspeed --module openrlhf.cli.train_dpo --model.model_name_or_path Qwen/Qwen2.5-7B --data.max_len 4096 "
      "--train.batch_size 64 --train.micro_batch_size 1 --ds.zero_stage 3 --ref.offload " +
          rest,
      asked);
  CHECK((dpo.setting.micro_batch == 2 && dpo.setting.micro_batches == 8));
  REQUIRE(role_of(dpo, "reference") != nullptr);
  CHECK(!role_of(dpo, "reference")->resident);
  auto const ppo = read(
      "python3 -m openrlhf.cli.train_ppo_ray --ref.num_nodes 1 --ref.num_gpus_per_node 8 --reward.num_nodes 1 --reward.num_gpus_per_node 8 "
      "--critic.num_nodes 1 --critic.num_gpus_per_node 8 --actor.num_nodes 2 --actor.num_gpus_per_node 8 --vllm.num_engines 4 "
      "--vllm.tensor_parallel_size 2 --train.colocate_all --actor.model_name_or_path Qwen/Qwen2.5-7B --reward.model_name_or_path "
      "Qwen/Qwen2.5-0.5B --train.batch_size 128 --data.max_len 2048 --ds.zero_stage 3 --actor.gradient_checkpointing_enable "
      "--vllm.enable_sleep --ds.enable_sleep\n");
  CHECK((ppo.setting.gpus() == 16 && ppo.setting.micro_batch == 1 && ppo.setting.micro_batches == 8));
  REQUIRE(ppo.roles.size() == 4);
  auto score = ballast::transformer_preset("qwen2.5-0.5b");
  score.outputs = 1;
  CHECK(role_of(ppo, "reward")->of.model == score);
  CHECK((role_of(ppo, "reward")->resident && !role_of(ppo, "critic")->resident && !role_of(ppo, "rollout")->resident));
  auto const old = read(
      "python3 -m openrlhf.cli.train_ppo_ray --actor_num_nodes 1 --actor_num_gpus_per_node 4 --vllm_num_engines 2 "
      "--vllm_tensor_parallel_size 2 --pretrain Qwen/Qwen2.5-7B --micro_train_batch_size 8 --train_batch_size 128 --prompt_max_len 1024 "
      "--generate_max_len 1024 --zero_stage 3 --gradient_checkpointing\n");
  CHECK((old.setting.gpus() == 4 && old.setting.sequence == 2048 && old.setting.micro_batch == 8 && old.setting.micro_batches == 4));
  CHECK(has_note(old, "devices of its own"));
  CHECK(refused("python3 -m openrlhf.cli.batch_inference --pretrain Qwen/Qwen2.5-7B --zero_stage 0\n", asked) != "accepted");
}

}  // namespace test_cli_rl_settings
