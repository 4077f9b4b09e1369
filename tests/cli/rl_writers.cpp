// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/framework_setting.hpp"
#include "readers/setting_writers.hpp"

#include <ballast/cost/presets.hpp>
#include <ballast/plan/judge_setting.hpp>

#include "settings.hpp"
#include "support/catch.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Settings of verl and OpenRLHF: what they say beyond degrees, and what is written and read back.

namespace test_cli_rl_writers {

namespace {

using namespace ballast_cli;
using ballast::head_loss;
using ballast::offload;
using ballast::training_setting;
using ballast_test::has_note;
using ballast_test::refused_setting;
using enum ballast::recompute_setting::kind;

setting_request request(std::optional<std::int64_t> gpus = {}) {
  setting_request out;
  out.gpus = gpus;
  out.find_model = [](std::string const& name) -> std::optional<known_model> {
    if (name == "Qwen/Qwen2.5-7B") return known_model{ballast::transformer_preset("qwen2.5-7b")};
    if (name == "Qwen/Qwen3-30B-A3B") return known_model{ballast::transformer_preset("qwen3-30b-a3b")};
    return std::nullopt;
  };
  return out;
}
imported_setting read(std::string const& text, setting_request const& asked = request(), std::string const& name = "run.sh") {
  return read_framework_setting(text, name, asked);
}
imported_role const* role_of(imported_setting const& of, std::string_view name) {
  auto const at = std::find_if(of.roles.begin(), of.roles.end(), [&](auto const& role) { return role.role == name; });
  return at == of.roles.end() ? nullptr : &*at;
}
std::int64_t states_of(imported_setting const& of) {
  auto by = of.setting;
  by.pipeline.memory = std::int64_t{1} << 50;
  std::int64_t most = 0;
  for (auto const& m : judge_setting(of.model, by, ballast::cluster{}).memory) most = (std::max)(most, m.state);
  return most;
}

std::string const actor = "actor_rollout_ref.actor.", model = "actor_rollout_ref.model.";
std::string const ppo =
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.max_prompt_length=512 data.max_response_length=1536 " + model +
    "path=Qwen/Qwen2.5-7B " + actor + "ppo_mini_batch_size=64 actor_rollout_ref.rollout.n=4 trainer.n_gpus_per_node=8 trainer.nnodes=1 " +
    actor + "use_kl_loss=True ";
std::string const fsdp = ppo + actor + "ppo_micro_batch_size_per_gpu=4 ";
std::string const megatron = ppo + "model_engine=megatron " + actor + "strategy=megatron " + actor + "ppo_micro_batch_size_per_gpu=4 " +
                             actor + "megatron.tensor_model_parallel_size=2 ";

}  // namespace

TEST_CASE("rl_writers: verl shards states within groups of fsdp_size") {
  auto const whole = read(fsdp), groups = read(fsdp + actor + "fsdp_config.fsdp_size=2"),
             alone = read(fsdp + actor + "fsdp_config.fsdp_size=1");
  CHECK((whole.setting.model.kernels.instances == 1 && groups.setting.model.kernels.instances == 4));
  CHECK((groups.setting.model.spread.zero == 3 && groups.setting.model.spread.data == 8));
  auto const all = states_of(whole);
  CHECK((states_of(groups) >= 4 * all - 64 && states_of(groups) <= 4 * all + 64));  // each rounded up
  CHECK((states_of(alone) >= 8 * all - 64 && states_of(alone) <= 8 * all + 64));
  REQUIRE(role_of(groups, "reference") != nullptr);
  CHECK(role_of(groups, "reference")->of.setting.model.kernels.instances == 4);  // the same mesh
  CHECK(!role_of(groups, "reference")->resident);                                // verl keeps it in host memory
  CHECK(refused_setting(fsdp + actor + "fsdp_config.fsdp_size=3", "run.sh", request()).find("does not divide the 8 devices") !=
        std::string::npos);
}

TEST_CASE("rl_writers: adapters, fused kernels and 8-bit moments of verl") {
  auto const adapted = read(megatron + model + "lora.rank=32");
  CHECK((adapted.setting.model.language.what == ballast::trained::low_rank && adapted.setting.model.language.rank == 32));
  CHECK(role_of(adapted, "reference") == nullptr);  // the actor without its adapters
  CHECK(role_of(read(megatron), "reference") != nullptr);
  CHECK(role_of(read(fsdp + model + "lora_rank=8"), "reference") == nullptr);
  CHECK(read(megatron + model + "use_fused_kernels=True").setting.model.loss.how == head_loss::kind::fused);
  CHECK(read(megatron).setting.model.loss.how == head_loss::kind::plain);
  CHECK(read(fsdp).setting.model.loss.how == head_loss::kind::in_place);
  CHECK(read(fsdp + actor + "entropy_coeff=0.01").setting.model.loss.how == head_loss::kind::sixteen_bits);
  auto const critic = read(fsdp + "algorithm.adv_estimator=gae critic.model.lora_rank=16 critic.ppo_micro_batch_size_per_gpu=4");
  REQUIRE(role_of(critic, "critic") != nullptr);
  CHECK(role_of(critic, "critic")->of.setting.model.language.rank == 16);
  CHECK(role_of(critic, "critic")->of.setting.model.language.what == ballast::trained::low_rank);
  auto const eight = read(fsdp + actor + "optim.optimizer_impl=bitsandbytes.optim " + actor + "optim.optimizer=AdamW8bit");
  CHECK((eight.setting.model.optimizer.moments == ballast::moment_form::blocks && eight.setting.model.optimizer.state.optimizer == 2));
  auto const away = read(fsdp + model + "enable_activation_offload=True");
  CHECK((away.setting.model.kernels.offload_all && away.setting.recompute.what == uniform));
  auto const tiles = model + "tiled_mlp.enabled=True ";
  CHECK(refused_setting(fsdp + tiles, "run.sh", request()).find("is for strategy fsdp2") != std::string::npos);
  CHECK(has_note(read(fsdp + tiles + actor + "strategy=fsdp2"), "tiled_mlp"));
  CHECK(read(fsdp + tiles + actor + "strategy=fsdp2 " + model + "enable_gradient_checkpointing=False").setting.recompute.what == modules);
}

TEST_CASE("rl_writers: batches of verl") {
  auto const refused = [](std::string const& rest) { return refused_setting(ppo + rest, "run.sh", request()); };
  CHECK(refused(actor + "ppo_micro_batch_size_per_gpu=5").find("32 of each, no multiple of micro-batches of 5") != std::string::npos);
  CHECK(refused(actor + "ppo_micro_batch_size=4").find("is below the 8 data-parallel ranks") != std::string::npos);
  CHECK(refused(actor + "ppo_mini_batch_size=1 " + actor + "ppo_micro_batch_size_per_gpu=1").find("are fewer than the 8") !=
        std::string::npos);
  auto const of_tokens = [](std::string const& most) {
    return ppo + actor + "use_dynamic_bsz=True " + actor + "ppo_max_token_len_per_gpu=" + most + " ";
  };
  // 32 sequences of up to 2,048 tokens of a rank
  auto const even = read(of_tokens("8192")).setting;
  CHECK((even.sequence == 8192 && even.micro_batch == 1 && even.micro_batches == 8));
  auto const uneven = read(of_tokens("3000")).setting;  // 22 micro-batches, of which the largest has two sequences
  CHECK((uneven.sequence == 4096 && uneven.micro_batches == 22));
  auto const few = read(of_tokens("131072")).setting;  // more than there is
  CHECK((few.sequence == 65536 && few.micro_batches == 1));
  CHECK(refused_setting(of_tokens("1024"), "run.sh", request()).find("below the longest sequence, 2048 tokens") != std::string::npos);
  auto const shared = read(of_tokens("1024") + actor + "ulysses_sequence_parallel_size=2").setting;
  CHECK((shared.sequence == 2048 && shared.model.spread.context == 2));
  // devices that the trainer's keys say come before those that are visible
  CHECK(read("export CUDA_VISIBLE_DEVICES=0,1\n" + fsdp).setting.gpus() == 8);
  CHECK(refused_setting("python3 -m verl.trainer.main_generation data.path=a model.path=Qwen/Qwen2.5-7B\n", "run.sh", request(8))
            .find("makes no training step") != std::string::npos);
  auto const supervised = "torchrun --nproc_per_node=8 -m verl.trainer.sft_trainer model.path=Qwen/Qwen2.5-7B data.max_length=2048 ";
  CHECK(read(supervised + std::string("data.train_batch_size=64\n")).setting.sequence == 8192);  // batches of tokens by default
  auto const rows = read(supervised + std::string("data.use_dynamic_bsz=False data.micro_batch_size_per_gpu=2 data.train_batch_size=64\n"));
  CHECK((rows.setting.sequence == 2048 && rows.setting.micro_batch == 2 && rows.setting.micro_batches == 4));
}

TEST_CASE("rl_writers: degrees of each model of verl, in YAML") {
  auto const of = read(
      "actor_rollout_ref:\n  model:\n    path: Qwen/Qwen3-30B-A3B\n  actor:\n    strategy: megatron\n    ppo_mini_batch_size: 64\n"
      "    ppo_micro_batch_size_per_gpu: 1\n    use_kl_loss: true\n    megatron:\n      tensor_model_parallel_size: 2\n"
      "      pipeline_model_parallel_size: 2\n      expert_model_parallel_size: 4\n      expert_tensor_parallel_size: 1\n  ref:\n"
      "    megatron:\n      tensor_model_parallel_size: 4\n      expert_model_parallel_size: 8\n  rollout:\n"
      "    tensor_model_parallel_size: 8\ncritic:\n  strategy: megatron\n  megatron:\n    tensor_model_parallel_size: 2\n"
      "    expert_model_parallel_size: 16\n    expert_tensor_parallel_size: 1\ntrainer:\n  nnodes: 2\n  n_gpus_per_node: 8\n",
      request(), "ppo.yaml");
  CHECK((of.setting.model.spread.tensor == 2 && of.setting.pipeline.stages == 2 && of.setting.model.expert == 4));
  CHECK(!of.setting.model.kernels.loader_mask);
  auto const& reference = role_of(of, "reference")->of.setting;
  CHECK((reference.model.spread.tensor == 4 && reference.pipeline.stages == 2 && reference.model.expert == 8));
  auto const& critic = role_of(of, "critic")->of.setting;
  CHECK((critic.model.spread.tensor == 2 && critic.pipeline.stages == 1 && critic.model.expert == 16));
  CHECK(role_of(of, "rollout")->of.setting.model.spread.tensor == 8);
  // experts are shared: the reference holds less than where each rank had all
  auto everywhere = role_of(of, "reference")->of;
  everywhere.setting.model.expert = 1;
  everywhere.setting.model.expert_tensor = 1;
  CHECK(2 * states_of(role_of(of, "reference")->of) < states_of(everywhere));
}

TEST_CASE("rl_writers: OpenRLHF's dynamic batches, Muon and older flags") {
  std::string const base =
      "python3 -m openrlhf.cli.train_ppo_ray --actor.num_nodes 1 --actor.num_gpus_per_node 8 --vllm.num_engines 8 --train.colocate_all "
      "--actor.model_name_or_path Qwen/Qwen2.5-7B --reward.remote_url http://x --algo.advantage.estimator group_norm --train.batch_size 64 "
      "--ds.zero_stage 3 --vllm.enable_sleep ";
  std::string const dynamic = base + "--train.dynamic_batch_enable --train.max_tokens_per_gpu ";
  auto const longer = read(dynamic + "16192 --data.max_len 74240 --ds.ring_attn_size 2\n").setting;  // a sample is a micro-batch by itself
  CHECK((longer.sequence == 74240 && longer.micro_batch == 1 && longer.micro_batches == 16 && longer.model.spread.context == 2));
  auto const several = read(dynamic + "10000 --data.max_len 3000\n").setting;  // three to a micro-batch
  CHECK((several.sequence == 10000 && several.micro_batches == 3));
  auto const tensor = read(dynamic + "5000 --data.max_len 3000 --ds.tensor_parallel_size 2\n").setting;
  CHECK((tensor.sequence == 10000 && tensor.micro_batches == 6));
  auto const muon = read(base + "--actor.optim muon\n");
  CHECK(muon.setting.model.optimizer.moments == ballast::moment_form::matrices);
  CHECK((muon.setting.model.optimizer.state.gradient == 2 && muon.setting.model.optimizer.state.optimizer == 8));
  CHECK((!muon.setting.model.kernels.stream_pools && muon.setting.model.loss.how == head_loss::kind::sixteen_bits));
  auto const critic = read(base + "--actor.optim muon --algo.advantage.estimator gae\n");
  REQUIRE(role_of(critic, "critic") != nullptr);
  CHECK(role_of(critic, "critic")->of.setting.model.optimizer == ballast::optimizer_named("adam-bf16-gradients"));
  CHECK(role_of(read(base), "rollout") != nullptr);
  CHECK(role_of(read(base + "--train.async_enable\n"), "rollout") == nullptr);  // only the engines of DeepSpeed share devices
  std::string const old =
      "deepspeed --module openrlhf.cli.train_sft --pretrain Qwen/Qwen2.5-7B --max_len 2048 --train_batch_size 64 --micro_train_batch_size "
      "2 "
      "--zero_stage 2 ";
  CHECK(has_note(read(old, request(8)), "--flash_attn"));
  CHECK(!has_note(read(old + "--flash_attn\n", request(8)), "--flash_attn"));
  CHECK(!has_note(read(old + "--packing_samples\n", request(8)), "--flash_attn"));
  auto const adapters = read(old + "--flash_attn --lora_rank 16 --target_modules q_proj v_proj --adam_offload\n", request(8)).setting.model;
  CHECK((adapters.language.rank == 16 && adapters.language.matrices == ballast::adapted_matrices::queries_and_values));
  CHECK(adapters.moved == offload::gradients);
  CHECK(refused_setting(old + "--train.batch_sizes 3 --flash_attn\n", "run.sh", request(8)) != "accepted");
}

namespace {

/// Random settings of PyTorch, or of Megatron-Core, of which many can be said.
training_setting drawn(std::uint64_t seed, bool core, bool experts) {
  auto draw = [state = seed * 0x9e3779b97f4a7c15U + 1](std::uint64_t n) mutable {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>((state >> 33) % n);
  };
  training_setting by;
  auto& m = by.model;
  m.framework = ballast::framework_named(core ? "megatron" : "eager");
  auto const context = std::int64_t{1} << (draw(3) == 0 ? 1 : 0), tensor = core || draw(3) == 0 ? std::int64_t{1} << draw(2) : 1;
  m.spread = {.tensor = tensor, .context = context, .data = context << draw(4), .sequence_parallel = core && tensor > 1};
  m.spread.zero = static_cast<int>(core ? draw(2) : m.spread.data == 1 ? 0 : draw(4));
  if (!core && context > 1) m.method = static_cast<ballast::context_method>(draw(2));
  by.pipeline.stages = core ? std::uint64_t{1} << draw(3) : 1;
  if (core && by.pipeline.stages > 1 && draw(2) == 0) by.pipeline.schedule = ballast::interleaved_schedule{.chunks = 2};
  if (core && experts && tensor * m.spread.data % 4 == 0) m.expert = 4, m.expert_tensor = 1;
  if (core && experts && m.expert == 1) m.expert_tensor = tensor;
  constexpr std::string_view states[] = {"adam-fp32", "adam-bf16", "adam-bf16-gradients", "adam"};
  m.optimizer = ballast::optimizer_named(core ? "adam" : states[draw(4)]);
  if (draw(3) == 0) m.moved = static_cast<offload>(draw(4));
  by.sequence = 256 * (1 + draw(32));
  by.micro_batch = 1 + draw(3);
  by.micro_batches = static_cast<std::int64_t>(by.pipeline.stages) * (1 + draw(16));
  using enum head_loss::kind;
  constexpr head_loss::kind losses[] = {fused, in_place, sixteen_bits, returned};
  m.loss.how = core ? (draw(2) == 0 ? fused : plain) : losses[draw(4)];
  if (!core && draw(5) == 0) m.attention = ballast::attention_kernel::stored_scores;
  if (draw(3) == 0) m.language = {.what = ballast::trained::low_rank, .rank = 1 + draw(64), .quantised = !core && draw(3) == 0};
  if (m.language.what == ballast::trained::low_rank && !core && draw(3) == 0)
    m.language.matrices = ballast::adapted_matrices::queries_and_values;
  by.recompute.what = draw(2) == 0 ? uniform : none;
  if (core && draw(3) == 0) by.recompute = {.what = block, .layers = 1 + draw(3)};
  if (core && draw(4) == 0)
    by.recompute = {.what = modules, .modules = {ballast::recompute_module::core_attention, ballast::recompute_module::mlp}};
  if (!core && draw(4) == 0) by.recompute = {.what = modules, .modules = {ballast::recompute_module::mlp}};
  m.kernels = {};
  m.kernels.flash = core;
  if (!core) m.kernels.offload_all = draw(4) == 0;
  if (!core && m.spread.zero == 3 && m.spread.data % 2 == 0) m.kernels.instances = 1 + draw(2);
  return by;
}

imported_role role(std::string name, std::int64_t gpus, std::int64_t tensor, bool resident, bool sharded) {
  imported_role out{.role = name, .of = {}, .resident = resident};
  out.of.framework = name;
  out.of.model = ballast::transformer_preset("qwen2.5-7b");
  out.of.setting.model.spread = {.tensor = tensor, .data = gpus / tensor, .zero = sharded ? 3 : 0};
  return out;
}

}  // namespace

namespace {

/// What is drawn, in numbers that a step of `global` sequences can have.
training_details drawn_details(std::uint64_t seed, std::int64_t sequence, std::int64_t global, bool penalises) {
  ballast_test::draws draw{seed, 5};
  training_details d;
  constexpr std::string_view rates[] = {"1.0e-6", "0.00002", "5.5e-07", "3.0e-5"};
  d.learning_rate = rates[draw(4)];
  d.packing = false;
  d.answer = 1 + draw(static_cast<std::uint64_t>(sequence) - 1);
  d.prompt = sequence - d.answer;
  d.answers = 1;
  while (d.answers < 16 && global % (2 * d.answers) == 0 && draw(4) > 0) d.answers *= 2;
  d.drawn = global * (1 + draw(4));
  d.engine = std::int64_t{1} << draw(2);
  d.penalty = penalises ? (draw(2) == 0 ? "0.002" : "0.05") : "0";
  return d;
}

/// Whether verl has keys for a setting, by its documentation: FSDP shards by stages 2 and 3, and computes losses of its own.
bool verl_says(training_setting const& by, bool core, bool draws) {
  auto const& m = by.model;
  using enum head_loss::kind;
  if (core) {
    auto const moved = m.moved == offload::none || m.moved == offload::optimizer;
    return moved;
  }
  auto const& again = by.recompute;
  auto const tiles = again.what == modules && again.modules == ballast::module_set{ballast::recompute_module::mlp};
  auto const whole = m.spread.data == 1;
  return (m.optimizer.name == "adam-fp32" || m.optimizer.name == "adam-bf16") && m.spread.tensor == 1 &&
         (m.loss.how == fused || m.loss.how == in_place || (m.loss.how == sixteen_bits && draws)) &&
         (whole ? m.spread.zero == 0 : m.spread.zero >= 2) && (m.moved == offload::none || m.moved == offload::parameters) &&
         (m.spread.context == 1 || m.method == ballast::context_method::ulysses) &&
         (again.what == none || again.what == uniform || tiles) && !m.language.quantised;
}
/// The same of OpenRLHF, which trains by DeepSpeed.
bool openrlhf_says(training_setting const& by) {
  auto const& m = by.model;
  auto const moved = m.moved == offload::none || (m.moved == offload::gradients && m.spread.zero > 0);
  auto const stored = m.attention != ballast::attention_kernel::fused;
  return (m.optimizer.name == "adam-bf16-gradients" || m.optimizer.name == "adam") && m.loss.how == head_loss::kind::sixteen_bits &&
         moved && (m.spread.context == 1 || (m.method == ballast::context_method::ring && !stored)) &&
         (by.recompute.what == none || by.recompute.what == uniform) && !m.kernels.offload_all && m.kernels.instances == 1;
}

bool same_number(std::string const& a, std::string const& b) { return !a.empty() && !b.empty() && std::stod(a) == std::stod(b); }

}  // namespace

TEST_CASE("rl_writers: all that a framework can say is written, and read as the same") {
  struct {
    framework_format const& format;
    bool core, experts;
    char const* file;
  } const kinds[] = {{verl_format, false, false, "a.yaml"},
                     {verl_format, true, false, "a.yaml"},
                     {verl_format, true, true, "a.yaml"},
                     {openrlhf_format, false, false, "a.sh"}};
  for (auto const& [format, core, experts, file] : kinds) {
    auto const& shape = ballast::transformer_preset(experts ? "qwen3-30b-a3b" : "qwen2.5-7b");
    auto const verl = format.word == "verl";
    int sayable = 0;
    for (std::uint64_t seed = 0; seed < 2000; seed += ballast_test::round_step) {
      auto by = drawn(seed, core, experts);
      auto const draws = seed % 3 > 0, adapts = by.model.language.what == ballast::trained::low_rank;
      if (!verl && adapts) by.model.kernels.adapter_value = 4;
      if (by.gpus() % by.model.spread.tensor != 0) continue;
      if (!(verl ? verl_says(by, core, draws) : openrlhf_says(by))) continue;
      auto const several = seed % 3 == 2;
      auto roles = seed % 3 == 0 ? std::vector<imported_role>{}
                   : several     ? std::vector{role("rollout", by.gpus(), 1, true, false),
                                           role("critic", by.gpus(), by.model.spread.tensor, seed % 2 == 0, true)}
                                 : std::vector{role("rollout", by.gpus(), by.model.spread.tensor, false, false)};
      if (several && !(verl && adapts))  // there, the model without its adapters is the reference
        roles.push_back(role("reference", by.gpus(), by.model.spread.tensor, core && seed % 2 == 0, true));
      imported_setting of{.framework = std::string(format.name), .setting = by, .model = shape, .roles = roles};
      of.task = !draws          ? training_task::finetuning
                : several       ? training_task::ppo
                : seed % 6 == 1 ? training_task::grpo
                                : training_task::rloo;
      of.details = drawn_details(seed, by.sequence, by.global_batch(), several);
      auto& d = of.details;
      if (draws) d.engine = role_of(of, "rollout")->of.setting.model.spread.tensor;
      d.penalises_rewards = several && seed % 2 == 0;
      if (!draws) d = {.learning_rate = d.learning_rate, .packing = false};
      if (!verl && of.task == training_task::grpo && d.answers == 1) continue;  // one answer to a prompt is no group
      ++sayable;
      auto const written = write_setting(format, of);
      CAPTURE(format.name, core, experts, seed, written.text);
      CHECK(written.not_said == std::vector<std::string>{});
      auto back = read(written.text, {.model = shape, .gpus = by.gpus()}, file);
      CHECK(back.framework == format.name);
      CHECK((back.passed.doubtful.empty() && back.passed.unknown.empty()));
      back.setting.boundaries = by.boundaries;
      auto const pools = by.model.kernels;  // what a framework tells its kernels is its own, but for these
      CHECK((back.setting.model.kernels.instances == pools.instances && back.setting.model.kernels.offload_all == pools.offload_all));
      back.setting.model.kernels = pools;
      back.setting.model.optimizer.rank = by.model.optimizer.rank;
      CHECK(back.setting == by);
      auto const& e = back.details;
      CHECK(same_number(d.learning_rate, e.learning_rate));
      CHECK((e.packing == d.packing && e.prompt == d.prompt && e.answer == d.answer && e.answers == d.answers && e.drawn == d.drawn));
      CHECK(e.engine == d.engine);
      if (draws) CHECK(same_number(d.penalty, e.penalty));
      if (several) CHECK(e.penalises_rewards == d.penalises_rewards);
      CHECK(back.roles.size() == roles.size());
      for (auto const& given : roles) {
        auto const* const found = role_of(back, given.role);
        REQUIRE(found != nullptr);
        CHECK((found->resident == given.resident || (verl && !core && given.role == "reference")));
        if (given.role == "rollout" || core) CHECK(found->of.setting.model.spread.tensor == given.of.setting.model.spread.tensor);
      }
    }
    CAPTURE(format.name, core, experts);
    CHECK(sayable >= 30 / ballast_test::round_step);  // of the draws, whatever is written
  }
}

TEST_CASE("rl_writers: lengths, answers, batches and divergence of GRPO go from each framework to each other") {
  constexpr std::string_view words[] = {"verl", "openrlhf", "trl", "swift", "megatron-swift", "axolotl", "nemo-rl"};
  auto const is_named = [](written_setting const& written, std::string_view label) {
    return std::any_of(written.not_said.begin(), written.not_said.end(), [&](auto const& line) { return line.starts_with(label); });
  };
  for (auto const from : words)
    for (auto const to : words)
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        auto const &source = framework_named("--write", std::string(from)), &target = framework_named("--write", std::string(to));
        auto by = drawn(7 * seed, from == "megatron-swift", false);
        by.model.spread = {.data = std::int64_t{2} << seed % 3, .zero = from == "megatron-swift" ? 1 : 3};
        by.pipeline.stages = 1;
        by.pipeline.schedule = ballast::one_f_one_b_schedule{};
        by.model.moved = offload::none;
        by.micro_batch = 2;
        by.micro_batches = 8 * (1 + static_cast<std::int64_t>(seed % 3));
        imported_setting of{
            .framework = std::string(source.name), .setting = by, .model = ballast::transformer_preset("qwen2.5-7b"), .roles = {}};
        of.task = training_task::grpo;
        of.details = drawn_details(seed, by.sequence, by.global_batch(), seed % 2 == 0);
        of.details.answers = std::int64_t{2} << seed % 4;
        auto const start = write_setting(source, of);
        setting_request asked{.model = of.model, .gpus = by.gpus()};
        auto const name = [](std::string const& text) { return text.find(" --") == text.npos ? "a.yaml" : "a.sh"; };
        CAPTURE(from, to, seed, start.text);
        auto const given = read(start.text, asked, name(start.text));
        auto const& d = given.details;
        CHECK(given.framework == (from == "megatron-swift" ? "ms-swift" : source.name));
        CHECK((d.prompt == of.details.prompt && d.answer == of.details.answer && d.answers == of.details.answers));
        CHECK((same_number(d.penalty, of.details.penalty) && same_number(d.learning_rate, of.details.learning_rate)));
        auto const space = space_of(target, given);
        auto const written = write_best(target, given, space, {&space.of.setting, 1});
        CAPTURE(written.text);
        auto const back = read(written.text, asked, name(written.text));
        auto const& e = back.details;
        CHECK(back.task == training_task::grpo);
        CHECK(back.setting.sequence == by.sequence);
        CHECK((e.prompt == d.prompt && e.answer == d.answer && e.answers == d.answers));
        CHECK((e.drawn == d.drawn && e.engine == d.engine));
        CHECK((same_number(e.penalty, d.penalty) && same_number(e.learning_rate, d.learning_rate)));
        CHECK((e.penalises_rewards == d.penalises_rewards || is_named(written, "divergence in") || same_number(d.penalty, "0")));
        CHECK((e.packing == d.packing || is_named(written, "packing of samples")));
        CHECK((back.passed.doubtful.empty() && back.passed.unknown.empty()));
      }
}

TEST_CASE("rl_writers: micro-batches that verl counts in tokens") {
  auto const tokens = ppo + "data.train_batch_size=256 " + actor + "use_dynamic_bsz=True " + actor + "ppo_max_token_len_per_gpu=8192 " +
                      actor + "optim.lr=1e-6 " + actor + "kl_loss_coef=0.002";
  auto const of = read(tokens);
  CHECK((of.details.sample == 2048 && of.details.samples == 256 && of.details.drawn == 1024 && of.details.learning_rate == "1.0e-6"));
  auto const same = write_setting(verl_format, of);
  CHECK(same.not_said == std::vector<std::string>{});
  auto const back = read(same.text, {.model = of.model}, "a.yaml");
  CHECK((back.setting == of.setting && back.details.sample == 2048 && back.details.drawn == 1024));
  auto const other = write_setting(trl_format, of);  // four samples of the longest length in place of their tokens
  auto const trl = read(other.text, {.model = of.model}, "a.sh");
  CHECK((trl.setting.sequence == 2048 && trl.setting.micro_batch == 4 && trl.setting.global_batch() == 256));
  CHECK((trl.details.prompt == 512 && trl.details.answer == 1536 && trl.details.answers == 4 && trl.details.drawn == 1024));
  CHECK(same_number(trl.details.penalty, "0.002"));
  CHECK(std::find(other.not_said.begin(), other.not_said.end(), "sequence of 8192, in the file 2048") != other.not_said.end());
}

TEST_CASE("rl_writers: YAML of verl's PPO, whole") {
  training_setting by;
  by.model.framework = ballast::framework_named("eager");
  by.model.spread = {.data = 16, .zero = 3};
  by.model.optimizer = ballast::optimizer_named("adam-fp32");
  by.model.loss.how = head_loss::kind::in_place;
  by.recompute.what = uniform;
  by.sequence = 2048;
  by.micro_batch = 2;
  by.micro_batches = 8;
  imported_setting of{.framework = "verl", .setting = by, .model = ballast::transformer_preset("qwen2.5-7b"), .roles = {}};
  of.task = training_task::grpo;
  of.roles = {role("rollout", 16, 2, false, false)};
  of.details.prompt = 512;
  of.details.answer = 1536;
  auto const out = verl_format.write(of);
  CHECK(out.without.empty());
  of.details = {};
  CHECK(verl_format.write(of).text == out.text);  // a quarter is the prompt
  CHECK(verl_format.write(of).without == std::vector<std::string>{"how much of a sequence is the answer, which is taken as 1536 tokens"});
  CHECK(out.text ==
        "defaults:\n  - ppo_trainer\n  - _self_\nhydra:\n  searchpath:\n    - pkg://verl.trainer.config\nactor_rollout_ref:\n  model:\n"
        "    path: NAME  # of the model\n    enable_gradient_checkpointing: true\n  actor:\n    ppo_mini_batch_size: 32\n"
        "    use_dynamic_bsz: false\n    ppo_micro_batch_size_per_gpu: 2\n    use_kl_loss: false\n    strategy: fsdp2\n    fsdp_config:\n"
        "      model_dtype: fp32\n  rollout:\n    n: 8\n    log_prob_micro_batch_size_per_gpu: 2\n    name: vllm\n    free_cache_engine: "
        "true\n    tensor_model_parallel_size: 2\n"
        "algorithm:\n  adv_estimator: grpo\ndata:\n  max_prompt_length: 512\n  max_response_length: 1536\n  train_batch_size: 32\n"
        "trainer:\n  n_gpus_per_node: 8\n  nnodes: 2\n");
}

}  // namespace test_cli_rl_writers
