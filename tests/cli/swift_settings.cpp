// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/framework_setting.hpp"

#include <ballast/cost/presets.hpp>

#include "settings.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <optional>
#include <string>

// How ms-swift is launched, and where its states are.

namespace test_cli_swift_settings {

namespace {

using namespace ballast_cli;
using ballast_test::has_note;
using ballast_test::refused_setting;
using enum ballast::recompute_setting::kind;

std::string const accelerate_fsdp =
    "{\n  \"compute_environment\": \"LOCAL_MACHINE\",\n  \"distributed_type\": \"FSDP\",\n  \"fsdp_config\": {\n"
    "    \"fsdp_reshard_after_forward\": true,\n    \"fsdp_activation_checkpointing\": true,\n    \"fsdp_version\": 2\n  },\n"
    "  \"mixed_precision\": \"bf16\",\n  \"num_machines\": 1,\n  \"num_processes\": 2,\n  \"tpu_env\": []\n}\n";

setting_request request() {
  setting_request out;
  out.model = ballast::transformer_preset("llama-3.1-8b");
  out.find_file = [](std::string const& name) -> std::optional<std::string> {
    if (name == "conf/fsdp2.json") return accelerate_fsdp;
    if (name == "multi_node.yaml")
      return "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\n"
             "  offload_optimizer_device: none\n  offload_param_device: none\nmixed_precision: bf16\nnum_machines: 2\nnum_processes: 8\n";
    if (name == "grad_op.json")
      return "{\"fsdp\": \"shard_grad_op auto_wrap offload\", \"fsdp_config\": {\"fsdp_version\": 2, \"reshard_after_forward\": false, "
             "\"activation_cpu_offload\": true}}";
    return std::nullopt;
  };
  return out;
}
imported_setting read(std::string const& text) { return read_framework_setting(text, "run.sh", request()); }

std::string const visible = "CUDA_VISIBLE_DEVICES=0,1 ";
std::string const rest =
    "--model meta-llama/Llama-3.1-8B --dataset a --per_device_train_batch_size 1 --gradient_accumulation_steps 8 --max_length 2048 ";
std::string const sft = visible + "NPROC_PER_NODE=2 swift sft --tuner_type full " + rest;

}  // namespace

TEST_CASE("swift_settings: a script that accelerate launches has that setting's engine, devices and processes") {
  auto const fsdp = read(visible + "accelerate launch --config_file \"conf/fsdp2.json\" swift/cli/sft.py --tuner_type full " + rest +
                         "--gradient_checkpointing false\n");
  CHECK(fsdp.framework == "ms-swift");
  auto const& by = fsdp.setting;
  CHECK((by.pipeline.stages == 1 && by.model.spread.data == 2 && by.model.spread.zero == 3));  // each device has a process
  CHECK(by.recompute.what == uniform);                                                         // as accelerate's file says
  CHECK(by.model.optimizer.name == "adam-fp32");  // what trains is cast to float32 where precision is mixed
  auto const adapters = read(visible + "accelerate launch --config_file conf/fsdp2.json swift/cli/sft.py --tuner_type lora " + rest + "\n");
  CHECK((adapters.setting.model.spread.zero == 3 && adapters.setting.model.optimizer.state.parameter == 2));
  auto const nodes =
      read("accelerate launch --config_file multi_node.yaml --machine_rank 0 swift/cli/sft.py --tuner_type full " + rest + "\n");
  CHECK((nodes.setting.gpus() == 8 && nodes.setting.model.spread.zero == 3));
  CHECK(nodes.setting.model.optimizer.name == "adam-bf16-gradients");
  auto const lost = read(visible + "accelerate launch --config_file gone.json --num_processes 2 swift/cli/sft.py " + rest + "\n");
  CHECK(std::any_of(lost.unread.begin(), lost.unread.end(), [](auto const& line) { return line.find("gone.json") != line.npos; }));
}

TEST_CASE("swift_settings: ms-swift's own names of DeepSpeed's and FSDP's settings") {
  auto const zero = [&](std::string const& name) { return read(sft + "--deepspeed " + name + "\n").setting.model; };
  for (int stage = 0; stage < 4; ++stage) CHECK(zero("zero" + std::to_string(stage)).spread.zero == stage);
  CHECK(zero("zero2_offload").moved == ballast::offload::gradients);
  CHECK(zero("zero3_offload").moved == ballast::offload::parameters);
  for (auto const* const name : {"zero1_offload", "zero4", "zero", "zero2offload"})
    CHECK(refused_setting(sft + "--deepspeed " + name + "\n", "run.sh", request()).find("is not zero0 to zero3") != std::string::npos);
  CHECK(zero("'{\"zero_optimization\": {\"stage\": 2}}'").spread.zero == 2);

  auto const preset = read(sft + "--gradient_checkpointing false --fsdp fsdp2\n").setting;
  CHECK((preset.model.spread.zero == 3 && preset.recompute.what == uniform && preset.model.optimizer.name == "adam-fp32"));
  auto const file = read(sft + "--gradient_checkpointing false --fsdp grad_op.json\n").setting;
  CHECK((file.model.spread.zero == 2 && file.recompute.what == none && file.model.moved == ballast::offload::parameters));
  CHECK((file.model.kernels.offload_all && !preset.model.kernels.offload_all));
  CHECK(refused_setting(sft + "--fsdp gone.json\n", "run.sh", request()).find("is a file that is not found") != std::string::npos);
  CHECK(refused_setting(sft + "--fsdp fsdp2 --deepspeed zero3\n", "run.sh", request()).find("is given beside FSDP") != std::string::npos);
  CHECK(has_note(read(sft + "--quant_bits 4\n"), "quantises nothing"));
  CHECK(read(sft + "--optim adafactor\n").setting.model.optimizer.moments == ballast::moment_form::factors);
}

TEST_CASE("swift_settings: PPO's critic trains as the policy does, and answers have the length of the oldest key") {
  auto const ppo = [&](std::string const& more) {
    return read(visible + "NPROC_PER_NODE=2 swift rlhf --rlhf_type ppo --reward_model meta-llama/Llama-3.1-8B --deepspeed zero3 " + rest +
                more + "\n");
  };
  auto const critic = [](imported_setting const& of) {
    auto const at = std::find_if(of.roles.begin(), of.roles.end(), [](auto const& role) { return role.role == "critic"; });
    REQUIRE(at != of.roles.end());
    return at->of.setting.model.language;
  };
  auto const adapters = ppo("--tuner_type lora --lora_rank 16");
  CHECK((critic(adapters).what == ballast::trained::low_rank && critic(adapters).rank == 16));
  CHECK(critic(ppo("--tuner_type full")).what == ballast::trained::all);
  CHECK(ppo("--tuner_type full").setting.sequence == 2048 + 512);
  CHECK(ppo("--tuner_type full --max_completion_length 1024").setting.sequence == 2048 + 1024);
  CHECK(ppo("--tuner_type full --max_completion_length 1024 --response_length 256").setting.sequence == 2048 + 256);
}

}  // namespace test_cli_swift_settings
