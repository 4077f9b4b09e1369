// SPDX-License-Identifier: Apache-2.0
#include "readers/verl_yaml.hpp"

#include "readers/setting_parts.hpp"
#include "readers/setting_writers.hpp"
#include "readers/trainer_keys.hpp"

#include <ballast/core/math.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/optimizer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace ballast_cli {

namespace {

/// Writes "a.b.c" with their values as YAML, sections in the order in which they come first.
void write_sections(std::string& out, std::vector<std::pair<std::string, std::string>> const& entries, std::size_t depth) {
  std::vector<std::string> heads;
  for (auto const& [key, value] : entries)
    if (auto head = key.substr(0, key.find('.')); std::find(heads.begin(), heads.end(), head) == heads.end())
      heads.push_back(std::move(head));
  for (auto const& head : heads) {
    std::vector<std::pair<std::string, std::string>> below;
    out += std::string(2 * depth, ' ') + head + ":";
    for (auto const& [key, value] : entries) {
      if (key == head) out += " " + value;
      if (key.starts_with(head + ".")) below.emplace_back(key.substr(head.size() + 1), value);
    }
    out += "\n";
    write_sections(out, below, depth + 1);
  }
}

class verl_writer {
 public:
  explicit verl_writer(imported_setting const& of)
      : of_(of), model_(of.model), by_(of.setting), roles_(of.roles), supervised_(!draws_answers(of.task)) {
    require_valid(by_, model_);
    megatron_ = by_.model.framework.count == ballast::tensor_count::megatron;
    model_section_ = supervised_ ? "model." : "actor_rollout_ref.model.";
    optimizer_section_ = supervised_ ? "optim." : "actor_rollout_ref.actor.optim.";
    engine_ = supervised_ ? "engine." : megatron_ ? "actor_rollout_ref.actor.megatron." : "actor_rollout_ref.actor.fsdp_config.";
  }

  [[nodiscard]] ballast::exported_setting write() {
    add(model_section_ + "path", "NAME  # of the model");
    add_data();
    auto const strategy = std::string(megatron_ ? "megatron" : "fsdp2");
    if (!supervised_) add("actor_rollout_ref.actor.strategy", strategy);
    if (supervised_) add(engine_ + "strategy", strategy);
    megatron_ ? add_megatron() : add_fsdp();
    add_adapters();
    for (auto const& role : roles_) add_role(role, strategy);
    add_devices();
    std::string text = "defaults:\n  - ";
    text += supervised_ ? "sft_trainer_engine\n" : megatron_ ? "ppo_megatron_trainer\n" : "ppo_trainer\n";
    if (supervised_ && megatron_) text += "  - override engine: megatron\n  - override optim: megatron\n";
    text += "  - _self_\nhydra:\n  searchpath:\n    - pkg://verl.trainer.config\n";
    write_sections(text, entries_, 0);
    out_.text = std::move(text);
    return std::move(out_);
  }

 private:
  void add(std::string key, std::string value) { entries_.emplace_back(std::move(key), std::move(value)); }
  void add(std::string key, char const* value) { add(std::move(key), std::string(value)); }
  void add(std::string key, std::int64_t value) { add(std::move(key), std::to_string(value)); }
  void add(std::string key, bool value) { add(std::move(key), std::string(value ? "true" : "false")); }
  void lack(std::string what) { out_.without.push_back(std::move(what)); }
  [[nodiscard]] bool has_role(std::string_view name) const {
    return std::any_of(roles_.begin(), roles_.end(), [&](auto const& role) { return role.role == name; });
  }

  void add_data() {
    auto const& d = of_.details;
    auto const tokens = by_.sequence * by_.micro_batch;
    auto const in_tokens = d.sample > 0 && d.sample < tokens;  // of which a micro-batch has as many as fit
    auto const step = in_tokens ? d.samples : by_.global_batch();
    auto const add_batches = [&](std::string const& section, std::string const& micro, std::string const& most) {
      add(section + "use_dynamic_bsz", in_tokens);
      if (in_tokens)
        add(section + most, ballast::divide_up(tokens, by_.model.spread.context));
      else
        add(section + micro, by_.micro_batch);
    };
    if (!d.learning_rate.empty()) add(optimizer_section_ + "lr", d.learning_rate);
    if (supervised_) {
      add("data.max_length", in_tokens ? d.sample : by_.sequence);
      add("data.train_batch_size", step);
      add_batches("data.", "micro_batch_size_per_gpu", "max_token_len_per_gpu");
      return;
    }
    auto answers = d.answers > 0 ? d.answers : std::int64_t{8};  // to a prompt
    while (d.answers == 0 && step % answers != 0) answers /= 2;
    auto const longest = in_tokens ? d.sample : by_.sequence;
    if (longest < 2) lack("a sequence of one token");
    auto const left = longest - d.prompt - d.answer;  // up to a multiple of twice the context-parallel degree
    auto const known = d.prompt > 0 && left >= 0 && left < 2 * by_.model.spread.context;
    auto const prompt = known ? d.prompt : (std::max)(longest / 4, std::int64_t{1});
    if (!known) lack("how much of a sequence is the answer, which is taken as " + std::to_string(longest - prompt) + " tokens");
    auto const prompts = (std::max)(step / answers, std::int64_t{1});
    add("algorithm.adv_estimator", std::string(of_.task == training_task::ppo ? "gae" : of_.task == training_task::rloo ? "rloo" : "grpo"));
    add("data.max_prompt_length", prompt);  // and the answer has the rest
    add("data.max_response_length", known ? d.answer : longest - prompt);
    add("data.train_batch_size", d.drawn > 0 ? (std::max)(d.drawn / answers, std::int64_t{1}) : prompts);
    add("actor_rollout_ref.actor.ppo_mini_batch_size", prompts);
    add_batches("actor_rollout_ref.actor.", "ppo_micro_batch_size_per_gpu", "ppo_max_token_len_per_gpu");
    add_penalty();
    add("actor_rollout_ref.rollout.n", answers);
    if (!in_tokens) add("actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu", by_.micro_batch);
    if (!has_role("rollout") && d.engine > 0 && by_.gpus() % d.engine == 0)
      add("actor_rollout_ref.rollout.tensor_model_parallel_size", d.engine);
  }

  void add_penalty() {
    auto const& d = of_.details;
    auto const zero = !d.penalty.empty() && d.penalty.find_first_not_of("0.") == d.penalty.npos;
    auto const penalises = d.penalty.empty() ? has_role("reference") : !zero;
    auto const in_loss = penalises && !d.penalises_rewards;
    add("actor_rollout_ref.actor.use_kl_loss", in_loss);
    if (penalises && !in_loss) add("algorithm.use_kl_in_reward", true);
    if (penalises && !d.penalty.empty()) add(in_loss ? "actor_rollout_ref.actor.kl_loss_coef" : "algorithm.kl_ctrl.kl_coef", d.penalty);
  }

  void add_fsdp() {
    auto const& m = by_.model;
    auto const tiled = by_.recompute.what == ballast::recompute_setting::kind::modules &&
                       by_.recompute.modules == ballast::module_set{ballast::recompute_module::mlp};
    add(model_section_ + "enable_gradient_checkpointing", by_.recompute.what == ballast::recompute_setting::kind::uniform);
    if (tiled) add(model_section_ + "tiled_mlp.enabled", true);
    if (m.kernels.offload_all) add(model_section_ + "enable_activation_offload", true);
    if (m.attention != ballast::attention_kernel::fused) add(model_section_ + "override_config.attn_implementation", "eager");
    using enum ballast::head_loss::kind;
    if (m.loss.how == fused) add(model_section_ + "use_fused_kernels", true);
    if (m.loss.how == sixteen_bits && !supervised_ && m.loss.chunks == 1)
      add("actor_rollout_ref.actor.calculate_entropy", true);
    else if (m.loss.how != fused && m.loss.how != in_place)
      lack("head loss " + to_string(m.loss));
    auto const whole = m.spread.data == 1;
    if (whole ? m.spread.zero != 0 : m.spread.zero < 2)
      lack("ZeRO stage " + std::to_string(m.spread.zero) + " on " + std::to_string(m.spread.data) + " devices");
    if (m.spread.zero == 2) add(engine_ + "reshard_after_forward", false);
    if (m.spread.context > 1) add(engine_ + "ulysses_sequence_parallel_size", m.spread.context);
    if (m.kernels.instances > 1) add(engine_ + "fsdp_size", m.spread.data / m.kernels.instances);
    if (m.moved == ballast::offload::parameters)
      add(engine_ + "offload_policy", true);
    else if (m.moved != ballast::offload::none)
      lack("offload " + std::string(ballast::detail::offload_in_words(m.moved)));
    imported_setting short_moments;
    for (auto const* const name : {"adam-fp32", "adam-bf16"})
      for (auto const eight : {false, true}) {
        auto& known = short_moments.setting.model.optimizer = ballast::optimizer_named(name);
        if (eight) set_optimizer("adamw_8bit", "", short_moments);
        known.rank = m.optimizer.rank;
        if (known != m.optimizer) continue;
        add(engine_ + "model_dtype", std::string(name == std::string_view("adam-bf16") ? "bf16" : "fp32"));
        if (eight) {
          add(optimizer_section_ + "optimizer_impl", "bitsandbytes.optim");
          add(optimizer_section_ + "optimizer", "AdamW8bit");
        }
        return;
      }
    lack("optimizer " + std::string(m.optimizer.name));
  }

  /// The flags of Megatron-LM, each in the section of verl that passes it on.
  void add_megatron() {
    auto by = by_;
    by.model.language = {};
    auto even = by;
    even.boundaries.clear();
    auto const cut = boundaries_of(by, model_) != boundaries_of(even, model_) ||
                     model_.layers % static_cast<std::int64_t>(by.pipeline.stages * by.chunks()) != 0;
    using enum ballast::head_loss::kind;
    if (by.model.loss.how == fused) add(model_section_ + "use_fused_kernels", true);
    if (by.model.loss.how != fused && by.model.loss.how != plain) lack("head loss " + to_string(by.model.loss));
    by.model.loss.how = plain;
    auto one = of_;
    one.setting = by;
    auto flags = core_flags(one, false);
    for (auto& what : flags.without) lack(std::move(what));
    if (by.chunks() > 1) add(engine_ + "virtual_pipeline_model_parallel_size", static_cast<std::int64_t>(by.chunks()));
    if (!by.model.spread.sequence_parallel && by.model.spread.tensor > 1) add(engine_ + "sequence_parallel", false);
    if (by.model.spread.zero == 0) add(engine_ + "use_distributed_optimizer", false);
    for (std::size_t i = 0; i < flags.words.size();) {
      auto key = flags.words[i].substr(2);
      std::replace(key.begin(), key.end(), '-', '_');
      std::vector<std::string> values;
      for (++i; i < flags.words.size() && !flags.words[i].starts_with("--"); ++i) values.push_back(std::move(flags.words[i]));
      if (key == "pipeline_model_parallel_layout" && !cut) continue;
      add_flag(key, values);
    }
  }
  void add_flag(std::string const& key, std::vector<std::string> const& values) {
    constexpr std::string_view said[]{"bf16",
                                      "seq_length",
                                      "micro_batch_size",
                                      "global_batch_size",
                                      "sequence_parallel",
                                      "use_distributed_optimizer",
                                      "no_create_attention_mask_in_dataloader",
                                      "no_gradient_accumulation_fusion"};
    constexpr std::string_view engine[]{"tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size",
                                        "expert_model_parallel_size", "expert_tensor_parallel_size"};
    constexpr std::string_view core[]{"pipeline_model_parallel_layout",
                                      "cp_comm_type",
                                      "moe_token_dispatcher_type",
                                      "moe_flex_dispatcher_backend",
                                      "cuda_graph_impl",
                                      "cuda_graph_scope",
                                      "cuda_graph_modules",
                                      "fp8_recipe",
                                      "fp4_recipe",
                                      "moe_expert_capacity_factor",
                                      "moe_pad_expert_input_to_capacity",
                                      "attention_backend",
                                      "moe_grouped_gemm",
                                      "tp_comm_overlap",
                                      "overlap_moe_expert_parallel_comm",
                                      "recompute_granularity",
                                      "recompute_method",
                                      "recompute_num_layers",
                                      "recompute_modules",
                                      "hidden_dropout",
                                      "attention_dropout",
                                      "fine_grained_activation_offloading",
                                      "offload_modules"};
    constexpr std::string_view states[]{"optimizer_cpu_offload", "optimizer_offload_fraction", "use_precision_aware_optimizer",
                                        "main_grads_dtype",      "main_params_dtype",          "exp_avg_dtype",
                                        "exp_avg_sq_dtype"};
    constexpr std::string_view reduction[]{"num_distributed_optimizer_instances", "overlap_grad_reduce", "overlap_param_gather"};
    auto const in = [&](auto const& names) { return std::find(std::begin(names), std::end(names), key) != std::end(names); };
    if (in(said)) return;
    auto const section = in(engine)      ? engine_
                         : in(core)      ? engine_ + "override_transformer_config."
                         : in(states)    ? optimizer_section_ + "override_optimizer_config."
                         : in(reduction) ? engine_ + "override_ddp_config."
                                         : std::string();
    if (section.empty()) return lack("the flag " + key + (values.empty() ? "" : " " + values[0]) + " of Megatron-LM");
    auto const list = key.ends_with("_modules") || key == "cuda_graph_scope";
    std::string value = list ? "[" : "";
    for (auto const& word : values) value += (value.size() > 1 && list ? ", " : "") + word;
    if (key.ends_with("_layout")) value = "\"" + value + "\"";
    add(section + key, values.empty() ? "true" : list ? value + "]" : value);
  }

  void add_adapters() {
    auto const& is = by_.model.language;
    if (is.what == ballast::trained::all) return;
    auto const every = is.matrices == ballast::adapted_matrices::every_matrix;
    if (is.what != ballast::trained::low_rank || is.quantised || (megatron_ && !every)) {
      if (megatron_ || is.what == ballast::trained::low_rank) lack(ballast::detail::trained_in_words(is));  // else it is said already
      return;
    }
    add(model_section_ + (megatron_ ? "lora.rank" : "lora_rank"), is.rank);
    if (!every) add(model_section_ + "target_modules", "[q_proj, v_proj]");
  }

  void add_role(imported_role const& role, std::string const& strategy) {
    auto const& of = role.of.setting;
    auto const suits = of.gpus() == by_.gpus();
    auto const stages = static_cast<std::int64_t>(of.pipeline.stages);
    auto const add_degrees = [&](std::string const& section) {
      add(section + "tensor_model_parallel_size", of.model.spread.tensor);
      add(section + "pipeline_model_parallel_size", stages);
      if (role.of.model.experts == 0) return;
      add(section + "expert_model_parallel_size", of.model.expert);
      add(section + "expert_tensor_parallel_size", of.model.experts().expert_tensor);
    };
    std::string const rollout = "actor_rollout_ref.rollout.", ref = "actor_rollout_ref.ref.";
    if (role.role == "rollout") {
      auto const named = of_.details.core.find("engine");
      add(rollout + "name", named == of_.details.core.end() || named->second == "megatron" ? std::string("vllm") : named->second);
      add(rollout + "free_cache_engine", !role.resident);
      if (suits) add(rollout + "tensor_model_parallel_size", of.model.spread.tensor);
      if (suits && stages > 1) add(rollout + "pipeline_model_parallel_size", stages);
    } else if (role.role == "reference") {
      if (megatron_ && suits) add_degrees(ref + "megatron.");
      add(ref + (megatron_ ? "megatron." : "fsdp_config.") + "param_offload", !role.resident);
      add(ref + "log_prob_micro_batch_size_per_gpu", by_.micro_batch);
    } else if (role.role == "critic") {
      add("critic.strategy", strategy);
      add("critic.model.path", "NAME  # of the critic");
      if (megatron_ && suits) add_degrees("critic.megatron.");
      add(megatron_ ? "critic.megatron.param_offload" : "critic.model.fsdp_config.param_offload", !role.resident);
      add("critic.ppo_micro_batch_size_per_gpu", by_.micro_batch);
    } else if (role.role == "reward") {
      add("reward_model.enable", true);
      add("reward_model.model.path", "NAME  # of the reward model");
    } else {
      lack("the " + role.role + " model");
    }
  }

  void add_devices() {
    auto const of_node = greatest_node(by_.gpus());
    add("trainer.n_gpus_per_node", of_node);
    add("trainer.nnodes", by_.gpus() / of_node);
  }

  imported_setting const& of_;
  ballast::transformer const& model_;
  ballast::training_setting const& by_;
  std::vector<imported_role> const& roles_;
  bool supervised_ = true, megatron_ = false;
  std::string model_section_, optimizer_section_, engine_;
  std::vector<std::pair<std::string, std::string>> entries_;
  ballast::exported_setting out_;
};

}  // namespace

ballast::exported_setting verl_yaml(imported_setting const& of) { return verl_writer(of).write(); }

}  // namespace ballast_cli
