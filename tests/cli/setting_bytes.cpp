// SPDX-License-Identifier: Apache-2.0
#include "readers/framework_setting.hpp"

#include <ballast/cost/presets.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/plan/memory_of.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <string>

// What a setting holds on a device, against counts by hand.

namespace test_cli_setting_bytes {

using ballast::memory_moment;
using ballast::memory_parts;
using ballast::transformer_preset;
using ballast_cli::imported_setting;
using ballast_cli::read_framework_setting;
using ballast_cli::setting_request;

auto const& llama = transformer_preset("llama-3.1-8b");
constexpr std::int64_t n = 8'030'261'248, h = 4096, vocabulary = 128'256, layers = 32, of_layer = 218'112'000;

imported_setting read(std::string const& text, std::string const& name, std::int64_t gpus) {
  return read_framework_setting(text, name, {.model = llama, .gpus = gpus});
}
imported_setting yaml(std::string const& text, std::int64_t gpus) { return read(text, "a.yaml", gpus); }
memory_parts bytes(imported_setting const& of) { return ballast::memory_of(of.model, of.setting).front(); }
std::int64_t head(imported_setting const& of) { return bytes(of).extra[static_cast<std::size_t>(memory_moment::head)]; }

imported_setting accelerate(std::string const& strategy, std::string const& precision, std::int64_t micro_batches, std::int64_t gpus) {
  return read_framework_setting("compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: " +
                                    strategy + "\nmixed_precision: " + precision + "\nnum_processes: " + std::to_string(gpus) + "\n",
                                "a.yaml", {.model = llama, .sequence = 2048, .micro_batch = 1, .micro_batches = micro_batches});
}

TEST_CASE("setting_bytes: FSDP without resharding holds shards in float32 and all parameters in 16 bits") {
  REQUIRE(parameters(llama) == n);
  auto const kept = bytes(accelerate("SHARD_GRAD_OP", "bf16", 1, 16));
  CHECK((kept.states == n && kept.gathered == 2 * n));  // 8.03 and 16.06 GB
  auto const floats = bytes(accelerate("SHARD_GRAD_OP", "no", 1, 16));
  CHECK((floats.states == n && floats.gathered == 4 * n));
  auto const again = bytes(accelerate("FULL_SHARD", "bf16", 1, 16));
  auto const root = 2 * (2 * vocabulary * h + h);
  CHECK((again.states == n && again.gathered == root + 2 * 2 * of_layer));
  std::string const titan =
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 8192\nlocal_batch_size = 1\n[parallelism]\n"
      "data_parallel_shard_degree = 16\nfsdp_reshard_after_forward = \"never\"\n";
  auto const pools = bytes(read_framework_setting(titan, "t.toml", {.model = llama, .gpus = 16}));
  CHECK((pools.states == n && pools.gathered == 2 * n + 3 * (root + 2 * of_layer)));
}

TEST_CASE("setting_bytes: accumulation without an exchange keeps gradients whole") {
  auto const of = [](std::string const& strategy, std::string const& precision, std::int64_t micro_batches) {
    return bytes(accelerate(strategy, precision, micro_batches, 16)).gathered;
  };
  for (auto const* const strategy : {"FULL_SHARD", "SHARD_GRAD_OP"}) {  // the shards, 4 / 16 bytes, come as they go
    CHECK(of(strategy, "bf16", 4) - of(strategy, "bf16", 1) == 2 * n - n / 4);
    CHECK(of(strategy, "no", 4) - of(strategy, "no", 1) == 4 * n - n / 4);
  }
  std::string const recipe =
      "recipe: TrainFinetuneRecipeForNextTokenPrediction\nstep_scheduler:\n  global_batch_size: 64\n  local_batch_size: 1\n"
      "model:\n  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained\n  pretrained_model_name_or_path: a/b\n"
      "dataset:\n  seq_length: 2048\ndistributed:\n  strategy: fsdp2\n";
  auto const automodel = [&](std::string const& more) {
    return bytes(read_framework_setting(recipe + more, "a.yaml", {.model = llama, .gpus = 8, .sequence = 2048})).gathered;
  };
  auto const shards = automodel("  defer_fsdp_grad_sync: false\n");
  CHECK(automodel("") - shards == 4 * n - 2 * n / 8);  // reduced in float32, held in bfloat16
  std::string const titan =
      "checkpoint_dir: checkpoints/a/b\nprecision: bf16-true\ndevices: 4\ntrain:\n  micro_batch_size: 4\n  max_seq_length: 2048\n"
      "  global_batch_size: ";
  CHECK(bytes(yaml(titan + "64\n", 4)).gathered - bytes(yaml(titan + "16\n", 4)).gathered == 2 * n - 2 * n / 4);
}

TEST_CASE("setting_bytes: what one device and DistributedDataParallel hold") {
  auto const trl = [](std::string const& more, std::int64_t gpus) {
    return yaml(
        "model_name_or_path: a/b\ndataset_name: d\nmax_length: 2048\nper_device_train_batch_size: 1\nlearning_rate: 1.0e-5\n" + more, gpus);
  };
  std::string const plain = "gradient_checkpointing: false\ndtype: ";
  auto const held = [](imported_setting const& of) {
    auto const all = bytes(of);
    return all.states + all.gathered;
  };
  CHECK(held(trl(plain + "bfloat16\n", 2)) == (2 + 2 + 4) * n + 2 * n);  // and its buckets
  CHECK(held(trl("gradient_checkpointing: true\ndtype: float32\n", 2)) == (4 + 4 + 8) * n + 4 * n);
  // autocast keeps a copy of each matrix, but not of the embedding
  CHECK(bytes(trl(plain + "float32\n", 1)).gathered == 2 * (n - vocabulary * h));
  CHECK(bytes(trl("gradient_checkpointing: true\ndtype: float32\n", 1)).gathered == 0);
  CHECK(bytes(trl(plain + "float32\nbf16: false\n", 1)).gathered == 0);
}

TEST_CASE("setting_bytes: training in float32 keeps 4 bytes a value") {
  std::string const trl =
      "model_name_or_path: a/b\ndataset_name: d\nmax_length: 2048\nper_device_train_batch_size: 1\nlearning_rate: 1.0e-5\n"
      "dtype: float32\nloss_type: nll\ngradient_checkpointing: ";
  auto const halves = yaml(trl + "true\n", 1), floats = yaml(trl + "true\nbf16: false\n", 1);
  CHECK((halves.setting.model.kernels.value == 2 && floats.setting.model.kernels.value == 4));
  CHECK(bytes(halves).kept == layers * 2 * h * 2048);
  CHECK(bytes(floats).kept == layers * 4 * h * 2048);
  CHECK(bytes(floats).states == 16 * n - 4 * n);  // one micro-batch: gradients come as activations go
  // 24 h + 8 of norms, q and context of 4,096 values, k and v of 1,024, a log-sum-exp of 32 heads, four of 14,336
  CHECK(bytes(yaml(trl + "false\nbf16: false\n", 1)).kept ==
        layers * 2048 * (24 * h + 8 + 4 * (2 * 4096 + 2 * 1024) + 4 * 32 + 16 * 14'336));
  // logits that the model returns, log-softmax and two gradients; the inputs of the final norm and of the head
  CHECK(head(floats) == 2048 * (16 * vocabulary + 4 * h + 4 + 4 * h + 4 * h));
  CHECK(head(halves) == 2048 * (14 * vocabulary + 4 * h + 4 + 2 * h + 2 * h));
  auto pieces = trl;  // TRL's default: the logits of 256 tokens at a time
  pieces.erase(pieces.find("loss_type: nll\n"), 15);
  auto const chunked = yaml(pieces + "true\n", 1);
  CHECK((chunked.setting.model.loss == ballast::head_loss{.how = ballast::head_loss::kind::plain, .chunks = 8}));
  CHECK(head(chunked) * 4 < head(halves));
  std::string const megatron =
      "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention --num-query-groups 8 "
      "--seq-length 2048 --max-position-embeddings 2048 --position-embedding-type rope --swiglu --normalization RMSNorm "
      "--disable-bias-linear --untie-embeddings-and-output-weights --vocab-size 128256 --micro-batch-size 1 --hidden-dropout 0 "
      "--attention-dropout 0 --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 ";
  auto const swift = [](std::string const& type) {
    return read("NPROC_PER_NODE=2 swift pt --model a/b --dataset d --tuner_type full --max_length 512 --torch_dtype " + type, "run.sh", 2);
  };
  CHECK((bytes(swift("bfloat16")).states == 8 * n && bytes(swift("bfloat16")).gathered == 2 * n));
  CHECK((bytes(swift("float32")).states == 16 * n && bytes(swift("float32")).gathered == 4 * n));
  CHECK((bytes(swift("bfloat16")).kept == layers * 2 * h * 512 && bytes(swift("float32")).kept == layers * 4 * h * 512));
  auto const core = [&](std::string const& more) { return read_framework_setting(megatron + more, "run.sh", {.gpus = 1}); };
  CHECK((bytes(core("--bf16")).states == 18 * n && bytes(core("")).states == 16 * n));
  CHECK((bytes(core("--bf16")).kept == layers * 2 * h * 2048 && bytes(core("")).kept == layers * 4 * h * 2048));
  auto const whole = megatron.substr(0, megatron.find("--recompute"));
  auto const kept = [&](std::string const& more) { return bytes(read_framework_setting(whole + more, "run.sh", {.gpus = 1})).kept; };
  // norms and their outputs, q, k, v, context, first products and activation; statistics of norms and the log-sum-exp
  auto const values = 4 * h + (4096 + 2 * 1024) + 4096 + 3 * 14'336;
  CHECK(kept("--bf16") == layers * 2048 * (2 * values + 8 + 4 * 32));
  CHECK(kept("") == layers * 2048 * (4 * values + 8 + 4 * 32));
  CHECK(head(core("--bf16")) == 2048 * (6 * vocabulary + 2 * h + 2 * h));
  CHECK(head(core("")) == 2048 * (4 * vocabulary + 4 * h + 4 * h));  // the logits are the float32 copy
}

TEST_CASE("setting_bytes: formats of Megatron-Core's optimiser") {
  std::string const model =
      "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention --num-query-groups 8 "
      "--seq-length 2048 --max-position-embeddings 2048 --position-embedding-type rope --swiglu --normalization RMSNorm "
      "--disable-bias-linear --untie-embeddings-and-output-weights --vocab-size 128256 --micro-batch-size 1 ";
  auto const states = [&](std::string const& more, std::int64_t gpus) {
    return bytes(read_framework_setting(model + more, "run.sh", {.gpus = gpus})).states;
  };
  CHECK(states("--fp16", 1) == 20 * n);  // docs of dist_optimizer.md, as are the next ones
  CHECK(states("--fp16 --use-distributed-optimizer", 8) == 4 * n + 16 * n / 8);
  CHECK(states("--bf16", 1) == 18 * n);
  CHECK(states("--bf16 --use-distributed-optimizer", 8) == 6 * n + 12 * n / 8);
  CHECK(states("--use-distributed-optimizer", 8) == 8 * n + 8 * n / 8);
  CHECK(states("--fp16 --accumulate-allreduce-grads-in-fp32", 1) == 18 * n);
  std::string const aware = "--bf16 --use-distributed-optimizer --use-precision-aware-optimizer ";  // 2 bytes of a master copy are new
  CHECK(states(aware, 8) == 6 * n + (2 + 4 + 4) * n / 8);
  CHECK(states(aware + "--exp-avg-dtype bf16 --exp-avg-sq-dtype fp16", 8) == 6 * n + (2 + 2 + 2) * n / 8);
  CHECK(states(aware + "--exp-avg-dtype fp8 --exp-avg-sq-dtype fp8", 8) == 6 * n + (2 + 1 + 1) * n / 8);
  CHECK(states(aware + "--main-grads-dtype bf16 --exp-avg-dtype fp8 --exp-avg-sq-dtype bf16", 8) == 4 * n + (2 + 1 + 2) * n / 8);
  CHECK(states(aware + "--main-params-dtype fp16", 8) == 6 * n + (2 + 4 + 4) * n / 8);
}

TEST_CASE("setting_bytes: heads of one output, and logits of answers alone") {
  auto const trl = [&](std::string const& trainer, std::string const& flags) {
    return read("trl " + trainer + " --model_name_or_path a/b --dataset_name d --per_device_train_batch_size 1 --dtype bfloat16 " + flags,
                "run.sh", 1);
  };
  auto const reward = trl("reward", "--max_length 1024");
  CHECK((reward.model.outputs == 1 && parameters(reward.model) == n - vocabulary * h + h));
  CHECK(head(reward) == 2 * 1024 * (14 + 4 * h + 4 + 2 * h + 2 * h));
  auto const group = trl("grpo", "--max_prompt_length 1536 --max_completion_length 512");
  CHECK((group.setting.sequence == 2048 && group.setting.model.loss.share == 250 && group.model.outputs == 0));
  CHECK(head(group) == 512 * 14 * vocabulary + 2048 * (4 * h + 4 + 2 * h + 2 * h));
  CHECK(read("trl grpo --model_name_or_path a/b --dataset_name d --max_prompt_length 1 --max_completion_length 4096", "run.sh", 1)
            .setting.model.loss.share == 1000);
  auto const swift = [](std::string const& flags) {
    return read("swift rlhf --model a/b --tuner_type full --max_length 1024 --per_device_train_batch_size 1 --dataset d " + flags, "run.sh",
                1);
  };
  auto const pairs = swift("--rlhf_type rm");
  CHECK((pairs.model.outputs == 1 && bytes(pairs).states == 8 * parameters(reward.model)));
  CHECK(swift("--rlhf_type grpo --max_completion_length 3072").setting.model.loss.share == 750);
  CHECK(swift("--rlhf_type grpo --max_completion_length 3072 --padding_free true").setting.model.loss.share == 1000);
  auto const labels =
      read("swift sft --model a/b --task_type seq_cls --num_labels 3 --max_length 64 --dataset d --tuner_type full", "run.sh", 1);
  CHECK(labels.model.outputs == 3);
  auto const ppo = swift("--rlhf_type ppo --reward_model a/c");
  REQUIRE(ppo.roles.size() >= 3);
  for (auto const& role : ppo.roles) CHECK(role.of.model.outputs == (role.role == "reward" || role.role == "critic" ? 1 : 0));
  auto const openrlhf = read("python3 -m openrlhf.cli.train_rm --model.model_name_or_path a/b --data.max_len 512", "run.sh", 8);
  CHECK(openrlhf.model.outputs == 1);
  auto const nemo = yaml(
      "policy:\n  model_name: a/b\n  max_total_sequence_length: 512\n  train_global_batch_size: 64\n  train_micro_batch_size: 1\n"
      "  precision: float32\n  reward_model_cfg:\n    enabled: true\n  dtensor_cfg:\n    enabled: true\ncluster:\n  gpus_per_node: 8\n",
      8);
  CHECK((nemo.model.outputs == 1 && nemo.setting.model.kernels.value == 4 && nemo.setting.model.kernels.local_gradient == 0));
  std::string const axolotl = "base_model: a/b\nsequence_len: 64\nmicro_batch_size: 1\nbf16: true\n";
  CHECK((yaml(axolotl + "reward_model: true\n", 1).model.outputs == 1 && yaml(axolotl, 1).model.outputs == 0));
  CHECK(yaml(axolotl + "reward_model: true\nnum_labels: 5\n", 1).model.outputs == 5);
}

TEST_CASE("setting_bytes: settings beside each other") {
  auto tied = llama;
  tied.tied = true;
  CHECK(parameters(tied) == n - vocabulary * h);
  tied.outputs = 1;  // a head of its own, which is not the embedding
  CHECK(parameters(tied) == n - vocabulary * h + h);
  CHECK(head_flops_per_token(tied) == 2 * h);
}

}  // namespace test_cli_setting_bytes
