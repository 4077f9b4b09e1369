// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/framework_setting.hpp"
#include "readers/setting_parts.hpp"
#include "readers/trainer_keys.hpp"
#include "readers/verl_yaml.hpp"

#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/optimizer.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// volcengine/verl: words of hydra behind `verl.trainer.main_ppo` or a trainer of its SFT, and YAML of the same keys.

namespace ballast_cli {

namespace {

class verl_importer {
 public:
  verl_importer(setting_source source, setting_request const& asked)
      : in_(without_references(source.is("flags") ? merged(source.overrides, source.table) : source.table)), asked_(asked) {
    std::string draws;
    auto trains = false;
    for (auto const& word : source.commands) {
      supervised_ = supervised_ || word.find("sft_trainer") != word.npos;
      older_ = older_ || word.find("fsdp_sft_trainer") != word.npos;
      for (auto const* const other : {"verl.trainer.main_generation", "verl.trainer.main_eval"})
        if (word.find(other) != word.npos) draws = other;
      trains = trains || word.find("main_ppo") != word.npos || word.find("main_dapo") != word.npos;
    }
    if (!draws.empty() && !trains && !supervised_)
      throw bad_input(in_.file() + ": " + draws + " makes no training step: it draws answers, or evaluates them");
    auto const name = source.table.has("config_name") ? source.table.word("config_name") : std::string();
    megatron_ = name.find("megatron") != name.npos;
    in_.ignore({"config_name", "config_path", "hydra.**", "defaults**", "nproc_per_node", "nnodes", "standalone", "node_rank", "master_*",
                "rdzv_*", "env.**", "ray*", "runtime_env*", "address", "working_dir", "no_wait", "model_engine"});
  }

  imported_setting read() {
    gpus_ = asked_.gpus.value_or(of_nodes());
    if (!supervised_) supervised_ = !in_.has_section("actor_rollout_ref.") && in_.has_section("data.");
    auto out = supervised_ ? read_supervised() : read_actor();
    out.task = task();
    take_learning_rate(in_, {supervised_ ? "optim.lr" : "actor_rollout_ref.actor.optim.lr"}, out);
    if (!supervised_) read_answers(out);
    ignore_rest();
    auto passed = in_.finish("verl");
    for (auto const& [from, to] : {std::pair{&passed.harmless, &out.passed.harmless}, std::pair{&passed.doubtful, &out.passed.doubtful},
                                   std::pair{&passed.unknown, &out.passed.unknown}})
      to->insert(to->end(), from->begin(), from->end());
    require_suits(in_, out);
    return out;
  }

 private:
  /// What is drawn, and how far the model may go from the reference.
  void read_answers(imported_setting& out) {
    auto& d = out.details;
    d.packing = false;
    d.prompt = in_.number("data.max_prompt_length", 1, 1 << 30).value_or(512);
    d.answer = in_.number("data.max_response_length", 1, 1 << 30).value_or(512);
    d.answers = in_.number("actor_rollout_ref.rollout.n", 1, 1 << 10).value_or(1);
    d.drawn = in_.number("data.train_batch_size", 1, 1 << 24).value_or(1024) * d.answers;
    if (in_.word("actor_rollout_ref.rollout.name", "vllm") != "hf")
      d.engine = degree_of(in_, "actor_rollout_ref.rollout.tensor_model_parallel_size");
    d.penalises_rewards = in_.flag("algorithm.use_kl_in_reward");
    d.penalty = "0";
    if (in_.flag("actor_rollout_ref.actor.use_kl_loss")) {
      d.penalty = decimal_word(in_, "actor_rollout_ref.actor.kl_loss_coef", "0.001");
      if (std::exchange(d.penalises_rewards, false))
        out.notes.emplace_back("use_kl_in_reward beside use_kl_loss: files written have the loss alone");
    } else if (d.penalises_rewards) {
      d.penalty = decimal_word(in_, "algorithm.kl_ctrl.kl_coef", "0.001");
    }
    if (asked_.sequence && d.prompt + d.answer != *asked_.sequence) d.prompt = d.answer = 0;
  }
  [[nodiscard]] training_task task() {
    if (supervised_) return training_task::finetuning;
    auto const how = estimator();
    return how == "gae"    ? training_task::ppo
           : how == "grpo" ? training_task::grpo
           : how == "rloo" ? training_task::rloo
                           : training_task::other;
  }
  [[nodiscard]] std::int64_t of_nodes() {
    auto const of_one = in_.number("trainer.n_gpus_per_node", 1, 1 << 16);
    if (!of_one) return gpus_of(in_, asked_);
    return *of_one * in_.number("trainer.nnodes", 1, 1 << 16).value_or(1);
  }

  /// What one model trains with. `base` is "actor_rollout_ref.actor.", `model` "actor_rollout_ref.model.".
  struct places {
    std::string base, model, fsdp;
  };

  /// Engines and estimators of advantages are lists that grow.
  [[nodiscard]] std::string strategy_of(std::string const& key, std::string const& otherwise) {
    return in_.word_near(key, otherwise, {"fsdp", "fsdp2", "megatron", "veomni", "torchtitan"});
  }
  [[nodiscard]] std::string estimator() {
    return in_.word_near("algorithm.adv_estimator", "gae",
                         {"gae", "grpo", "reinforce_plus_plus", "reinforce_plus_plus_baseline", "remax", "rloo", "opo", "grpo_passk", "gpg",
                          "rloo_vectorized", "grpo_vectorized", "optimal_token_baseline", "tir_optimal_token_baseline"});
  }
  [[nodiscard]] bool uses_megatron(std::string const& base) {
    auto const strategy = strategy_of(base + "strategy", "");
    return strategy == "megatron" || (strategy.empty() && (megatron_ || in_.has_section(base + "megatron.")));
  }

  [[nodiscard]] std::int64_t longest() {
    if (asked_.sequence) {
      in_.ignore({"data.max_prompt_length", "data.max_response_length"});
      return *asked_.sequence;
    }
    return in_.number("data.max_prompt_length", 1, 1 << 30).value_or(512) +
           in_.number("data.max_response_length", 1, 1 << 30).value_or(512);
  }

  /// A model that is trained: the actor or the critic.
  [[nodiscard]] imported_setting trained(places const& at, ballast::transformer const& model) {
    auto const sequence = longest();
    auto const most = (std::max)(in_.number_or(at.base + "ppo_max_token_len_per_gpu", 16384), std::int64_t{1});
    auto const dynamic = in_.flag(at.base + "use_dynamic_bsz");
    auto const mini = in_.number(at.base + "ppo_mini_batch_size", 1, 1 << 20)
                          .value_or(in_.number("actor_rollout_ref.actor.ppo_mini_batch_size", 1, 1 << 20).value_or(256));
    auto const step = mini * in_.number("actor_rollout_ref.rollout.n", 1, 1 << 10).value_or(1);
    token_batches of_tokens{.length = sequence, .most = most};
    auto const take_sequences = [&](std::int64_t ranks, std::int64_t context) {  // of a rank, cut off as verl does
      if (step < ranks)
        throw bad_input(in_.file() + ": ppo_mini_batch_size x rollout.n = " + std::to_string(step) + " sequences are fewer than the " +
                        std::to_string(ranks) + " data-parallel ranks");
      of_tokens.sequences = step / ranks;
      of_tokens.most = most * context;
      if (dynamic && !asked_.sequence && of_tokens.most < sequence && in_.word("trainer.use_legacy_worker_impl") != "disable")
        throw bad_input(in_.file() + ": " + at.base + "ppo_max_token_len_per_gpu = " + std::to_string(most) +
                        (context > 1 ? " on " + std::to_string(context) + " ranks of a sequence" : std::string()) +
                        " is below the longest sequence, " + std::to_string(sequence) + " tokens, which verl refuses");
    };
    auto const of_gpu = in_.number(at.base + "ppo_micro_batch_size_per_gpu", 1, 1 << 20),
               of_all = in_.number(at.base + "ppo_micro_batch_size", 1, 1 << 20);
    imported_setting out;
    if (uses_megatron(at.base)) {
      auto asked = asked_;
      asked.model = model;
      asked.gpus = gpus_;
      auto keys = megatron_keys_below(in_, {at.base + "optim.override_optimizer_config.", at.base + "megatron.override_transformer_config.",
                                            at.base + "megatron.", at.base + "megatron.override_ddp_config."});
      auto const chunks = keys.number("virtual_pipeline_model_parallel_size", 1, 1 << 16).value_or(1);
      if (keys.has("param_offload") || keys.has("optimizer_offload") || keys.has("grad_offload"))
        offload_note(keys.flag("param_offload") || keys.flag("optimizer_offload") || keys.flag("grad_offload"), out);
      keys.ignore({"use_mbridge", "vanilla_mbridge", "use_dist_checkpointing", "dist_checkpointing_*", "extra", "forward_only", "_target_",
                   "override_mcore_model_config", "use_remove_padding", "optimizer_cpu_offload", "param_offload", "grad_offload",
                   "optimizer_offload"});
      add_defaults(keys);
      auto const context = keys.number("context_parallel_size", 1, 1 << 16).value_or(1),
                 tensor = keys.number("tensor_model_parallel_size", 1, 1 << 16).value_or(1),
                 stages = keys.number("pipeline_model_parallel_size", 1, 1 << 16).value_or(1);
      auto const ranks = ranks_of(in_, gpus_, tensor * context * stages, "the degrees of " + at.base + "megatron");
      take_sequences(ranks, context);
      if (chunks > 1) of_tokens.group = stages;
      asked.sequence = multiple(dynamic && !asked_.sequence ? of_tokens.tokens() : sequence, 2 * context);
      asked.micro_batch = asked_.micro_batch.value_or(micro_of(at, dynamic, of_gpu, of_all, ranks));
      asked.micro_batches = 1;
      auto notes = std::move(out.notes);
      auto const overlap = keys.flag("overlap_moe_expert_parallel_comm");
      out = read_by_megatron(std::move(keys), asked, "verl");
      out.notes.insert(out.notes.begin(), notes.begin(), notes.end());
      if (in_.flag(at.base + "use_fused_kernels", in_.flag(at.model + "use_fused_kernels")) && !overlap)
        out.setting.model.loss.how = ballast::head_loss::kind::fused;
      take_adapters(at.model, true, out);
    } else {
      out.framework = "verl";
      out.model = model;
      auto& by = out.setting;
      auto& spread = by.model.spread;
      spread.context = degree_of(in_, at.base + "ulysses_sequence_parallel_size");
      if (in_.has(at.fsdp + "ulysses_sequence_parallel_size")) spread.context = degree_of(in_, at.fsdp + "ulysses_sequence_parallel_size");
      by.model.method = spread.context > 1 ? ballast::context_method::ulysses : by.model.method;
      spread.data = ranks_of(in_, gpus_, spread.context, at.base + "ulysses_sequence_parallel_size") * spread.context;
      auto const strategy = strategy_of(at.base + "strategy", strategy_of(at.fsdp + "strategy", "fsdp"));
      set_fsdp(out);
      read_sharding(at.fsdp, strategy, out);
      take_sequences(by.ranks(), spread.context);
      by.sequence = dynamic && !asked_.sequence ? of_tokens.tokens() : sequence;
      by.micro_batch = asked_.micro_batch.value_or(micro_of(at, dynamic, of_gpu, of_all, by.ranks()));
      if (!dynamic && !asked_.micro_batch && of_tokens.sequences % by.micro_batch != 0)
        throw bad_input(in_.file() + ": ppo_mini_batch_size x rollout.n = " + std::to_string(step) + " sequences on " +
                        std::to_string(by.ranks()) + " data-parallel ranks are " + std::to_string(of_tokens.sequences) +
                        " of each, no multiple of micro-batches of " + std::to_string(by.micro_batch) + ", which verl refuses");
      auto const padding_free = in_.flag(at.model + "use_remove_padding", true);
      if (!padding_free) out.notes.emplace_back("use_remove_padding is off: rows are judged as of the longest length");
      read_layers(at.model, strategy, out);
      read_loss(at, out);
      read_optimizer(at.base + "optim.", out);
      take_adapters(at.model, false, out);
    }
    auto& by = out.setting;
    if (dynamic && !asked_.sequence) {
      out.details.sample = sequence;
      out.details.samples = step;
    }
    if (dynamic) {
      by.micro_batch = asked_.micro_batch.value_or(1);
      out.notes.push_back(at.base + "use_dynamic_bsz: a micro-batch is judged as one sequence of all its " + std::to_string(by.sequence) +
                          " tokens, whose attention takes too long");
    }
    by.micro_batches = asked_.micro_batches.value_or(
        dynamic && !asked_.sequence ? of_tokens.number() : (of_tokens.sequences + by.micro_batch - 1) / by.micro_batch);
    return out;
  }

  /// How verl cuts the sequences of a rank into micro-batches of about as many tokens: seqlen_balancing.py.
  struct token_batches {
    std::int64_t sequences = 1, length = 1, most = 1;  ///< the longest length, and tokens of a micro-batch
    std::int64_t group = 1;                            ///< of which their number is a multiple, in a pipeline with several chunks

    [[nodiscard]] std::int64_t number() const { return multiple((std::min)(sequences, (sequences * length + most - 1) / most), group); }
    /// Tokens of the largest: all sequences if they are fewer, and more than `most` where whole sequences do not fill it.
    [[nodiscard]] std::int64_t tokens() const {
      if (sequences * length <= most) return sequences * length;
      return (std::max)(most, (sequences + number() - 1) / number() * length);
    }
  };

  [[nodiscard]] static std::int64_t multiple(std::int64_t value, std::int64_t of) { return (value + of - 1) / of * of; }
  void offload_note(bool moved, imported_setting& out) {
    if (moved)
      out.notes.emplace_back(
          "param_offload, grad_offload and optimizer_offload move states between the phases of a step: they are on the devices while the "
          "model trains");
  }
  [[nodiscard]] std::int64_t micro_of(places const& at, bool dynamic, std::optional<std::int64_t> of_gpu,
                                      std::optional<std::int64_t> of_all, std::int64_t ranks) {
    if (asked_.micro_batch) return *asked_.micro_batch;
    if (of_gpu) return *of_gpu;
    if (of_all && *of_all < ranks)
      throw bad_input(in_.file() + ": " + at.base + "ppo_micro_batch_size = " + std::to_string(*of_all) + " is below the " +
                      std::to_string(ranks) + " data-parallel ranks, which verl refuses");
    if (of_all) return *of_all / ranks;
    if (dynamic) return 1;
    throw bad_input(in_.file() + ": " + at.base + "ppo_micro_batch_size_per_gpu is missing; --micro-batch says it");
  }

  /// What verl tells Megatron-Core where the file does not. It has to know the number of chunks beside a layout, which has it too.
  static void add_defaults(setting_table& keys) {
    if (keys.has("pipeline_model_parallel_layout")) {
      setting_table rest(keys.file());
      for (auto const& entry : keys.entries())
        if (entry.key != "virtual_pipeline_model_parallel_size") rest.add(entry);
      keys = std::move(rest);
    }
    for (auto const* const key : {"sequence_parallel", "use_distributed_optimizer"}) add_word(keys, key, "true");
    if (!keys.flag("fp16")) add_word(keys, "bf16", "true");
    for (auto const* const key : {"hidden_dropout", "attention_dropout"}) add_word(keys, key, "0");
    for (auto const* const key : {"gradient_accumulation_fusion", "create_attention_mask_in_dataloader"}) add_word(keys, key, "false");
    add_word(keys, "attention_backend", "flash");
  }

  void read_sharding(std::string const& fsdp, std::string const& strategy, imported_setting& out) {
    auto& spread = out.setting.model.spread;
    auto const size = in_.number_or(fsdp + "fsdp_size", -1, -1);
    if (size == 0 || (size > 0 && size < spread.data && spread.data % size != 0))
      in_.refuse(fsdp + "fsdp_size", "does not divide the " + std::to_string(spread.data) + " devices");
    if (size > 0 && size < spread.data) {
      out.setting.model.kernels.instances = spread.data / size;
      out.notes.push_back(fsdp + "fsdp_size: exchanges are timed as among all ranks: the time is too long");
    }
    if (!in_.flag(fsdp + "reshard_after_forward", true) && spread.zero == 3) spread.zero = 2;
    if (in_.flag(fsdp + "offload_policy") && strategy != "fsdp") out.setting.model.moved = ballast::offload::parameters;
    auto const parameters = in_.flag(fsdp + "param_offload"), states = in_.flag(fsdp + "optimizer_offload");
    offload_note(parameters || states, out);
    std::vector<std::string_view> const formats{"fp32", "float32", "32", "bf16", "bfloat16", "fp16", "float16", "16"};
    auto const dtype = in_.one_of_or(fsdp + "model_dtype", "fp32", formats);
    if (dtype == "bf16" || dtype == "bfloat16") out.setting.model.optimizer = ballast::optimizer_named("adam-bf16");
    auto const own = in_.one_of_or(fsdp + "dtype", "bfloat16", formats);
    if (in_.one_of_or(fsdp + "mixed_precision.param_dtype", own, formats).ends_with("32")) out.setting.model.kernels.value = 4;
    if (strategy != "fsdp" && strategy != "fsdp2") out.notes.push_back("strategy " + printable(strategy) + " is judged as FSDP");
    in_.ignore({fsdp + "wrap_policy.min_num_params", fsdp + "forward_prefetch", fsdp + "use_orig_params", fsdp + "use_torch_compile",
                fsdp + "strategy", fsdp + "wrap_policy.transformer_layer_cls_to_wrap"});
  }

  /// Recomputation, and activations in host memory, as the section of a model under FSDP says.
  void read_layers(std::string const& model, std::string const& strategy, imported_setting& out) {
    auto& by = out.setting;
    set_attention(take_attention(in_, model + "override_config.attn_implementation", "flash_attention_2"), out);
    if (in_.flag(model + "enable_gradient_checkpointing", true)) by.recompute.what = ballast::recompute_setting::kind::uniform;
    if (in_.flag(model + "enable_activation_offload")) by.model.kernels.offload_all = true;
    in_.ignore({model + "tiled_mlp.num_shards"});
    if (!in_.flag(model + "tiled_mlp.enabled")) return;
    if (strategy == "fsdp") in_.refuse(model + "tiled_mlp.enabled", "is for strategy fsdp2");
    if (by.recompute.what == ballast::recompute_setting::kind::none)
      by.recompute = {.what = ballast::recompute_setting::kind::modules, .modules = {ballast::recompute_module::mlp}};
    else
      out.notes.push_back(model + "tiled_mlp: the feed-forward block of the layer at work is judged whole: the memory is too high");
  }

  void read_optimizer(std::string const& section, imported_setting& out) {
    auto const name = in_.word(section + "optimizer", "AdamW");
    in_.ignore({section + "optimizer_impl"});
    set_optimizer(name == "AdamW8bit" || name == "PagedAdamW8bit" || name == "Adam8bit" ? "adamw_8bit"
                  : name == "_AdamW"                                                    ? "AdamW"
                                                                                        : name,
                  section + "optimizer", out);
  }

  /// The adapters of a model whose keys begin with `model`.
  void take_adapters(std::string const& model, bool megatron, imported_setting& out) {
    auto const rank = in_.number_or(model + (megatron ? "lora.rank" : "lora_rank"), 0, 0);
    auto const targets = in_.list(model + (megatron ? "lora.target_modules" : "target_modules"));
    auto const loaded = !megatron && in_.has(model + "lora_adapter_path") && !in_.word(model + "lora_adapter_path").empty();
    if (rank == 0 && !loaded) return;
    if (rank == 0) out.notes.push_back(model + "lora_adapter_path: the rank of its adapters is not known here, and judged as 32");
    auto const every = megatron && (targets.empty() || targets.size() >= 4);
    set_adapters(rank > 0 ? rank : 32, targets.empty() || every ? std::vector<std::string>{"all-linear"} : targets, false, out);
  }

  /// Whether the actor without its adapters is the reference.
  [[nodiscard]] bool is_own_reference() {
    std::string const model = "actor_rollout_ref.model.";
    return in_.number_or(model + "lora_rank", 0, 0) > 0 || in_.number_or(model + "lora.rank", 0, 0) > 0 ||
           (in_.has(model + "lora_adapter_path") && !in_.word(model + "lora_adapter_path").empty());
  }

  void read_loss(places const& at, imported_setting& out) {
    auto& loss = out.setting.model.loss.how;
    auto const entropy = in_.flag(at.base + "calculate_entropy") || in_.decimal_number(at.base + "entropy_coeff").value_or(0) != 0;
    // the kernel of FlashAttention puts the gradient in place of the logits, unless the entropy needs them
    loss = entropy ? ballast::head_loss::kind::sixteen_bits : ballast::head_loss::kind::in_place;
    if (in_.flag(at.base + "use_fused_kernels", in_.flag(at.model + "use_fused_kernels"))) loss = ballast::head_loss::kind::fused;
    if (in_.flag("actor_rollout_ref.model.use_liger")) in_.ignore({"actor_rollout_ref.model.use_liger"});
    if (in_.flag(at.base + "entropy_checkpointing") || in_.flag(at.base + "entropy_from_logits_with_chunking"))
      out.notes.push_back(at.base + "entropy_*: the entropy's own memory is not modelled");
  }

  [[nodiscard]] imported_setting read_actor() {
    imported_setting named;
    take_model(in_, asked_, {"actor_rollout_ref.model.path"}, named);
    std::string const actor = "actor_rollout_ref.actor.", model = "actor_rollout_ref.model.";
    auto out = trained({actor, model, actor + "fsdp_config."}, named.model);
    out.reads_images = named.reads_images;
    read_rollout(out);
    read_reference(out);
    read_critic(out);
    read_reward(out);
    return out;
  }

  void read_rollout(imported_setting& out) {
    std::string const rollout = "actor_rollout_ref.rollout.";
    auto const frees = in_.flag(rollout + "free_cache_engine", true);
    auto const engine = in_.word_near(rollout + "name", "vllm", {"vllm", "sglang", "trtllm", "hf"});
    if (engine != "vllm") out.details.core["engine"] = engine;
    forward_model by{.gpus = gpus_, .tensor = degree_of(in_, rollout + "tensor_model_parallel_size"), .resident = !frees};
    by.stages = degree_of(in_, rollout + "pipeline_model_parallel_size");
    if (engine != "hf") out.roles.push_back(forward_role(in_, "rollout", out.model, by));
    if (auto const share = in_.word(rollout + "gpu_memory_utilization"); !share.empty())
      out.notes.push_back("gpu_memory_utilization " + share + " of " + engine +
                          (frees ? " is freed while the actor trains (free_cache_engine)"
                                 : " stays with its cache while the actor trains: the memory is too low"));
    in_.ignore({rollout + "**"});
  }

  void read_reference(imported_setting& out) {
    std::string const ref = "actor_rollout_ref.ref.";
    auto const kl = in_.flag("actor_rollout_ref.actor.use_kl_loss") || in_.flag("algorithm.use_kl_in_reward");
    auto const megatron = uses_megatron(ref) || uses_megatron("actor_rollout_ref.actor.");
    auto const offloads = in_.flag(ref + "fsdp_config.param_offload") || in_.flag(ref + "megatron.param_offload");
    // under FSDP verl always keeps it in host memory
    forward_model by{.gpus = gpus_, .sharded = !megatron, .resident = megatron && !offloads};
    if (megatron) {
      auto const& actor = out.setting;
      auto const degree = [&](std::string const& key, std::int64_t otherwise) {
        return in_.has(ref + "megatron." + key) ? degree_of(in_, ref + "megatron." + key) : otherwise;
      };
      by.tensor = degree("tensor_model_parallel_size", actor.model.spread.tensor);
      by.stages = degree("pipeline_model_parallel_size", static_cast<std::int64_t>(actor.pipeline.stages));
      by.expert = degree("expert_model_parallel_size", actor.model.expert);
      by.expert_tensor = degree("expert_tensor_parallel_size", actor.model.experts().expert_tensor);
    } else if (auto const size = in_.number_or("actor_rollout_ref.actor.fsdp_config.fsdp_size", -1, -1); size > 0 && size < gpus_) {
      by.replicas = gpus_ / size;  // the actor's own mesh
    }
    if (kl && !is_own_reference()) out.roles.push_back(forward_role(in_, "reference", out.model, by));
    in_.ignore({ref + "**"});
  }

  void read_critic(imported_setting& out) {
    auto const used = in_.has("critic.enable") ? in_.flag("critic.enable") : estimator() == "gae";
    if (!used) {
      in_.ignore({"critic.**"});
      return;
    }
    auto model = out.model;
    if (auto const name = in_.word("critic.model.path"); !name.empty() && asked_.find_model)
      if (auto const known = asked_.find_model(name)) model = known->language;
    std::string const critic = "critic.";
    auto const moved = in_.flag("critic.model.fsdp_config.param_offload") || in_.flag("critic.fsdp.param_offload") ||
                       in_.flag("critic.megatron.param_offload");
    for (auto const* const key : {"ppo_micro_batch_size_per_gpu", "ppo_max_token_len_per_gpu"})  // only its states are counted
      in_.ignore({critic + key});
    imported_setting own;
    auto& by = own.setting;
    own.framework = "verl";
    own.model = model;
    own.model.outputs = 1;
    if (uses_megatron(critic)) {
      by.model.spread.tensor = degree_of(in_, "critic.megatron.tensor_model_parallel_size");
      if (model.experts > 0) {
        by.model.expert = degree_of(in_, "critic.megatron.expert_model_parallel_size");
        by.model.spread.sequence_parallel = by.model.spread.tensor > 1;
        by.model.expert_tensor = in_.number("critic.megatron.expert_tensor_parallel_size", 1, 1 << 16).value_or(0);
      }
      by.pipeline.stages = static_cast<std::uint64_t>(degree_of(in_, "critic.megatron.pipeline_model_parallel_size"));
      by.model.spread.data =
          ranks_of(in_, gpus_, by.model.spread.tensor * static_cast<std::int64_t>(by.pipeline.stages), "the degrees of critic.megatron");
      by.model.framework = ballast::framework_named("megatron");
      by.model.spread.zero = 1;
    } else {
      by.model.spread.data = gpus_;
      set_fsdp(own);
      read_sharding("critic.model.fsdp_config.", strategy_of("critic.strategy", "fsdp"), own);
      read_optimizer("critic.optim.", own);
    }
    take_adapters("critic.model.", uses_megatron(critic), own);
    require_suits(in_, own);
    out.roles.push_back({.role = "critic", .of = std::move(own), .resident = !moved});
    in_.ignore({"critic.**"});
  }

  void read_reward(imported_setting& out) {
    auto const path = in_.word("reward_model.model.path");
    auto const used = in_.flag("reward_model.enable") && !path.empty();
    auto const moved = in_.flag("reward_model.model.fsdp_config.param_offload");
    auto const tensor = degree_of(in_, "reward_model.rollout.tensor_model_parallel_size");
    if (used) {
      auto const known = asked_.find_model ? asked_.find_model(path) : std::nullopt;
      if (known)
        out.roles.push_back(
            forward_role(in_, "reward", known->language, {.gpus = gpus_, .tensor = tensor, .sharded = tensor == 1, .resident = !moved}));
      else
        out.notes.push_back("reward_model.model.path " + path + " is none that is known here: the memory is too low");
    }
    in_.ignore({"reward_model.**", "custom_reward_function.**", "reward.**"});
  }

  [[nodiscard]] imported_setting read_supervised() {
    imported_setting out;
    out.framework = "verl";
    take_model(in_, asked_, {"model.partial_pretrain", "model.path"}, out);
    auto& by = out.setting;
    auto& spread = by.model.spread;
    auto const megatron = strategy_of("engine.strategy", "") == "megatron" || in_.word("engine") == "megatron" ||
                          in_.has("engine.tensor_model_parallel_size");
    auto const older = older_ || in_.has("model.partial_pretrain");  // fsdp_sft_trainer, which has no engines
    auto const dynamic = in_.flag("data.use_dynamic_bsz", !older);
    auto const most = in_.number_or("data.max_token_len_per_gpu", 8192);
    auto const length = asked_.sequence ? *asked_.sequence : in_.number("data.max_length", 1, 1 << 30).value_or(1024);
    auto const local = in_.number("data.micro_batch_size_per_gpu", 1, 1 << 20);
    auto const given = local ? local : in_.number("data.micro_batch_size", 1, 1 << 20);
    auto const global = in_.number("data.train_batch_size", 1, 1 << 24).value_or(256);
    auto const micro = asked_.micro_batch.value_or(dynamic ? 1 : given.value_or(4));
    token_batches of_tokens{.length = length};
    auto const take_sequences = [&](std::int64_t ranks, std::int64_t context) {
      if (older && global % ranks != 0)
        throw bad_input(in_.file() + ": data.train_batch_size = " + std::to_string(global) + " is no multiple of the " +
                        std::to_string(ranks) + " data-parallel ranks, which verl refuses");
      if (global < ranks)
        throw bad_input(in_.file() + ": data.train_batch_size = " + std::to_string(global) + " is below the " + std::to_string(ranks) +
                        " data-parallel ranks");
      of_tokens.sequences = global / ranks;
      of_tokens.most = (std::max)(most * context, length);
      if (!dynamic && !asked_.micro_batch && of_tokens.sequences % micro != 0)
        throw bad_input(in_.file() + ": data.train_batch_size = " + std::to_string(global) + " on " + std::to_string(ranks) +
                        " data-parallel ranks is " + std::to_string(of_tokens.sequences) +
                        " sequences of each, no multiple of micro-batches of " + std::to_string(micro));
    };
    if (megatron) {
      auto asked = asked_;
      asked.model = out.model;
      asked.gpus = gpus_;
      auto keys = megatron_keys_below(
          in_, {"optim.override_optimizer_config.", "engine.override_transformer_config.", "engine.", "engine.override_ddp_config."});
      keys.ignore({"param_offload", "grad_offload", "optimizer_offload", "use_mbridge", "vanilla_mbridge", "dist_checkpointing_*",
                   "use_dist_checkpointing", "strategy", "extra", "forward_only", "_target_", "dtype", "use_remove_padding"});
      add_defaults(keys);
      auto const context = keys.number("context_parallel_size", 1, 1 << 16).value_or(1);
      auto const tensor = keys.number("tensor_model_parallel_size", 1, 1 << 16).value_or(1),
                 stages = keys.number("pipeline_model_parallel_size", 1, 1 << 16).value_or(1);
      take_sequences(ranks_of(in_, gpus_, tensor * context * stages, "the degrees of engine"), context);
      asked.sequence = multiple(dynamic && !asked_.sequence ? of_tokens.tokens() : length, 2 * context);
      asked.micro_batch = micro;
      asked.micro_batches = 1;
      auto reads = out.reads_images;
      out = read_by_megatron(std::move(keys), asked, "verl");
      out.reads_images = reads;
      if (in_.flag("model.use_fused_kernels")) out.setting.model.loss.how = ballast::head_loss::kind::fused;
      take_adapters("model.", true, out);
    } else {
      auto const engine = degree_of(in_, "engine.ulysses_sequence_parallel_size"), old = degree_of(in_, "ulysses_sequence_parallel_size");
      spread.context = (std::max)(engine, old);
      if (spread.context > 1) by.model.method = ballast::context_method::ulysses;
      spread.data = ranks_of(in_, gpus_, spread.context, "ulysses_sequence_parallel_size") * spread.context;
      set_fsdp(out);
      auto const strategy = strategy_of("engine.strategy", strategy_of("model.strategy", older ? "fsdp2" : "fsdp"));
      read_sharding(in_.has_section("engine.") ? "engine." : "model.fsdp_config.", strategy, out);
      if (in_.flag("model.fsdp_config.cpu_offload") || in_.flag("model.fsdp_config.offload_params"))
        by.model.moved = ballast::offload::parameters;
      take_sequences(by.ranks(), spread.context);
      by.sequence = dynamic && !asked_.sequence ? of_tokens.tokens() : length;
      by.micro_batch = micro;
      read_layers("model.", strategy, out);
      by.model.loss.how = older ? ballast::head_loss::kind::returned : ballast::head_loss::kind::in_place;
      if (in_.flag("model.use_fused_kernels")) by.model.loss.how = ballast::head_loss::kind::fused;
      if (!older) read_optimizer("optim.", out);
      take_adapters("model.", false, out);
    }
    out.details.packing = false;
    if (dynamic && !asked_.sequence) {
      out.details.sample = length;
      out.details.samples = global;
      out.notes.push_back("data.use_dynamic_bsz: a micro-batch is judged as one sequence of all its " +
                          std::to_string(out.setting.sequence) + " tokens, whose attention takes too long");
    }
    out.setting.micro_batches =
        asked_.micro_batches.value_or(dynamic && !asked_.sequence ? of_tokens.number() : (of_tokens.sequences + micro - 1) / micro);
    return out;
  }

  void ignore_rest() {
    if (!in_.flag("actor_rollout_ref.model.mtp.enable")) in_.ignore({"actor_rollout_ref.model.mtp.**"});
    auto const ignore = [&](std::string const& section, std::initializer_list<char const*> keys) {
      for (auto const* const key : keys) in_.ignore({section + key});
    };
    ignore("data.", {"*", "apply_chat_template_kwargs**", "custom_cls.**", "datagen.**", "filter_overlong_prompts", "image_key",
                     "image_patch_size", "multiturn.**", "pad_mode", "response_dict_keys", "response_key", "return_*", "sampler.**",
                     "train_batch_size", "truncation", "use_shm", "video_key"});
    ignore("algorithm.", {"*", "rollout_correction.**", "use_kl_in_reward", "use_pf_ppo", "pf_ppo.**"});
    ignore("trainer.", {"*", "balance_batch", "critic_warmup", "device", "esi_redundant_time", "max_actor_ckpt_to_keep",
                        "max_critic_ckpt_to_keep", "rollout_data_dir", "use_legacy_worker_impl"});
    ignore("actor_rollout_ref.model.",
           {"*", "custom_chat_template", "exclude_modules", "external_lib", "fused_kernel_options.*", "fused_kernel_options.impl_backend",
            "lora_adapter_path", "lora_alpha", "target_modules", "use_fused_kernels", "use_shm"});
    ignore("actor_rollout_ref.actor.", {"optim.*",       "optim.optimizer",  "optim.optimizer_impl",
                                        "checkpoint.**", "profiler.**",      "policy_loss.*",
                                        "clip_*",        "loss_*",           "entropy_*",
                                        "kl_*",          "grad_clip",        "use_torch_compile",
                                        "ppo_epochs",    "shuffle",          "checkpoint",
                                        "load_weight",   "data_loader_seed", "tis_*",
                                        "calculate_*",   "router_replay.**", "freeze_vision_tower"});
    ignore("model.", {"*", "exclude_modules", "external_lib", "lora_alpha", "strategy", "target_modules", "use_remove_padding", "use_shm"});
    ignore("", {"actor_rollout_ref.hybrid_engine", "actor_rollout_ref.nccl_timeout", "global_profiler.**", "transfer_queue.**", "optim.*",
                "checkpoint.**", "use_remove_padding", "engine.*", "engine", "rollout.**", "async_training.**", "profiler.**",
                "ray_kwargs.**", "critic.**", "actor_rollout_ref.rollout"});
  }

  setting_table in_;
  setting_request const& asked_;
  bool supervised_ = false, older_ = false, megatron_ = false;
  std::int64_t gpus_ = 1;
};

constexpr std::string_view verl_keys[]{"actor_rollout_ref."};

constexpr task_words verl_tasks[]{{.task = training_task::finetuning, .counts_tokens = true},
                                  {.task = training_task::ppo, .counts_tokens = true},
                                  {.task = training_task::grpo, .counts_tokens = true},
                                  {.task = training_task::rloo, .counts_tokens = true}};

}  // namespace

constinit framework_format const verl_format{
    .name = "verl",
    .word = "verl",
    .likeness =
        [](setting_source const& in) {
          for (auto const& word : in.commands)
            if (word.find("verl.trainer") != word.npos || word.find("main_ppo") != word.npos) return 100;
          if (in.is("flags")) return in.overrides.has_section("actor_rollout_ref.") ? 90 : 0;
          if (in.is("yaml") && in.table.has_section("trainer.") && in.table.has("data.micro_batch_size_per_gpu"))
            return in.table.has("model.partial_pretrain") || in.table.has_section("engine.") ? 90 : 0;
          return in.has_any(verl_keys) ? 90 : 0;
        },
    .read = [](setting_source source, setting_request const& asked) { return verl_importer(std::move(source), asked).read(); },
    .write = verl_yaml,
    .tasks = verl_tasks};

}  // namespace ballast_cli
