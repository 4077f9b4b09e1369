// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/framework_setting.hpp"
#include "readers/setting_parts.hpp"
#include "readers/trainer_keys.hpp"

#include <ballast/core/math.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/optimizer.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// OpenRLHF/OpenRLHF: flags of openrlhf.cli.train_*, as `--train.batch_size` and, of versions before 2026, as `--train_batch_size`.

namespace ballast_cli {

namespace {

class openrlhf_importer {
 public:
  openrlhf_importer(setting_source source, setting_request const& asked) : in_(std::move(source.table)), asked_(asked) {
    std::string other;
    for (auto const& word : source.commands) {
      auto const at = word.find("openrlhf.cli.");
      if (at == word.npos) continue;
      auto const program = word.substr(at + 13);
      if (program.starts_with("train_"))
        program_ = program;
      else
        other = program;
    }
    auto const module = in_.list("module");
    if (program_.empty() && !module.empty() && module[0].starts_with("openrlhf.cli.train_")) program_ = module[0].substr(13);
    if (program_.empty() && !other.empty())
      throw bad_input(in_.file() + ": openrlhf.cli." + other + " makes no training step: it generates, serves or converts");
  }

  imported_setting read() {
    out_.framework = "OpenRLHF";
    by_preferences_ = program_.starts_with("train_ppo") || in_.has_section("actor.") || in_.has("actor_num_nodes");
    auto const pairs = program_ == "train_dpo" || program_ == "train_rm" || program_ == "train_kto";
    take_model(in_, asked_, {"actor.model_name_or_path", "model.model_name_or_path", "model_name_or_path", "pretrain"}, out_);
    auto& by = out_.setting;
    auto& m = by.model;
    m.framework = ballast::framework_named("eager");
    out_.time.rates.family = ballast::kernel_family::eager;
    out_.time.attention = ballast::attention_library::flash2;
    m.spread.tensor = degree_of(in_, placed("ds.tensor_parallel_size", "ds_tensor_parallel_size"));
    m.spread.context = degree_of(in_, placed("ds.ring_attn_size", "ring_attn_size"));
    auto const gpus = by_preferences_ ? devices_of("actor") : gpus_of(in_, asked_);
    m.spread.data = ranks_of(in_, gpus, m.spread.tensor * m.spread.context, "tensor_parallel_size x ring_attn_size") * m.spread.context;
    read_states();
    read_batches(pairs);
    if (in_.flag(placed(by_preferences_ ? "actor.gradient_checkpointing_enable" : "model.gradient_checkpointing_enable",
                        "gradient_checkpointing")))
      by.recompute.what = ballast::recompute_setting::kind::uniform;
    if (by_preferences_) read_roles(gpus);
    if (program_ == "train_rm") out_.model.outputs = 1;
    using enum training_task;
    for (auto const& [program, task] :
         {std::pair{"train_sft", finetuning}, {"train_dpo", dpo}, {"train_kto", kto}, {"train_rm", reward}, {"train_kd", distillation}})
      if (program_ == program) out_.task = task;
    if (program_ == "train_dpo") {
      auto const moved = in_.flag("ref.offload") || in_.flag("ref_offload");
      out_.roles.push_back(forward_role(in_, "reference", out_.model,
                                        {.gpus = gpus, .tensor = m.spread.tensor, .sharded = m.spread.zero == 3, .resident = !moved}));
    }
    if (by_preferences_) {
      auto const estimator = in_.one_of(placed("algo.advantage.estimator", "advantage_estimator"),
                                        {"gae", "reinforce", "rloo", "reinforce_baseline", "group_norm", "dr_grpo"});
      out_.task = estimator == "gae" ? ppo : estimator == "group_norm" ? grpo : estimator == "rloo" ? rloo : other;
      read_answers();
    }
    take_learning_rate(in_, {"actor.adam.lr", "adam.lr", "actor_learning_rate", "learning_rate"}, out_);
    out_.details.packing = false;  // samples of a micro-batch are joined alone
    ignore_rest();
    out_.passed = in_.finish(out_.framework);
    require_suits(in_, out_);
    return std::move(out_);
  }

 private:
  /// The key of today, or the older one where the file has it.
  [[nodiscard]] std::string placed(std::string const& now, std::string const& before) const {
    return in_.has(before) && !in_.has(now) ? before : now;
  }

  [[nodiscard]] std::int64_t devices_of(std::string const& role) {
    auto const nodes = placed(role + ".num_nodes", role + "_num_nodes"),
               of_node = placed(role + ".num_gpus_per_node", role + "_num_gpus_per_node");
    return in_.number(nodes, 0, 1 << 16).value_or(1) * in_.number(of_node, 1, 1 << 10).value_or(8);
  }

  void read_states() {
    auto& m = out_.setting.model;
    auto const stage = placed("ds.zero_stage", "zero_stage");
    m.spread.zero = static_cast<int>(in_.number(stage, 0, 3).value_or(2));
    (void)in_.one_of(placed("ds.param_dtype", "param_dtype"), {"bf16", "fp16"});
    auto const sums = in_.one_of(placed("ds.grad_accum_dtype", "grad_accum_dtype"), {"bf16", "fp16", "fp32"});
    m.optimizer = adam_ = ballast::optimizer_named(sums == "fp32" ? "adam" : "adam-bf16-gradients");
    if (in_.flag(placed("ds.adam_offload", "adam_offload")) && m.spread.zero >= 1) m.moved = ballast::offload::gradients;
    auto const optimizer = std::string(by_preferences_ ? "actor.optim" : "optim");
    set_optimizer(in_.one_of(optimizer, {"adam", "muon"}), optimizer, out_);
    if (in_.number_or(placed("ds.zpg", "zpg"), 1) > 1)
      out_.notes.emplace_back("zpg is not modelled: the memory is too low, and exchanges are too long");
    read_attention();
    // float32 logits from forward to backward, and their gradient in another tensor; the model is given no labels, so that a fused loss of
    // Liger's never runs
    m.loss.how = ballast::head_loss::kind::sixteen_bits;
    in_.ignore({"ds.use_liger_kernel", "use_liger_kernel"});
    if (auto const rank = in_.number(placed("ds.lora.rank", "lora_rank"), 0, 1 << 16).value_or(0); rank > 0) {
      auto const targets = in_.list(placed("ds.lora.target_modules", "target_modules"));
      set_adapters(rank, targets.empty() ? std::vector<std::string>{"all-linear"} : targets,
                   in_.flag(placed("ds.load_in_4bit", "load_in_4bit")), out_);
      m.kernels.adapter_value = 4;
    } else if (in_.flag(placed("ds.load_in_4bit", "load_in_4bit"))) {
      in_.refuse(placed("ds.load_in_4bit", "load_in_4bit"), "is not modelled without adapters");
    }
    out_.notes.emplace_back("buckets of DeepSpeed are auto, and not counted: the memory is too low");
  }

  void read_attention() {
    auto const key = placed("ds.attn_implementation", "attn_implementation");
    // packing, which ring attention and dynamic batches need, always takes FlashAttention
    auto const packs = in_.flag(placed("ds.packing_samples", "packing_samples")) || out_.setting.model.spread.context > 1 ||
                       in_.flag(placed("train.dynamic_batch_enable", "use_dynamic_batch"));
    auto const older = in_.has("pretrain") || in_.has("zero_stage") || in_.has("micro_train_batch_size");
    auto const flash = in_.flag("flash_attn");
    if (older && !in_.has(key) && !flash && !packs)
      out_.notes.emplace_back(
          "attention is judged as FlashAttention, which versions before July 2025 take only with --flash_attn: there, the memory is too "
          "low");
    auto const name = take_attention(in_, key, "flash_attention_2");
    if (!packs || name.find("flash") != name.npos) set_attention(name, out_);
    if (name.ends_with("3")) out_.time.attention = ballast::attention_library::flash3;
  }

  void read_batches(bool pairs) {
    auto& by = out_.setting;
    auto length = in_.number(placed("data.max_len", "max_len"), 1, 1 << 30);
    if (!length && by_preferences_) {
      auto const prompt = in_.number("prompt_max_len", 1, 1 << 29);
      length = prompt.value_or(1024) + in_.number(placed("rollout.max_new_tokens", "generate_max_len"), 1, 1 << 29).value_or(1024);
      if (!prompt) length = 2048;
    }
    by.sequence = asked_.sequence.value_or(length.value_or(pairs ? 512 : 2048));
    auto const micro = in_.number(placed("train.micro_batch_size", "micro_train_batch_size"), 1, 1 << 16)
                           .value_or(by_preferences_ || program_ == "train_rm" ? 1 : 8);
    auto const global = in_.number(placed("train.batch_size", "train_batch_size"), 1, 1 << 24).value_or(128);
    auto const dynamic = in_.flag(placed("train.dynamic_batch_enable", "use_dynamic_batch"));
    auto const most = in_.number(placed("train.max_tokens_per_gpu", "train_max_tokens_per_gpu"), 1, 1 << 30).value_or(16192);
    if (dynamic && !asked_.micro_batch) {
      auto const ranks = by.ranks();
      if (global < ranks)
        throw bad_input(in_.file() + ": train.batch_size = " + std::to_string(global) + " is below the " + std::to_string(ranks) +
                        " data-parallel ranks");
      auto const sequences = global / ranks, longest = by.sequence, room = most * by.model.spread.context * by.model.spread.tensor;
      auto const together = (std::max)(room / longest, std::int64_t{1});  // a longer sample is a micro-batch by itself
      if (!asked_.sequence) {
        by.sequence = (std::max)(longest, (std::min)(room, sequences * longest));
        out_.details.sample = longest;
        out_.details.samples = global;
      }
      by.micro_batches = asked_.sequence ? sequences : (sequences + together - 1) / together;
      out_.notes.push_back("dynamic_batch: a micro-batch is judged as one sequence of all its " + std::to_string(by.sequence) +
                           " tokens, whose attention takes too long");
    } else {
      by.micro_batch = asked_.micro_batch.value_or(micro);
      set_global_batch(in_, by, global, "train_batch_size");
      if (pairs) {
        by.micro_batch *= 2;
        out_.notes.emplace_back("a sample has two answers, which are two sequences of a micro-batch");
      }
    }
    by.micro_batches = asked_.micro_batches.value_or(by.micro_batches);
  }

  /// What is drawn, and how far the model may go from the reference.
  void read_answers() {
    auto& d = out_.details;
    auto const longest = d.sample > 0 ? d.sample : out_.setting.sequence;
    auto const older = in_.number("prompt_max_len", 1, 1 << 29);
    auto const answer = in_.number(placed("rollout.max_new_tokens", "generate_max_len"), 1, 1 << 29);
    if (older && !answer && !in_.has("data.max_len") && !in_.has("max_len"))
      d.answer = longest - *older;
    else
      d.answer = answer.value_or(0);  // none: what a prompt leaves of the length
    if (d.answer <= 0 || d.answer >= longest) d.answer = 0;
    d.prompt = d.answer > 0 ? longest - d.answer : 0;
    d.answers = in_.number(placed("rollout.n_samples_per_prompt", "n_samples_per_prompt"), 1, 1 << 20).value_or(1);
    d.drawn = in_.number(placed("rollout.batch_size", "rollout_batch_size"), 1, 1 << 24).value_or(1024) * d.answers;
    d.penalty = decimal_word(in_, placed("algo.kl.init_coef", "init_kl_coef"), "0.01");
    d.penalises_rewards = !in_.flag(placed("algo.kl.use_loss", "use_kl_loss"));
  }

  void read_roles(std::int64_t gpus) {
    auto const& m = out_.setting.model;
    auto const all = in_.flag(placed("train.colocate_all", "colocate_all_models"));
    auto const with_reference = all || in_.flag(placed("train.colocate_actor_ref", "colocate_actor_ref"));
    auto const sleeps = in_.flag(placed("ds.enable_sleep", "deepspeed_enable_sleep"));
    auto const known = [&](std::string const& key) {
      auto const name = in_.word(key);
      auto const found = !name.empty() && asked_.find_model ? asked_.find_model(name) : std::nullopt;
      if (!name.empty() && !found) out_.notes.push_back(key + " " + name + " is judged as of the actor's shape");
      return found ? found->language : out_.model;
    };
    std::vector<std::string> apart;
    auto const penalty = in_.decimal_number(placed("algo.kl.init_coef", "init_kl_coef")).value_or(0.01);
    if (penalty > 0 && with_reference)
      out_.roles.push_back(forward_role(in_, "reference", out_.model,
                                        {.gpus = gpus,
                                         .tensor = m.spread.tensor,
                                         .sharded = m.spread.zero == 3,
                                         .resident = !in_.flag(placed("ref.offload", "ref_reward_offload"))}));
    if (penalty > 0 && !with_reference) apart.emplace_back("reference");
    auto const given = [&](std::string const& key) {  // the path of a program may have been taken for the program itself
      in_.ignore({key});
      return in_.has(key);
    };
    auto const remote = given(placed("reward.remote_url", "remote_rm_url")) || given(placed("train.agent_func_path", "agent_func_path"));
    auto const reward = placed("reward.model_name_or_path", "reward_pretrain");
    auto const has_reward = !in_.word(reward).empty() && !remote;
    if (has_reward && all)
      out_.roles.push_back(forward_role(in_, "reward", known(reward),
                                        {.gpus = gpus,
                                         .tensor = m.spread.tensor,
                                         .sharded = m.spread.zero == 3,
                                         .resident = !in_.flag(placed("reward.offload", "ref_reward_offload"))}));
    if (has_reward && !all) apart.emplace_back("reward");
    auto const estimator = in_.one_of(placed("algo.advantage.estimator", "advantage_estimator"),
                                      {"gae", "reinforce", "rloo", "reinforce_baseline", "group_norm", "dr_grpo"});
    auto const critic = placed("critic.model_name_or_path", "critic_pretrain");
    if (estimator == "gae" && all) {
      imported_setting own;
      own.framework = out_.framework;
      own.model = in_.word(critic).empty() && has_reward ? known(reward) : known(critic);
      own.model.outputs = 1;
      own.setting.model = m;
      own.setting.model.optimizer = adam_;
      set_optimizer(in_.one_of("critic.optim", {"adam", "muon"}), "critic.optim", own);
      own.setting.pipeline = out_.setting.pipeline;
      require_suits(in_, own);
      out_.roles.push_back({.role = "critic", .of = std::move(own), .resident = !sleeps});
    } else if (estimator == "gae") {
      apart.emplace_back("critic");
    }
    auto const engines = in_.number(placed("vllm.num_engines", "vllm_num_engines"), 0, 1 << 16).value_or(0);
    auto const tensor = degree_of(in_, placed("vllm.tensor_parallel_size", "vllm_tensor_parallel_size"));
    auto const frees = in_.flag(placed("vllm.enable_sleep", "vllm_enable_sleep"));
    auto const beside = all && !in_.flag(placed("train.async_enable", "async_train"));
    if (engines > 0 && beside) {
      out_.details.engine = tensor;
      out_.roles.push_back(forward_role(in_, "rollout", out_.model, {.gpus = engines * tensor, .tensor = tensor, .resident = !frees}));
      auto const share = in_.word(placed("vllm.gpu_memory_utilization", "vllm_gpu_memory_utilization"), "0.95");
      out_.notes.push_back("gpu_memory_utilization " + share + " of vLLM " +
                           (frees ? "is freed while the actor trains (vllm.enable_sleep)"
                                  : "stays with its cache while the actor trains: the memory is too low"));
    } else if (engines > 0) {
      apart.emplace_back("rollout");
    }
    for (auto const& role : apart) out_.notes.push_back("the " + role + " model has devices of its own, which are not judged");
    if (in_.decimal_number(placed("actor.entropy_coef", "entropy_loss_coef")))
      out_.notes.emplace_back("actor.entropy_coef: the entropy's own memory is not modelled: the memory is too low");
    if (in_.flag("train.enable_ema") || in_.flag("enable_ema"))
      out_.notes.emplace_back("enable_ema: its copy of the parameters is in host memory");
  }

  void ignore_rest() {
    in_.ignore({"data.*",
                "data.max_samples",
                "data.image_key",
                "data.chosen_key",
                "data.rejected_key",
                "eval.*",
                "ckpt.**",
                "logger.*",
                "algo.*",
                "algo.advantage.**",
                "algo.dynamic_filtering_*",
                "algo.kl.**",
                "rollout.**",
                "vllm.**",
                "reward.**",
                "critic.**",
                "ref.**",
                "adam.*",
                "muon.*",
                "actor.adam.*",
                "actor.muon.*",
                "actor.eps_clip*",
                "actor.aux_loss_coef",
                "actor.dual_clip",
                "actor.freeze_visual_encoder",
                "actor.gradient_checkpointing_reentrant",
                "actor.num_gpus_per_node",
                "actor.num_nodes",
                "actor.policy_loss_type",
                "actor.lr_scheduler",
                "actor.lr_warmup_ratio",
                "actor.min_lr_ratio",
                "actor.max_norm",
                "train.agent_func_path",
                "train.async_enable",
                "train.async_queue_size",
                "train.colocate_critic_reward",
                "train.ema_beta",
                "train.full_determinism_enable",
                "train.max_epochs",
                "train.num_episodes",
                "train.partial_rollout_enable",
                "train.seed",
                "ds.packing_samples",
                "ds.ring_attn_head_stride",
                "ds.lora.*",
                "ds.overlap_comm",
                "ds.use_universal_ckpt",
                "ds.deepcompile",
                "ds.value_head_prefix",
                "ds.enable_sleep",
                "ds.tensor_parallel_size",
                "ds.experts_implementation",
                "model.aux_loss_coef",
                "model.beta",
                "model.compute_fp32_loss_enable",
                "model.gradient_checkpointing_reentrant",
                "model.ipo_enable",
                "model.label_smoothing",
                "model.loss_type",
                "model.margin_loss_enable",
                "model.nll_loss_coef",
                "model.pretrain_mode_enable",
                "module",
                "runtime*",
                "address",
                "working_dir",
                "port",
                "packing_samples",
                "bf16",
                "flash_attn",
                "max_samples",
                "max_epochs",
                "save_*",
                "logging_steps",
                "eval_steps",
                "learning_rate",
                "actor_*",
                "critic_*",
                "ref_*",
                "reward_*",
                "vllm_*",
                "rollout_*",
                "micro_rollout_batch_size",
                "n_samples_per_prompt",
                "prompt_*",
                "input_*",
                "output_key",
                "apply_chat_template",
                "dataset*",
                "load_checkpoint",
                "use_wandb",
                "wandb_*",
                "lora_*",
                "target_modules",
                "normalize_reward",
                "use_tensorboard",
                "gamma",
                "lambd",
                "num_episodes",
                "label_key",
                "chosen_key",
                "rejected_key",
                "beta",
                "l2",
                "ckpt_path",
                "enable_prefix_caching",
                "generate_max_len",
                "top_p",
                "temperature",
                "eps_clip*",
                "enforce_eager",
                "optim",
                "lr_scheduler",
                "lr_warmup_ratio",
                "min_lr_ratio",
                "max_norm",
                "use_ms",
                "local_rank",
                "num_gpus",
                "num_nodes",
                "hostfile",
                "master_*",
                "include",
                "use_kl_loss",
                "kl_estimator",
                "dynamic_filtering*",
                "async_*",
                "aux_loss_coef",
                "ring_head_stride",
                "zpg"});
  }

  setting_table in_;
  setting_request const& asked_;
  imported_setting out_;
  std::string program_;
  bool by_preferences_ = false;
  ballast::optimizer adam_{};  // of all models that do not name another
};

/// The command of openrlhf.cli.train_sft or, by the other models on the devices, of train_dpo or train_ppo_ray.
class openrlhf_writer {
 public:
  explicit openrlhf_writer(imported_setting const& of)
      : by_(of.setting), roles_(of.roles), details_(of.details), task_(of.task), attention_(attention_word(of)) {
    auto const draws = draws_answers(of.task);
    program_ = draws ? "train_ppo_ray" : of.task == training_task::dpo ? "train_dpo" : "train_sft";
    model_ = draws ? "actor" : "model";
  }

  [[nodiscard]] ballast::exported_setting write() {
    auto const& spread = by_.model.spread;
    if (by_.model.attention != ballast::attention_kernel::fused && spread.context > 1)
      lack("attention with stored scores beside context parallelism");
    if (by_.model.kernels.offload_all) lack("activations in host memory");
    if (by_.model.kernels.instances > 1) lack("groups of ranks that shard states each for themselves");
    add(model_ + ".model_name_or_path", "NAME");
    auto const pairs = program_ == "train_dpo";
    if (pairs && by_.micro_batch % 2 != 0) lack("half a pair of answers in a micro-batch");
    auto const tokens = by_.sequence * by_.micro_batch;
    auto const in_tokens = program_ == "train_ppo_ray" && details_.sample > 0 && details_.sample < tokens;
    step_ = in_tokens ? details_.samples : pairs ? (std::max)(by_.global_batch() / 2, std::int64_t{1}) : by_.global_batch();
    add("data.max_len", in_tokens ? details_.sample : by_.sequence);
    if (in_tokens) add("train.dynamic_batch_enable");
    if (in_tokens) add("train.max_tokens_per_gpu", ballast::divide_up(tokens, spread.context * spread.tensor));
    if (!in_tokens) add("train.micro_batch_size", pairs ? (std::max)(by_.micro_batch / 2, std::int64_t{1}) : by_.micro_batch);
    add("train.batch_size", step_);
    if (!details_.learning_rate.empty()) add(program_ == "train_ppo_ray" ? "actor.adam.lr" : "adam.lr", details_.learning_rate);
    if (by_.model.attention == ballast::attention_kernel::fused) add("ds.packing_samples");
    if (!attention_.ends_with('2')) add("ds.attn_implementation", attention_);
    add("ds.zero_stage", spread.zero);
    if (spread.tensor > 1) add("ds.tensor_parallel_size", spread.tensor);
    if (spread.context > 1) add("ds.ring_attn_size", spread.context);
    if (by_.recompute.what == ballast::recompute_setting::kind::uniform) add(model_ + ".gradient_checkpointing_enable");
    add_states();
    if (program_ == "train_ppo_ray") add_actor();
    for (auto const& role : roles_) add_role(role);
    auto& text = out_.text;
    text = program_ == "train_ppo_ray" ? "python3 -m openrlhf.cli." : "deepspeed --num_gpus " + std::to_string(of_node_);
    if (program_ != "train_ppo_ray") text += (nodes_ > 1 ? " --num_nodes " + std::to_string(nodes_) : "") + " --module openrlhf.cli.";
    text += program_;
    for (auto const& line : lines_) text += " \\\n  --" + line;
    text += "\n";
    return std::move(out_);
  }

 private:
  void add(std::string const& flag, std::string const& value = {}) { lines_.push_back(flag + (value.empty() ? "" : " " + value)); }
  void add(std::string const& flag, std::int64_t value) { add(flag, std::to_string(value)); }
  void lack(std::string what) { out_.without.push_back(std::move(what)); }
  [[nodiscard]] imported_role const* role_of(std::string_view name) const {
    auto const at = std::find_if(roles_.begin(), roles_.end(), [&](auto const& role) { return role.role == name; });
    return at == roles_.end() ? nullptr : &*at;
  }

  void add_states() {
    auto const& m = by_.model;
    if (m.moved == ballast::offload::gradients && m.spread.zero > 0)
      add("ds.adam_offload");
    else if (m.moved != ballast::offload::none)
      lack("offload " + std::string(ballast::detail::offload_in_words(m.moved)));
    if (m.loss.how != ballast::head_loss::kind::sixteen_bits || m.loss.chunks > 1) lack("head loss " + to_string(m.loss));
    if (m.language.what == ballast::trained::low_rank) {
      add("ds.lora.rank", m.language.rank);
      if (m.language.matrices == ballast::adapted_matrices::queries_and_values) add("ds.lora.target_modules", "q_proj v_proj");
      if (m.language.quantised) add("ds.load_in_4bit");
    }
    imported_setting known;
    for (auto const* const name : {"adam-bf16-gradients", "adam"})
      for (auto const* const word : {"adam", "muon"}) {
        auto& optimizer = known.setting.model.optimizer = ballast::optimizer_named(name);
        set_optimizer(word, "", known);
        optimizer.rank = m.optimizer.rank;
        if (optimizer != m.optimizer) continue;
        if (optimizer.state.gradient == 4) add("ds.grad_accum_dtype", "fp32");
        if (optimizer.name == "muon") add(program_ == "train_ppo_ray" ? "actor.optim" : "optim", "muon");
        return;
      }
    lack("optimizer " + std::string(m.optimizer.name));
  }

  void add_actor() {
    add("train.colocate_all");
    add("actor.num_nodes", nodes_);
    add("actor.num_gpus_per_node", of_node_);
    auto answers = details_.answers > 0 ? details_.answers : std::int64_t{8};  // to a prompt
    while (details_.answers == 0 && step_ % answers != 0) answers /= 2;
    add("rollout.batch_size", (std::max)((details_.drawn > 0 ? details_.drawn : step_) / answers, std::int64_t{1}));
    add("rollout.n_samples_per_prompt", answers);
    auto const longest = details_.sample > 0 ? details_.sample : by_.sequence;
    if (details_.answer > 0 && details_.answer < longest) add("rollout.max_new_tokens", details_.answer);
    add("algo.advantage.estimator", task_ == training_task::ppo    ? "gae"
                                    : task_ == training_task::rloo ? "rloo"
                                    : answers > 1                  ? "group_norm"
                                                                   : "reinforce");
    if (!details_.penalty.empty())
      add("algo.kl.init_coef", details_.penalty);
    else if (role_of("reference") == nullptr)
      add("algo.kl.init_coef", 0);
    auto const penalises = details_.penalty.find_first_not_of("0.") != details_.penalty.npos;
    if (penalises && !details_.penalises_rewards) add("algo.kl.use_loss");
    if (role_of("reward") == nullptr) add("reward.remote_url", "NAME");
    if (role_of("rollout") != nullptr) return;
    auto const tensor = details_.engine > 0 && by_.gpus() % details_.engine == 0 ? details_.engine : 1;
    add("vllm.num_engines", by_.gpus() / tensor);  // an engine is needed
    add("vllm.tensor_parallel_size", tensor);
    add("vllm.enable_sleep");
  }

  void add_role(imported_role const& role) {
    auto const place = [&](std::string const& name) {
      add(name + ".num_nodes", nodes_);
      add(name + ".num_gpus_per_node", of_node_);
    };
    auto const of_actor = program_ == "train_ppo_ray";
    if (role.role == "reference") {
      if (of_actor) place("ref");
      if (!role.resident) add("ref.offload");
    } else if (role.role == "reward") {
      place("reward");
      add("reward.model_name_or_path", "NAME");
      if (!role.resident) add("reward.offload");
    } else if (role.role == "critic") {
      place("critic");
      add("critic.model_name_or_path", "NAME");
      if (!role.resident) add("ds.enable_sleep");
    } else if (role.role == "rollout") {
      auto const tensor = by_.gpus() % role.of.setting.model.spread.tensor == 0 ? role.of.setting.model.spread.tensor : 1;
      add("vllm.num_engines", by_.gpus() / tensor);
      add("vllm.tensor_parallel_size", tensor);
      if (!role.resident) add("vllm.enable_sleep");
    } else {
      lack("the " + role.role + " model");
    }
  }

  ballast::training_setting const& by_;
  std::vector<imported_role> const& roles_;
  training_details const& details_;
  training_task task_;
  std::int64_t step_ = 1;  ///< samples of an update
  std::int64_t of_node_ = greatest_node(by_.gpus()), nodes_ = by_.gpus() / of_node_;
  std::string attention_, program_, model_;
  std::vector<std::string> lines_;
  ballast::exported_setting out_;
};

[[nodiscard]] ballast::exported_setting openrlhf_script(imported_setting const& of) {
  require_valid(of.setting, of.model);
  return openrlhf_writer(of).write();
}

constexpr task_words openrlhf_tasks[]{{.task = training_task::finetuning},
                                      {.task = training_task::dpo},
                                      {.task = training_task::ppo, .counts_tokens = true},
                                      {.task = training_task::grpo, .counts_tokens = true},
                                      {.task = training_task::rloo, .counts_tokens = true}};

}  // namespace

constinit framework_format const openrlhf_format{
    .name = "OpenRLHF",
    .word = "openrlhf",
    .likeness =
        [](setting_source const& in) {
          if (!in.is("flags")) return 0;
          for (auto const& word : in.commands)
            if (word.find("openrlhf.cli.") != word.npos) return 100;
          for (auto const& entry : in.table.entries())
            if (entry.key == "module" && !entry.words.empty() && entry.words[0].starts_with("openrlhf.")) return 100;
          return in.table.has("ds.zero_stage") && in.table.has_section("train.") ? 90 : 0;
        },
    .read = [](setting_source source, setting_request const& asked) { return openrlhf_importer(std::move(source), asked).read(); },
    .write = openrlhf_script,
    .tasks = openrlhf_tasks};

}  // namespace ballast_cli
