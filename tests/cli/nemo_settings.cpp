// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/framework_setting.hpp"

#include <ballast/cost/presets.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/plan/judge_setting.hpp>

#include "settings.hpp"
#include "support/catch.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
using ballast::head_loss;
using ballast_test::has_note;
using ballast_test::refused_setting;

/// A setting as NeMo RL or Automodel may have it, and a little more.
ballast::training_setting drawn(std::uint64_t seed, ballast::transformer const& model, bool megatron, bool automodel) {
  auto draw = [state = seed * 0x9e3779b97f4a7c15U + 5](std::uint64_t n) mutable {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>((state >> 33) % n);
  };
  ballast::training_setting by;
  auto& m = by.model;
  m.framework = ballast::framework_named(megatron ? "megatron" : "eager");
  std::int64_t const tensor = std::int64_t{1} << draw(2), context = draw(3) == 0 ? 2 : 1;
  m.spread = {.tensor = tensor, .context = context, .data = context << draw(4)};
  m.spread.sequence_parallel = tensor > 1 && draw(2) == 0;
  m.spread.zero = megatron ? static_cast<int>(draw(2)) : m.spread.data == 1 ? 0 : draw(4) == 0 ? static_cast<int>(draw(3)) : 3;
  if (context > 1 && draw(8) == 0) m.method = ballast::context_method::ulysses;
  constexpr std::string_view states[] = {"adam", "adam-bf16-gradients", "adam-fp32", "adam-bf16"};
  m.optimizer = ballast::optimizer_named(states[megatron ? draw(2) : automodel ? 2 + draw(2) : 2]);
  if (draw(4) == 0) m.moved = static_cast<ballast::offload>(draw(4));
  by.sequence = 256 * (1 + draw(32));
  by.micro_batch = 1 + draw(3);
  by.micro_batches = 1 + draw(32);
  m.loss.how = megatron ? head_loss::kind::plain : tensor > 1 ? head_loss::kind::parallel : head_loss::kind::plain;
  if (automodel && draw(2) == 0) m.loss.how = draw(2) == 0 ? head_loss::kind::fused : head_loss::kind::sixteen_bits;
  auto const rows = by.sequence * by.micro_batch / context;
  if (m.loss.how == head_loss::kind::sixteen_bits && draw(2) == 0) m.loss.chunks = (rows + 63) / 64;
  if (megatron && draw(3) == 0) m.loss = {.how = head_loss::kind::chunked, .chunks = (by.sequence + 255) / 256};
  m.attention = static_cast<ballast::attention_kernel>(draw(5) == 0 ? 1 : 0);
  if (draw(4) == 0) m.language = {.what = ballast::trained::low_rank, .rank = 1 + draw(64), .quantised = !megatron && draw(2) == 0};
  if (model.experts > 0) {
    m.expert = m.spread.data >= 4 && (tensor == 1 || m.spread.sequence_parallel) && draw(2) == 0 ? 4 : 1;
    m.expert_tensor = 1;
  }
  by.pipeline.stages = !megatron && !automodel ? 1 : std::uint64_t{1} << draw(3);
  if (by.pipeline.stages > 1 && draw(4) == 0) by.pipeline.schedule = ballast::schedule_named(draw(2) == 0 ? "interleaved" : "gpipe");
  by.recompute.what = static_cast<ballast::recompute_setting::kind>(draw(6));
  if (by.recompute.what == modules) by.recompute.modules = ballast::module_set_named(draw(2) == 0 ? "mlp,layernorm" : "core_attn");
  auto& k = m.kernels;
  if (megatron) {
    k = {.hidden_dropout = draw(16) == 0, .fp8 = draw(3) == 0, .grouped_gemm = true, .dummy_gradients = draw(2) == 0};
    k.flash = m.attention == ballast::attention_kernel::fused && draw(2) == 0;
    k.loader_mask = context == 1;  // of packed sequences there is none
    if (draw(4) == 0) k.moved = ballast::offload_set_named("core_attn,attn_norm");
  } else {
    k.stream_pools = true;
    k.kept_copies = !automodel || m.spread.zero > 0;
    if (automodel && m.spread.zero == 0 && m.optimizer.name == "adam-fp32") k.value = 4;  // nothing casts
    if (automodel) k.local_gradient = m.spread.zero == 0 ? (m.optimizer.name == "adam-fp32" ? 4 : 2) : draw(2) == 0 ? 0 : 4;
    k.tensor_overlap = automodel && draw(4) == 0;
    if (m.language.what == ballast::trained::low_rank) k.adapter_value = automodel ? 2 : 4;
    if (m.spread.zero > 1 && m.spread.data % 2 == 0) k.instances = 1 + draw(2);
  }
  by.boundaries = boundaries_of(by, model);
  if (by.boundaries.size() > 2 && draw(4) == 0) --by.boundaries[1];
  return by;
}

}  // namespace

TEST_CASE("nemo_settings: what is exported is imported as the same setting and the same plan") {
  struct {
    char const* word;
    bool megatron, automodel;
  } const writers[] = {{"nemo-rl", true, false}, {"nemo-rl", false, false}, {"automodel", false, true}};
  for (auto const& writer : writers) {
    auto const& format = framework_named("--write", writer.word);
    REQUIRE(format.write != nullptr);
    int same = 0;
    for (auto const* const name : {"llama-3.1-8b", "qwen3-30b-a3b"}) {
      auto const& model = ballast::transformer_preset(name);
      for (std::uint64_t seed = 0; seed < 3000; seed += ballast_test::round_step) {
        auto const by = drawn(seed, model, writer.megatron, writer.automodel);
        if (by.model.spread.tensor * by.model.spread.data % by.model.expert != 0) continue;
        imported_setting of{.framework = {}, .setting = by, .model = model, .roles = {}};
        auto const exported = format.write(of);
        if (!exported.without.empty()) continue;
        CAPTURE(writer.word, writer.megatron, name, seed, exported.text);
        auto asked = request(by.gpus());
        asked.model = model;
        auto back = read(exported.text, "a.yaml", asked);
        CHECK(back.framework == format.name);
        CHECK((back.passed.doubtful.empty() && back.passed.unknown.empty()));
        back.setting.boundaries = boundaries_of(back.setting, model);
        CHECK(back.setting == by);
        if (++same % 16 == 0) CHECK(judge_setting(model, by, {}).memory == judge_setting(back.model, back.setting, {}).memory);
      }
    }
    CAPTURE(writer.word);
    CHECK(same >= 100 / ballast_test::round_step);
  }
}

TEST_CASE("nemo_settings: NeMo RL's losses, formats, optimisers and overrides") {
  std::string const over = "defaults: ../sft.yaml\npolicy:\n  max_total_sequence_length: 4096\n";
  auto const core = [&](std::string const& rest, std::string const& policy = "") {
    return read(over + policy + "  dtensor_cfg:\n    enabled: false\n  megatron_cfg:\n    enabled: true\n" + rest, "a.yaml", request());
  };
  auto const fused = core("    use_fused_linear_logprobs: true\n    fused_linear_logprobs_chunk_size: 512\n");
  CHECK((fused.setting.model.loss == head_loss{.how = head_loss::kind::chunked, .chunks = 8}));
  CHECK(has_note(fused, "the head's gradient in float32"));
  CHECK(has_note(core(""), "bytes for each logit"));
  CHECK(!has_note(core("    defer_fp32_logits: true\n", "  logprob_chunk_size: 1024\n"), "bytes for each logit"));
  CHECK(has_note(core("    distributed_data_parallel_config:\n      use_custom_fsdp: true\n"), "use_custom_fsdp is passed on to nothing"));
  CHECK(core("    moe_token_dispatcher_type: alltoall\n    moe_new_key: 1\n").passed.doubtful.empty());  // of a model without experts
  auto const cut = core("    model_overrides:\n      num_layers: 8\n      ffn_hidden_size: 1024\n      tp_comm_overlap: true\n");
  CHECK((cut.model.layers == 8 && cut.setting.model.kernels.tensor_overlap));
  REQUIRE(cut.passed.doubtful.size() == 1);
  CHECK(cut.passed.doubtful[0].starts_with("policy.megatron_cfg.model_overrides.ffn_"));
  CHECK(core("", "  precision: float32\n").setting.model.optimizer.name == "adam-fp32");
  CHECK(core("", "  precision: float16\n").untimed.empty());
  CHECK(core("    sequence_parallel: false\n", "  sequence_packing:\n    enabled: true\n").setting.model.kernels.loader_mask == false);
  CHECK(core("").setting.model.kernels.loader_mask);

  auto const torch = [&](std::string const& rest) { return read(over + rest, "a.yaml", request()); };
  auto const state = [&](std::string const& optimizer) {
    auto const of = torch("  optimizer:\n    name: " + optimizer).setting.model.optimizer;
    return std::pair{std::string(of.name), of.state.optimizer};
  };
  CHECK(state("torch.optim.AdamW\n") == std::pair<std::string, std::int64_t>{"adam-fp32", 8});
  CHECK(state("bitsandbytes.optim.AdamW8bit\n") == std::pair<std::string, std::int64_t>{"adam-8bit", 2});
  CHECK(state("torch.optim.SGD\n    kwargs:\n      momentum: 0.9\n") == std::pair<std::string, std::int64_t>{"sgd", 4});
  std::string const fused_adam =
      "transformer_engine.pytorch.optimizers.fused_adam.FusedAdam\n    kwargs:\n      master_weights: true\n"
      "      store_param_remainders: true\n      exp_avg_dtype: torch.bfloat16\n";
  CHECK(state(fused_adam) == std::pair<std::string, std::int64_t>{"adam with master weights", 10});  // a copy of float32 parameters
  CHECK(has_note(torch("  optimizer:\n    name: deepspeed.ops.adam.DeepSpeedCPUAdam\n"), "on the devices: the memory is too high"));
  auto const floats = torch("  precision: float32\n");
  CHECK((floats.setting.model.kernels.value == 4 && !floats.untimed.empty()));
  CHECK(refused_setting(over + "  precision: bf17\n", "a.yaml", request()).find("must be one of bfloat16") != std::string::npos);
  auto const layers = torch("  hf_config_overrides:\n    num_hidden_layers: 4\n    rope_theta: 1000000\n    hidden_size: 512\n");
  CHECK(layers.model.layers == 4);
  CHECK(layers.passed.doubtful == std::vector<std::string>{"policy.hf_config_overrides.hidden_size"});
  CHECK(torch("  dtensor_cfg:\n    automodel_kwargs:\n      attn_implementation: eager\n").setting.model.attention ==
        ballast::attention_kernel::stored_scores);
  CHECK(torch("  dtensor_cfg:\n    dp_replicate_size: 2\n").setting.model.kernels.instances == 2);
}

TEST_CASE("nemo_settings: NeMo RL says which lengths it pads, and its reference has experts where the policy has them") {
  std::string const over = "defaults: ../sft.yaml\npolicy:\n  max_total_sequence_length: 510\n";
  auto const plain = read(over, "a.yaml", request());
  CHECK((plain.setting.sequence == 510 && !has_note(plain, "is padded")));
  auto const padded = read(over + "  make_sequence_length_divisible_by: 8\n", "a.yaml", request());
  CHECK((padded.setting.sequence == 512 && has_note(padded, "510 is padded to 512")));
  auto const packed =
      read(over + "  sequence_packing:\n    enabled: true\n    train_mb_tokens: 1021\n  dtensor_cfg:\n    context_parallel_size: 2\n",
           "a.yaml", request());
  CHECK((packed.setting.sequence == 1024 && has_note(packed, "1021 is padded to 1024")));
  auto const mixture = [&](char const* experts) {
    return read(
        "defaults: ../sft.yaml\ndpo:\n  seed: 1\npolicy:\n  model_name: Qwen/Qwen3-30B-A3B\n  dtensor_cfg:\n    enabled: false\n  "
        "megatron_cfg:\n"
        "    enabled: true\n    tensor_model_parallel_size: 2\n    sequence_parallel: true\n    expert_tensor_parallel_size: 1\n    "
        "expert_model_parallel_size: " +
            std::string(experts) + "\n",
        "a.yaml", request());
  };
  auto const whole = mixture("1"), spread = mixture("8");
  REQUIRE((whole.roles.size() == 1 && spread.roles.size() == 1));
  CHECK(spread.roles[0].of.setting.model.expert == 8);
  CHECK(spread.setting.micro_batch == 2);  // a pair
}

TEST_CASE("nemo_settings: Automodel's attention, host memory, optimisers, losses and recomputation") {
  auto const of = [&](std::string const& rest) {
    return read(
        "recipe: TrainFinetuneRecipeForNextTokenPrediction\nstep_scheduler:\n  global_batch_size: 32\n  local_batch_size: 2\n"
        "packed_sequence:\n  packed_sequence_size: 4096\n" +
            rest,
        "a.yaml", request(8));
  };
  std::string const model = "model:\n  pretrained_model_name_or_path: meta-llama/Llama-3.1-8B\n";
  CHECK(of(model + "  attn_implementation: eager\n").setting.model.attention == ballast::attention_kernel::stored_scores);
  CHECK(of(model + "  attn_implementation: sdpa\n").setting.model.attention == ballast::attention_kernel::fused);
  std::string const away = "distributed:\n  offload_policy:\n    _target_: torch.distributed.fsdp.CPUOffloadPolicy\n";
  CHECK(of(model + away).setting.model.moved == ballast::offload::parameters);
  CHECK(of(model + away + "  reshard_after_forward: false\n").setting.model.moved == ballast::offload::gradients);
  CHECK(of(model + "distributed:\n  offload_policy: null\n").setting.model.moved == ballast::offload::none);
  CHECK(of(model + "distributed:\n  activation_checkpointing: selective\n").setting.recompute.what == products);
  CHECK(of(model + "distributed:\n  activation_checkpointing: full\n").setting.recompute.what == uniform);
  CHECK(of(model + "distributed:\n  activation_checkpointing: true\n  activation_checkpointing_scope: [vision]\n").setting.recompute.what ==
        none);
  CHECK(of(model + "distributed:\n  dp_replicate_size: 4\n").setting.model.kernels.instances == 4);
  auto const flash = of(model + "optimizer:\n  _target_: flashoptim.FlashAdamW\n  master_weight_bits: 24\n").setting.model.optimizer;
  CHECK((flash.state == ballast::training_state{2, 2, 3} && flash.moments == ballast::moment_form::blocks));  // 7 bytes, and scales
  auto const state = [&](std::string const& rest) { return of(model + rest).setting.model.optimizer.state.optimizer; };
  std::string const fused_adam = "optimizer:\n  _target_: transformer_engine.pytorch.optimizers.fused_adam.FusedAdam\n";
  CHECK(state(fused_adam) == 8);
  CHECK(state(fused_adam + "  master_weights: true\n  store_param_remainders: true\n  exp_avg_dtype: torch.bfloat16\n"
                           "  exp_avg_sq_dtype: torch.bfloat16\n") == 6);
  auto const loss = [&](std::string const& rest) {
    return of(model + "loss_fn:\n  _target_: nemo_automodel.components.loss." + rest).setting.model.loss;
  };
  CHECK(loss("masked_ce.MaskedCrossEntropy\n").how == head_loss::kind::plain);
  CHECK(loss("masked_ce.MaskedCrossEntropy\n  fp32_upcast: false\n").how == head_loss::kind::sixteen_bits);
  CHECK(loss("te_parallel_ce.TEParallelCrossEntropy\n").how == head_loss::kind::in_place);
  CHECK((loss("chunked_ce.ChunkedCrossEntropy\n  chunk_len: 512\n") == head_loss{.how = head_loss::kind::sixteen_bits, .chunks = 16}));
  CHECK(of(model + "fp8:\n  enabled: true\n").time.rates.fp8);
  CHECK(refused_setting("recipe: TrainFinetuneRecipeForNextTokenPrediction\nstep_scheduler:\n  local_batch_size: 1\n" + model +
                            "distributed:\n  activation_checkpointing: sometimes\npacked_sequence:\n  packed_sequence_size: 4096\n",
                        "a.yaml", request(8))
            .find("must be true, false, full or selective") != std::string::npos);
}

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
  std::string const text =
      "model:\n  _target_: megatron.bridge.models.llama.LlamaModelProvider\n  num_layers: 32\n  hidden_size: 4096\n"
      "  num_attention_heads: 32\n  num_query_groups: 8\n  kv_channels: 128\n  ffn_hidden_size: 14336\n  gated_linear_unit: true\n"
      "  add_bias_linear: false\n  normalization: RMSNorm\n  position_embedding_type: rope\n  share_embeddings_and_output_weights: false\n"
      "  vocab_size: 128256\n  make_vocab_size_divisible_by: 128\n  tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 2\n"
      "  sequence_parallel: true\n  recompute_granularity: selective\n  recompute_modules: [core_attn]\n  seq_length: 8192\n"
      "train:\n  micro_batch_size: 2\n  global_batch_size: 64\n"
      "ddp:\n  use_distributed_optimizer: true\n  grad_reduce_in_fp32: false\noptimizer:\n  optimizer: adam\n  lr: 0.0003\n";
  auto const of = read(text, "run_config.yaml", request(8));
  auto apart = text;
  apart.replace(0, 7,
                "model:\n  dist_train:\n    use_dist_train: true\n    vision_world_size: 8\n    language_world_size: 16\n"
                "    vision_tensor_model_parallel_size: 1\n");
  auto const tower = read(apart, "run_config.yaml", request(24));
  CHECK((tower.setting.gpus() == 16 && tower.passed.doubtful.empty() && has_note(tower, "which dist_train sets apart")));
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

TEST_CASE("nemo_settings: NeMo 1 by its own names, and what is no decoder is refused") {
  auto const file = [](std::string const& name, std::string const& more) {
    return "name: " + name + "\ntrainer:\n  devices: 8\n  num_nodes: 1\n  precision: bf16\nmodel:\n  tensor_model_parallel_size: 2\n" +
           more +
           "  optim:\n    name: mcore_distributed_optim\n    overlap_grad_sync: true\n    overlap_param_sync: true\n"
           "    grad_sync_dtype: bf16\n";
  };
  auto asked = request();
  asked.model = ballast::transformer_preset("llama-3.1-8b");
  std::string const data = "  data:\n    train_ds:\n      max_seq_length: 2048\n      micro_batch_size: 4\n      global_batch_size: 128\n";
  auto const of = read(file("megatron_gpt_sft",
                            "  megatron_amp_O2: False\n  activations_checkpoint_granularity: null\n  activations_checkpoint_num_layers: 0\n"
                            "  position_embedding_type: ALiBi\n" +
                                data),
                       "sft.yaml", asked);
  CHECK((of.setting.sequence == 2048 && of.setting.micro_batch == 4 && of.setting.global_batch() == 128));
  CHECK((of.setting.model.spread.zero == 1 && of.setting.recompute.what == none && of.time.gradient_overlap));
  CHECK((of.setting.model.optimizer.name == "adam-bf16-gradients" && has_note(of, "megatron_amp_O2 is off")));
  auto const lora = [&](std::string const& modules) {
    return read(file("a", data + "  peft:\n    peft_scheme: lora\n    lora_tuning:\n      adapter_dim: 16\n" + modules), "lora.yaml", asked)
        .setting.model.language;
  };
  CHECK(lora("").matrices == ballast::adapted_matrices::queries_and_values);
  CHECK(lora("      target_modules: [attention_qkv, mlp_fc1]\n").matrices == ballast::adapted_matrices::every_matrix);
  CHECK(lora("      target_modules: [attention, mlp]\n").matrices == ballast::adapted_matrices::every_matrix);
  auto halves = file("a", data);
  halves.replace(halves.find("precision: bf16"), 15, "precision: 16");
  auto const half = read(halves, "half.yaml", asked);
  CHECK((half.setting.model.optimizer.state.gradient == 2 && half.details.core.contains("fp16")));
  for (auto const& [name, what] : {std::pair{"megatron_t5", "an encoder with a decoder"},
                                   {"mt5_170m", "an encoder with a decoder"},
                                   {"megatron_bert", "BERT"},
                                   {"megatron_griffin", "RG-LRU"},
                                   {"megatron_gpt_hyena", "long convolutions"},
                                   {"nemo_vit_classification", "a vision model"}})
    CHECK(refused_setting(file(name, data), "a.yaml", asked).find(what) != std::string::npos);
  CHECK(refused_setting(file("a", data + "  encoder:\n    num_layers: 12\n"), "a.yaml", asked).find("an encoder with a decoder") !=
        std::string::npos);
  CHECK(refused_setting(file("bartender", data), "a.yaml", asked) == "accepted");
}

TEST_CASE("nemo_settings: mixed_precision of Megatron-Bridge decides formats, whatever keys of the model say") {
  auto asked = request(8);
  asked.model = ballast::transformer_preset("llama-3.1-8b");
  std::string const rest =
      "model:\n  tensor_model_parallel_size: 1\n  seq_length: 4096\n  fp8: hybrid\ntrain:\n  micro_batch_size: 1\n  global_batch_size: 8\n";
  CHECK(!read(rest + "mixed_precision: bf16_mixed\n", "a.yaml", asked).setting.model.kernels.fp8);
  CHECK(read(rest, "a.yaml", asked).setting.model.kernels.fp8);
  auto const mx = read(rest + "mixed_precision: bf16_with_mxfp8_mixed\n", "a.yaml", asked);
  CHECK((mx.setting.model.kernels.fp8 && mx.details.core.at("fp8_format") == "e4m3" && mx.details.core.at("fp8_recipe") == "mxfp8"));
  auto const section = read(rest + "mixed_precision:\n  _target_: a.MixedPrecisionConfig\n  fp16: true\n", "a.yaml", asked);
  CHECK((!section.setting.model.kernels.fp8 && section.setting.model.optimizer.state.gradient == 4));
  auto const word = read(rest + "mixed_precision: fp16_mixed\n", "a.yaml", asked);
  CHECK((word.setting.model.optimizer.name == "adam in float16" && word.setting.model.optimizer.state.gradient == 2));
}

}  // namespace test_cli_nemo_settings
