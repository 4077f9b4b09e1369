// SPDX-License-Identifier: Apache-2.0
#include "readers/verl_yaml.hpp"

#include "readers/setting_parts.hpp"
#include "readers/trainer_keys.hpp"

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

/// The YAML of verl's trainer of SFT or, with other models on the devices, of its trainer of PPO and GRPO.
class verl_writer {
 public:
  verl_writer(ballast::transformer const& model, ballast::training_setting const& by, std::vector<imported_role> const& roles)
      : model_(model), by_(by), roles_(roles), supervised_(roles.empty()) {
    require_valid(by, model);
    megatron_ = by.model.framework.count == ballast::tensor_count::megatron;
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
    auto const step = by_.global_batch();
    if (supervised_) {
      add("data.max_length", by_.sequence);
      add("data.train_batch_size", step);
      add("data.use_dynamic_bsz", false);
      add("data.micro_batch_size_per_gpu", by_.micro_batch);
      return;
    }
    std::int64_t answers = 8;  // to a prompt
    while (step % answers != 0) answers /= 2;
    if (by_.sequence < 2) lack("a sequence of one token");
    add("algorithm.adv_estimator", std::string(has_role("critic") ? "gae" : "grpo"));
    add("data.max_prompt_length", (std::max)(by_.sequence / 4, std::int64_t{1}));  // and the answer has the rest
    add("data.max_response_length", by_.sequence - (std::max)(by_.sequence / 4, std::int64_t{1}));
    add("data.train_batch_size", step / answers);
    add("actor_rollout_ref.actor.ppo_mini_batch_size", step / answers);
    add("actor_rollout_ref.actor.use_dynamic_bsz", false);
    add("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu", by_.micro_batch);
    add("actor_rollout_ref.actor.use_kl_loss", has_role("reference"));
    add("actor_rollout_ref.rollout.n", answers);
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
    auto flags = ballast::megatron_flags(model_, by);
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
    constexpr std::string_view states[]{"optimizer_cpu_offload", "optimizer_offload_fraction"};
    constexpr std::string_view reduction[]{"num_distributed_optimizer_instances"};
    auto const in = [&](auto const& names) { return std::find(std::begin(names), std::end(names), key) != std::end(names); };
    if (in(said)) return;
    auto const section = in(engine)      ? engine_
                         : in(core)      ? engine_ + "override_transformer_config."
                         : in(states)    ? optimizer_section_ + "override_optimizer_config."
                         : in(reduction) ? engine_ + "override_ddp_config."
                                         : std::string();
    if (section.empty()) return lack("the flag " + key + (values.empty() ? "" : " " + values[0]) + " of Megatron-LM");
    auto const list = key.ends_with("_modules");
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
      add(rollout + "name", "vllm");
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

  ballast::transformer const& model_;
  ballast::training_setting const& by_;
  std::vector<imported_role> const& roles_;
  bool supervised_ = true, megatron_ = false;
  std::string model_section_, optimizer_section_, engine_;
  std::vector<std::pair<std::string, std::string>> entries_;
  ballast::exported_setting out_;
};

}  // namespace

ballast::exported_setting verl_yaml(ballast::transformer const& model, ballast::training_setting const& by,
                                    std::vector<imported_role> const& roles) {
  return verl_writer(model, by, roles).write();
}

}  // namespace ballast_cli
