// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/framework_setting.hpp"
#include "readers/nemo_rl_writer.hpp"
#include "readers/setting_documents.hpp"
#include "readers/setting_parts.hpp"

#include <ballast/core/math.hpp>
#include <ballast/cost/layer_set.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/optimizer.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// NVIDIA-NeMo/RL: YAML with `policy`, over the file that its `defaults` names.

namespace ballast_cli {

namespace {

class nemo_rl_importer {
 public:
  nemo_rl_importer(setting_source source, setting_request const& asked)
      : in_(source.is("flags") ? merged(source.overrides, source.table) : std::move(source.table)), asked_(asked) {
    std::string named = source.is("flags") && in_.has("config") ? in_.word("config") : std::string();
    std::string folder;
    for (auto depth = 0; depth < 8; ++depth) {
      auto const defaults = in_.has("defaults") ? in_.list("defaults") : std::vector<std::string>{};
      if (named.empty() && !defaults.empty()) named = folder + defaults.front();
      if (named.empty()) break;
      auto const text = asked.find_file ? asked.find_file(named) : std::nullopt;
      if (!text) {
        out_.unread.push_back("defaults: " + named);
        break;
      }
      out_.notes.push_back("read over its defaults, " + named);
      auto const lower = read_yaml_setting(*text, named);
      setting_table upper(in_.file());
      for (auto const& entry : in_.entries())
        if (entry.key != "defaults") upper.add(entry);
      in_ = merged(upper, lower);
      folder = named.substr(0, named.rfind('/') + 1);
      named.clear();
    }
    in_ = without_references(in_);
    in_.ignore({"defaults", "config"});
  }

  imported_setting read() {
    take_model(in_, asked_, {"policy.model_name"}, out_);
    read_overrides();
    auto const colocated = in_.flag("policy.generation.colocated.enabled", true);
    gpus_ = devices();
    if (!colocated) {
      auto const of_node = in_.number("policy.generation.colocated.resources.gpus_per_node", 1, 1 << 10),
                 nodes = in_.number("policy.generation.colocated.resources.num_nodes", 1, 1 << 16);
      auto const here = in_.number("cluster.gpus_per_node", 1, 1 << 10).value_or(8);
      if (!asked_.gpus) gpus_ -= nodes ? *nodes * of_node.value_or(here) : of_node.value_or(0);
      if (gpus_ < 1) throw bad_input(in_.file() + ": policy.generation.colocated.resources leaves no devices that train");
      out_.notes.emplace_back("generation has devices of its own, which are not judged");
    }
    auto const images = out_.reads_images;
    auto notes = std::move(out_.notes);
    auto unread = std::move(out_.unread);
    auto const megatron = in_.flag("policy.megatron_cfg.enabled");
    auto doubtful = std::move(out_.passed.doubtful);
    out_ = megatron ? by_megatron("policy.", out_.model) : by_dtensor("policy.", out_.model);
    out_.passed.doubtful.insert(out_.passed.doubtful.end(), doubtful.begin(), doubtful.end());
    out_.reads_images = images;
    using enum training_task;
    for (auto const& [section, task] :
         {std::pair{"sft.", finetuning}, {"dpo.", dpo}, {"grpo.", grpo}, {"rm.", reward}, {"distillation.", distillation}, {"ppo.", ppo}})
      if (in_.has_section(section)) out_.task = task;
    if (in_.flag("policy.reward_model_cfg.enabled")) out_.model.outputs = 1;
    out_.notes.insert(out_.notes.begin(), notes.begin(), notes.end());
    out_.unread = std::move(unread);
    read_batches();
    out_.details.packing = false;  // a step counts samples, whatever a micro-batch joins
    take_learning_rate(in_, {megatron ? "policy.megatron_cfg.optimizer.lr" : "policy.optimizer.kwargs.lr"}, out_);
    if (draws_answers(out_.task)) read_answers(out_.task == training_task::ppo ? "ppo." : "grpo.");
    if (megatron) note_logits();
    out_.notes.insert(out_.notes.end(), rounding_.begin(), rounding_.end());
    read_roles(colocated);
    ignore_rest();
    auto passed = in_.finish("NeMo RL");
    for (auto const& [from, to] : {std::pair{&passed.harmless, &out_.passed.harmless}, std::pair{&passed.doubtful, &out_.passed.doubtful},
                                   std::pair{&passed.unknown, &out_.passed.unknown}})
      to->insert(to->end(), from->begin(), from->end());
    require_suits(in_, out_);
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::int64_t devices() {
    auto const of_node = in_.number("cluster.gpus_per_node", 1, 1 << 10), nodes = in_.number("cluster.num_nodes", 1, 1 << 16);
    if (asked_.gpus || !of_node) return gpus_of(in_, asked_);
    return *of_node * nodes.value_or(1);
  }
  [[nodiscard]] std::int64_t length_of(std::string const& base) {
    auto const given = in_.number(base + "max_total_sequence_length", 1, 1 << 30);
    if (asked_.sequence) return *asked_.sequence;
    if (!given) throw bad_input(in_.file() + ": " + base + "max_total_sequence_length is missing; --seq-length says it too");
    auto const multiple = in_.number_or(base + "make_sequence_length_divisible_by", 1);
    return rounded(*given, multiple, base + "max_total_sequence_length", "make_sequence_length_divisible_by");
  }
  /// A length up to a multiple, with a note where that changes it.
  [[nodiscard]] std::int64_t rounded(std::int64_t length, std::int64_t multiple, std::string const& key, std::string const& why) {
    auto const up = ballast::divide_up(length, multiple) * multiple;
    if (up != length)
      rounding_.push_back(key + " " + std::to_string(length) + " is padded to " + std::to_string(up) + ", a multiple of " + why);
    return up;
  }
  void note(std::string const& what) { out_.notes.push_back(what); }

  /// Numbers of the model's configuration that the file replaces: that of the layers is applied, others of the shape are doubtful.
  void read_overrides() {
    for (auto const* const key : {"policy.hf_config_overrides.num_hidden_layers", "policy.megatron_cfg.model_overrides.num_layers"})
      if (auto const layers = in_.number(key, 1, ballast::layer_set::most)) {
        out_.model.layers = *layers;
        note(std::string(key) + ": the model is cut to " + std::to_string(*layers) + " layers");
      }
    std::string const part = "policy.megatron_cfg.model_overrides.";
    for (auto const& entry : in_.entries())
      if (entry.key.starts_with(part) && entry.key != part + "num_layers" && is_shape(entry.key.substr(part.size())))
        out_.passed.doubtful.push_back(printable(entry.key));
    in_.ignore({"policy.hf_config_overrides", "policy.hf_config_overrides.rope_*", "policy.hf_config_overrides.max_position_embeddings",
                "policy.hf_config_overrides.num_labels", "policy.hf_config_overrides.use_cache"});
  }
  /// Whether a field of a model's configuration, or one in a part of it, decides its shape.
  [[nodiscard]] static bool is_shape(std::string_view field) {
    for (auto const* const name :
         {"num_layers", "hidden_size", "ffn_hidden_size", "num_attention_heads", "num_query_groups", "kv_channels", "vocab_size",
          "num_moe_experts", "moe_ffn_hidden_size", "moe_router_topk", "moe_shared_expert_intermediate_size", "moe_layer_freq"})
      if (field == name) return true;
    return field.find('.') != field.npos;
  }
  [[nodiscard]] std::string precision_of(std::string const& base) {
    return in_.one_of(base + "precision", {"bfloat16", "float16", "float32"});
  }
  [[nodiscard]] bool packs(std::string const& base) {
    auto const packed = in_.flag(base + "sequence_packing.enabled"), dynamic = in_.flag(base + "dynamic_batching.enabled");
    return packed || dynamic;
  }
  [[nodiscard]] std::int64_t micro_of(std::string const& base) {
    return asked_.micro_batch.value_or(in_.number(base + "train_micro_batch_size", 1, 1 << 16).value_or(1));
  }

  [[nodiscard]] imported_setting by_megatron(std::string const& base, ballast::transformer const& model) {
    auto const part = base + "megatron_cfg.";
    auto const recomputes = in_.flag(part + "activation_checkpointing");
    auto const floats = in_.flag(part + "distributed_data_parallel_config.grad_reduce_in_fp32", true);
    in_.ignore({part + "checkpoint.**", part + "env_vars.**", part + "scheduler.**", part + "fp8_cfg.*", part + "peft.*",
                part + "freeze_config.*"});
    for (auto const* const key :
         {"fp8_cfg.fp8", "fp8_cfg.fp8_param", "fp8_cfg.fp8_recipe", "peft.a2a_experimental", "peft.alpha", "peft.dim", "peft.dropout",
          "peft.dropout_position", "peft.exclude_modules", "peft.lora_A_init_method", "peft.lora_B_init_method", "peft.target_modules"})
      in_.ignore({part + key});
    auto const adapters = in_.flag(part + "peft.enabled") ? in_.number_or(part + "peft.dim", 8) : 0;
    auto const fp8 = in_.flag(part + "fp8_cfg.enabled");
    auto const fsdp = in_.flag(part + "distributed_data_parallel_config.use_custom_fsdp");
    auto const fused = in_.flag(part + "use_fused_linear_logprobs");
    auto const of_chunk = in_.number_or(part + "fused_linear_logprobs_chunk_size", 256);
    auto const precision = precision_of(base);
    auto const overrides = part + "model_overrides.";
    auto keys = megatron_keys_below(in_, {overrides, part + "distributed_data_parallel_config.", part + "optimizer.", part});
    for (auto const* const key : {"use_distributed_optimizer", "bf16", "moe_grouped_gemm"}) add_word(keys, key, "true");
    for (auto const* const key : {"hidden_dropout", "attention_dropout"}) add_word(keys, key, "0");
    setting_table final(keys.file());
    for (auto const& entry : keys.entries()) {
      auto const granular = entry.key == "recompute_granularity" || entry.key == "recompute_modules" || entry.key == "recompute_method" ||
                            entry.key == "recompute_num_layers";
      if (granular && !recomputes) continue;
      if (entry.key == "bf16" || entry.key == "fp16" || is_shape(entry.key)) continue;
      final.add(entry);
    }
    if (precision != "float32") add_word(final, precision == "float16" ? "fp16" : "bf16", "true");
    if (in_.flag(base + "sequence_packing.enabled")) add_word(final, "no_create_attention_mask_in_dataloader", "true");
    if (model.experts == 0) final.ignore({"moe_*"});
    if (recomputes) {
      add_word(final, "recompute_granularity", "full");
      auto const full = final.word("recompute_granularity") == "full";
      if (full) {
        add_word(final, "recompute_method", "uniform");
        add_word(final, "recompute_num_layers", "1");
      }
    }
    if (!floats) add_word(final, "grad_reduce_in_bf16", "true");
    if (fp8) add_word(final, "fp8_format", "hybrid");
    final.ignore({"enabled",
                  "activation_checkpointing",
                  "empty_unused_memory_level",
                  "converter_type",
                  "pipeline_dtype",
                  "params_dtype",
                  "freeze_moe_router",
                  "force_*",
                  "defer_fp32_logits",
                  "bias_activation_fusion",
                  "train_iters",
                  "grad_reduce_in_fp32",
                  "average_in_collective",
                  "use_custom_fsdp",
                  "use_linear_ce_fusion_loss",
                  "linear_ce_fusion_*",
                  "use_fused_linear_logprobs",
                  "fused_linear_logprobs_*",
                  "data_parallel_sharding_strategy",
                  "checkpoint",
                  "env_vars",
                  "mtp_detach_heads",
                  "track_moe_metrics",
                  "use_fused_weighted_squared_relu",
                  "use_gloo_process_groups",
                  "moe_per_layer_logging"});
    auto asked = asked_;
    asked.model = model;
    asked.gpus = gpus_;
    auto const context = final.number("context_parallel_size", 1, 1 << 16).value_or(1);
    asked.sequence = for_context(length_of(base), context, base + "max_total_sequence_length");
    asked.micro_batch = micro_of(base);
    asked.micro_batches = 1;
    auto out = read_by_megatron(std::move(final), asked, "NeMo RL");
    auto& m = out.setting.model;
    if (adapters > 0) m.language = {.what = ballast::trained::low_rank, .rank = adapters};
    if (fsdp) out.notes.emplace_back("use_custom_fsdp is passed on to nothing by NeMo RL, and changes nothing");
    if (fused) {
      if (context > 1) in_.refuse(part + "use_fused_linear_logprobs", "does not go with context_parallel_size");
      m.loss = {.how = ballast::head_loss::kind::chunked, .chunks = ballast::divide_up(out.setting.sequence, of_chunk)};
      out.notes.emplace_back("use_fused_linear_logprobs: the head's gradient in float32 is not counted, so the memory is too low");
    }
    return out;
  }

  /// A length up to what context parallelism can share.
  [[nodiscard]] std::int64_t for_context(std::int64_t length, std::int64_t context, std::string const& key) {
    return context == 1 ? length : rounded(length, 2 * context, key, "twice context_parallel_size");
  }

  [[nodiscard]] imported_setting by_dtensor(std::string const& base, ballast::transformer const& model) {
    auto const part = base + "dtensor_cfg.";
    imported_setting out;
    out.framework = "NeMo RL";
    out.model = model;
    auto& by = out.setting;
    auto& spread = by.model.spread;
    spread.tensor = degree_of(in_, part + "tensor_parallel_size");
    spread.context = degree_of(in_, part + "context_parallel_size");
    spread.sequence_parallel = spread.tensor > 1 && in_.flag(part + "sequence_parallel");
    spread.data = ranks_of(in_, gpus_, spread.tensor * spread.context, "tensor_parallel_size x context_parallel_size") * spread.context;
    set_fsdp(out);
    auto const experts = degree_of(in_, part + "expert_parallel_size");
    if (model.experts > 0) {
      by.model.expert = experts;
      by.model.expert_tensor = 1;
    } else if (experts > 1) {
      out.notes.emplace_back("expert_parallel_size changes nothing: the model has no experts");
    }
    if (auto const replicas = degree_of(in_, part + "dp_replicate_size"); replicas > 1) {
      if (spread.data % replicas != 0) in_.refuse(part + "dp_replicate_size", "does not divide the data-parallel ranks");
      by.model.kernels.instances = replicas;
    }
    if (in_.flag(part + "cpu_offload")) by.model.moved = ballast::offload::parameters;
    if (in_.flag(part + "activation_checkpointing")) by.recompute.what = ballast::recompute_setting::kind::uniform;
    if (in_.flag(part + "lora_cfg.enabled")) {
      by.model.language = {.what = ballast::trained::low_rank, .rank = in_.number(part + "lora_cfg.dim", 1, 1 << 16).value_or(8)};
      by.model.kernels.adapter_value = 4;
      if (!in_.list(part + "lora_cfg.target_modules").empty() && !in_.flag(part + "lora_cfg.match_all_linear", true))
        out.notes.emplace_back("lora_cfg.target_modules are judged as all linear layers: the memory is too high");
    }
    if (spread.tensor > 1) by.model.loss.how = ballast::head_loss::kind::parallel;
    set_torch_optimizer(in_, base + "optimizer.name", base + "optimizer.kwargs.", out);
    if (precision_of(base) == "float32") {
      by.model.kernels.value = 4;
      out.untimed = "the rates of kernels are those of 16 and 8 bits, and policy.precision is float32";
    }
    if (in_.word(part + "automodel_kwargs.attn_implementation") == "eager") by.model.attention = ballast::attention_kernel::stored_scores;
    by.sequence = length_of(base);
    by.micro_batch = micro_of(base);
    in_.ignore({part + "*", part + "_v2", part + "env_vars.**", part + "lora_cfg.alpha", part + "lora_cfg.dim", part + "sequence_parallel",
                part + "lora_cfg.dropout", part + "lora_cfg.dropout_position", part + "lora_cfg.exclude_modules",
                part + "lora_cfg.lora_A_init", part + "lora_cfg.match_all_linear", part + "lora_cfg.target_modules",
                part + "lora_cfg.use_triton", part + "automodel_kwargs.backend.**", part + "automodel_kwargs.force_hf",
                part + "moe_parallelizer.ignore_router_for_ac", part + "clear_cache_every_n_steps",
                part + "defer_fsdp_grad_sync"});  // nothing in NeMo RL acts on it
    return out;
  }

  void read_batches() {
    auto& by = out_.setting;
    auto const pairs = in_.has_section("dpo.") || in_.has_section("rm.");
    auto const global = in_.number("policy.train_global_batch_size", 1, 1 << 24);
    if (asked_.micro_batches) {
      by.micro_batches = *asked_.micro_batches;
    } else if (global) {
      auto const of_all = by.micro_batch * by.ranks();
      by.micro_batches = (*global + of_all - 1) / of_all;
    }
    if (pairs) {
      by.micro_batch *= 2;
      out_.notes.emplace_back("a sample has two answers, which are two sequences of a micro-batch");
    }
    if (!packs("policy.")) return;
    auto const key =
        in_.flag("policy.sequence_packing.enabled") ? "policy.sequence_packing.train_mb_tokens" : "policy.dynamic_batching.train_mb_tokens";
    auto const tokens = in_.has(key) && in_.word(key).find('$') == std::string::npos ? in_.number(key, 1, 1 << 30) : std::nullopt;
    if (!tokens || asked_.sequence || asked_.micro_batch) return;
    if (*tokens > by.sequence) {
      out_.details.sample = by.sequence;
      out_.details.samples = by.global_batch();
    }
    auto const all = by.sequence * by.micro_batch * by.micro_batches;
    by.sequence = for_context(*tokens, by.model.spread.context, key);
    by.micro_batch = 1;
    by.micro_batches = (std::max)((all + by.sequence - 1) / by.sequence, std::int64_t{1});
    out_.notes.push_back(std::string(key) + ": a micro-batch is judged as one sequence of all its " + std::to_string(by.sequence) +
                         " tokens, whose attention takes too long");
  }

  /// What is drawn, and how far the policy may go from the reference.
  void read_answers(std::string const& section) {
    auto& d = out_.details;
    auto const longest = d.sample > 0 ? d.sample : out_.setting.sequence;
    auto const generation = std::string("policy.generation.max_new_tokens");
    auto const answer = in_.word_or_none(generation).find('$') == std::string::npos ? in_.number(generation, 1, 1 << 30) : std::nullopt;
    if (answer && *answer < longest) {  // else a prompt takes what it needs
      d.answer = *answer;
      d.prompt = longest - *answer;
    }
    d.answers = in_.number(section + "num_generations_per_prompt", 1, 1 << 20).value_or(0);
    d.drawn = in_.number(section + "num_prompts_per_step", 1, 1 << 24).value_or(0) * d.answers;
    d.penalty = decimal_word(in_, "loss_fn.reference_policy_kl_penalty", "0");
    d.penalises_rewards = in_.flag("loss_fn.use_kl_in_reward");
  }

  /// Log-probabilities keep more than Megatron-LM's loss, unless they are computed in chunks.
  void note_logits() {
    auto const& by = out_.setting;
    auto const deferred = in_.flag("policy.megatron_cfg.defer_fp32_logits");
    auto const chunks = in_.number("policy.logprob_chunk_size", 0).value_or(0) > 0;
    if (by.model.loss.how != ballast::head_loss::kind::plain || (deferred && chunks)) return;
    auto const logits =
        by.sequence * by.micro_batch / by.model.spread.context * ballast::divide_up(out_.model.vocabulary, by.model.spread.tensor);
    note("log-probabilities have 6 bytes for each logit beside those of Megatron-LM's loss: the memory of the last stage is up to " +
         std::to_string(6 * logits / 1'000'000) + " MB too low");
  }

  void read_roles(bool colocated) {
    auto const penalty = in_.decimal_number("loss_fn.reference_policy_kl_penalty").value_or(0);
    auto const dpo = in_.has_section("dpo.");
    auto const& m = out_.setting.model;
    auto const stages = static_cast<std::int64_t>(out_.setting.pipeline.stages);
    // its parameters are in host memory, and take the place of the trained ones while it runs
    if ((penalty > 0 && in_.has_section("grpo.")) || dpo) {
      auto reference =
          forward_role(in_, "reference", out_.model,
                       {.gpus = gpus_, .tensor = m.spread.tensor, .stages = stages, .sharded = m.spread.zero == 3, .resident = false});
      auto& of = reference.of.setting;
      of.model.spread.sequence_parallel = m.spread.sequence_parallel;
      of.model.expert = m.expert;
      of.model.expert_tensor = m.expert_tensor;
      of.boundaries = out_.setting.chunks() == 1 ? out_.setting.boundaries : std::vector<std::uint32_t>{};
      require_suits(in_, reference.of);
      out_.roles.push_back(std::move(reference));
    }
    auto const backend = in_.word_near("policy.generation.backend", "", {"vllm", "sglang", "megatron", "trtllm", "dynamo"});
    if (!backend.empty() && backend != "vllm") out_.details.core["engine"] = backend;
    if (!backend.empty() && colocated) {
      auto const part = "policy.generation." + (backend == "sglang" ? std::string("sglang_cfg.") : std::string("vllm_cfg."));
      auto const tensor = degree_of(in_, part + "tensor_parallel_size"), cut = degree_of(in_, part + "pipeline_parallel_size");
      out_.details.engine = tensor;
      if (backend == "vllm")
        out_.roles.push_back(forward_role(in_, "rollout", out_.model, {.gpus = gpus_, .tensor = tensor, .stages = cut, .resident = false}));
      if (auto const share = in_.word(part + "gpu_memory_utilization"); !share.empty())
        out_.notes.push_back("gpu_memory_utilization " + share + " of " + backend + " is freed while the policy trains");
    }
    if (auto const teacher = in_.word("teacher.model_name"); !teacher.empty()) {
      auto const known = asked_.find_model ? asked_.find_model(teacher) : std::nullopt;
      if (!known)
        out_.notes.push_back("teacher.model_name " + teacher + " is none that is known here: the memory is too low");
      else
        out_.roles.push_back(forward_role(
            in_, "teacher", known->language,
            {.gpus = gpus_,
             .tensor = degree_of(in_, in_.flag("teacher.megatron_cfg.enabled") ? "teacher.megatron_cfg.tensor_model_parallel_size"
                                                                               : "teacher.dtensor_cfg.tensor_parallel_size"),
             .sharded = true,
             .resident = false}));
    }
    if (in_.flag("policy.draft.enabled")) note("policy.draft trains a further model, which is not judged: the memory is too low");
    if (in_.has_section("value.")) out_.notes.emplace_back("value: the critic is not judged, so the memory may be too low");
  }

  void ignore_rest() {
    in_.ignore({in_.flag("policy.megatron_cfg.enabled") ? "policy.dtensor_cfg.**" : "policy.megatron_cfg.**"});  // which is off
    in_.ignore({"policy.generation.**",
                "policy.tokenizer.**",
                "policy.dtensor_cfg.enabled",
                "policy.megatron_cfg.enabled",
                "policy.optimizer",
                "policy.optimizer.*",
                "policy.optimizer.kwargs.foreach",
                "policy.optimizer.kwargs.fused",
                "policy.scheduler**",
                "policy.dynamic_batching.*",
                "policy.dynamic_batching.logprob_mb_tokens",
                "policy.dynamic_batching.train_mb_tokens",
                "policy.dynamic_batching.sequence_length_round",
                "policy.sequence_packing.*",
                "policy.sequence_packing.algorithm",
                "policy.sequence_packing.logprob_mb_tokens",
                "policy.sequence_packing.train_mb_tokens",
                "policy.sequence_packing.microbatch_order",
                "policy.sequence_packing.sequence_length_round",
                "policy.is_vlm",
                "policy.make_sequence_length_divisible_by",
                "policy.max_grad_norm",
                "policy.logprob_*",
                "policy.generation_batch_size",
                "policy.precision",
                "policy.offload_optimizer_for_logprob",
                "policy.refit_buffer_size_gb",
                "policy.reward_model_cfg.*",
                "policy.reward_model_cfg.enabled",
                "policy.reward_model_cfg.reward_model_type",
                "policy.draft.*",
                "policy.draft.enabled",
                "policy.router_replay.**",
                "policy.dtensor_cfg",
                "policy.megatron_cfg",
                "policy.train_micro_batch_size",
                "reward_penalties.**",
                "teacher.**",
                "teachers**",
                "value.**",
                "data.*",
                "data.default.**",
                "data.train.**",
                "data.max_input_seq_length",
                "data.add_bos",
                "data.add_eos",
                "env.**",
                "logger.**",
                "cluster.**",
                "checkpointing.**",
                "data_plane.**",
                "async_**",
                "on_policy_distillation.**"});
    for (std::string const algorithm : {"grpo.", "ppo.", "sft.", "dpo.", "rm.", "distillation.", "loss_fn."}) {
      in_.ignore({algorithm + "*"});
      for (auto const* const key : {"adv_estimator.**",
                                    "async_grpo.**",
                                    "async_ppo.**",
                                    "reward_scaling.**",
                                    "reward_shaping.**",
                                    "batch_multiplier",
                                    "calculate_advantages_on_gpu",
                                    "dynamic_sampling_max_gen_batches",
                                    "exact_token_match_only",
                                    "invalid_tool_call_*",
                                    "malformed_thinking_*",
                                    "max_rollout_turns",
                                    "normalize_*",
                                    "only_unmask_final",
                                    "overlong_filtering",
                                    "penalize_*",
                                    "positive_example_nll_weight",
                                    "reference_policy_kl_*",
                                    "seq_logprob_error_threshold",
                                    "sequence_level_importance_ratios",
                                    "skip_reference_policy_logprobs_calculation",
                                    "token_level_loss",
                                    "topk_logits_k",
                                    "truncated_importance_sampling_*",
                                    "uncommon_topk",
                                    "use_cispo",
                                    "use_dynamic_sampling",
                                    "use_importance_sampling_correction",
                                    "use_kl_in_reward",
                                    "use_leave_one_out_baseline",
                                    "vocab_topk",
                                    "zero_outside_topk",
                                    "zero_variance_prompt_filtering"})
        in_.ignore({algorithm + key});
    }
  }

  setting_table in_;
  setting_request const& asked_;
  imported_setting out_;
  std::vector<std::string> rounding_{};  ///< notes on lengths that are padded
  std::int64_t gpus_ = 1;
};

constexpr std::string_view nemo_rl_keys[]{"policy."};

constexpr task_words nemo_rl_tasks[]{{.task = training_task::finetuning}, {.task = training_task::grpo}};

}  // namespace

constinit framework_format const nemo_rl_format{
    .name = "NeMo RL",
    .word = "nemo-rl",
    .likeness =
        [](setting_source const& in) {
          if (in.is("flags")) return in.overrides.has_section("policy.") ? 90 : 0;
          auto const& all = in.table.entries();  // a file may leave the policy to the one that `defaults` names
          auto const leaves = [](auto const& e) { return e.key == "defaults" && e.words.size() == 1 && e.words[0].ends_with(".yaml"); };
          if (!in.has_any(nemo_rl_keys) && std::any_of(all.begin(), all.end(), leaves)) return 15;
          auto const cluster = in.table.has_section("cluster.") || in.table.has("defaults");
          return in.has_any(nemo_rl_keys) && (cluster || in.table.has("policy.model_name")) ? 90 : 0;
        },
    .read = [](setting_source source, setting_request const& asked) { return nemo_rl_importer(std::move(source), asked).read(); },
    .write = nemo_rl_yaml,
    .tasks = nemo_rl_tasks};

}  // namespace ballast_cli
