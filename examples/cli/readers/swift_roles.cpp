// SPDX-License-Identifier: Apache-2.0
#include "readers/swift_roles.hpp"

#include "errors.hpp"
#include "readers/trainer_keys.hpp"

#include <ballast/footprint/model_setting.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

// modelscope/ms-swift 3602360a: RLHFArguments and the trainers of swift/rlhf_trainers.

namespace ballast_cli {

namespace {

[[nodiscard]] std::string kind_of_preferences(setting_table& in) {
  return in.one_of("rlhf_type", {"dpo", "orpo", "simpo", "kto", "cpo", "rm", "ppo", "grpo", "gkd"});
}
[[nodiscard]] bool draws_answers(std::string const& kind) { return kind == "ppo" || kind == "grpo" || kind == "gkd"; }
/// Tokens of an answer: by the keys of older versions where they are given.
[[nodiscard]] std::int64_t swift_answer(setting_table& in) {
  auto const longest = in.number_or("max_completion_length", 512);
  auto const older = in.number("max_new_tokens"), oldest = in.number("response_length");
  return oldest ? *oldest : older.value_or(longest);
}

class role_reader {
 public:
  role_reader(setting_table& in, setting_request const& asked, imported_setting& out) : in_(in), asked_(asked), out_(out) {}

  void read() {
    auto const kind = kind_of_preferences(in_);
    auto const whole = out_.setting.model.language.what == ballast::trained::all;
    auto const strength = in_.decimal_number("beta");
    auto const reference = in_.word("ref_model");
    if ((kind == "dpo" || kind == "kto" || kind == "ppo" || kind == "grpo") && whole && !(kind == "grpo" && strength && *strength == 0))
      add("reference", "ref_model", reference, false);
    auto const rewards = in_.list("reward_model");
    if (kind == "ppo") {
      auto const name = rewards.empty() ? std::string() : rewards.front();
      add("reward", "reward_model", name, false);
      add("critic", "reward_model", name, true);
    } else if (kind == "grpo") {
      for (auto const& name : rewards) add("reward", "reward_model", name, false);
    }
    read_teacher(kind, whole);
    if (draws_answers(kind)) read_rollout();
    auto const joined = in_.flag("padding_free") || in_.flag("packing") || out_.setting.model.spread.context > 1;
    read_answers(kind);
    if (kind == "grpo" && !joined && out_.framework == "ms-swift") set_answers(swift_answer(in_), out_);
    if (kind == "dpo" || kind == "orpo" || kind == "simpo" || kind == "cpo" || kind == "rm") {
      out_.setting.micro_batch *= 2;
      note("a sample of " + kind + " is a pair, so a micro-batch holds twice as many sequences as its key says");
    } else if (kind == "kto") {
      note("the forward pass of kto over other answers is not modelled: the time is too short");
    }
    if (auto const losses = in_.list("loss_type"); losses.size() > 1) note("several losses of one forward pass are judged as one");
    for (auto const* const key : {"loss_weights", "reward_funcs", "reward_weights"}) (void)in_.list(key);
    in_.ignore({"rlhf_type",
                "beta",
                "ref_*",
                "reward_*",
                "teacher_*",
                "offload_teacher_model",
                "label_smoothing",
                "max_completion_length",
                "response_length",
                "rpo_alpha",
                "ld_alpha",
                "loss_*",
                "cpo_alpha",
                "simpo_gamma",
                "desirable_weight",
                "undesirable_weight",
                "temperature",
                "top_p",
                "top_k",
                "repetition_penalty",
                "center_rewards_coefficient",
                "sft_alpha",
                "lmbda",
                "seq_kd",
                "gkd_*",
                "num_generations*",
                "num_iterations",
                "epsilon*",
                "delta",
                "log_completions",
                "external_plugins",
                "vllm_*",
                "use_vllm",
                "async_generate",
                "sleep_level",
                "move_model_batches",
                "offload_optimizer",
                "offload_model",
                "num_ppo_epochs",
                "kl_*",
                "cliprange*",
                "vf_coef",
                "gamma",
                "lam",
                "num_mini_batches",
                "missing_eos_penalty",
                "whiten_rewards",
                "dynamic_sample",
                "max_resample_times",
                "overlong_filter",
                "soft_*",
                "cosine_*",
                "importance_sampling_level",
                "advantage_estimator",
                "scale_rewards",
                "steps_per_generation",
                "generation_batch_size",
                "multi_turn_*",
                "max_turns",
                "rollout_*",
                "top_entropy_quantile",
                "tree_*",
                "gym_env",
                "use_gym_env",
                "context_manager",
                "stop_words",
                "tau_*"});
  }

 private:
  void note(std::string const& what) { out_.notes.push_back(what); }

  /// Another model on the same devices, of the shape of the first where nobody knows the one that is named.
  void add(std::string const& role, std::string const& key, std::string const& name, bool trains, bool resident = true) {
    imported_setting of = out_;
    of.notes.clear();
    of.roles.clear();
    auto const known = !name.empty() && asked_.find_model ? asked_.find_model(name) : std::nullopt;
    if (known) {
      of.model = known->language;
      of.reads_images = known->reads_images;
      of.setting.boundaries.clear();
    } else if (!name.empty() && name != in_.word("model")) {
      note(key + " = " + printable(name) + " is judged by the shape of the model that trains: the memory may be wrong");
    }
    if (role == "reward" || role == "critic") of.model.outputs = 1;
    if (!trains) of.setting.model.language = {.what = ballast::trained::none};  // what trains has adapters where the first model has
    out_.roles.push_back({.role = role, .of = std::move(of), .resident = resident});
  }

  void read_answers(std::string const& kind) {
    if (!draws_answers(kind)) return;
    auto const& by = out_.setting;
    auto const core = by.model.framework.count == ballast::tensor_count::megatron;
    take_answers(in_, "", swift_answer(in_), "0.04", core ? by.global_batch() : by.micro_batch * by.ranks(), out_);
    if (kind == "grpo") return;
    auto& d = out_.details;
    d.answers = kind == "ppo" ? 1 : 0;
    d.drawn = 0;
    d.penalty = kind == "ppo" ? decimal_word(in_, "kl_coef", "0.05") : "";
    d.penalises_rewards = kind == "ppo";
  }

  void read_teacher(std::string const& kind, bool whole) {
    auto const name = in_.word("teacher_model"), server = in_.word("teacher_model_server");
    auto const away = in_.flag("offload_teacher_model");
    auto const states = in_.word("teacher_deepspeed");
    if ((kind != "gkd" && kind != "grpo") || name.empty() || !server.empty()) return;
    if (!whole && name == in_.word("model")) return;  // the adapters are switched off instead
    add("teacher", "teacher_model", name, false, !away);
    if (states.size() >= 5 && states.starts_with("zero") && states[4] >= '0' && states[4] <= '3') {
      auto& m = out_.roles.back().of.setting.model;
      m.spread.zero = states[4] - '0';
      m.moved = states.ends_with("offload") && m.spread.zero == 3 ? ballast::offload::parameters : ballast::offload::none;
    }
  }

  /// The engine that draws answers on the devices of the training.
  void read_rollout() {
    auto const uses = in_.flag("use_vllm");
    auto const mode = in_.word("vllm_mode", "colocate");
    auto const share = in_.decimal_number("vllm_gpu_memory_utilization").value_or(0.9);
    auto const tensor = in_.number_or("vllm_tensor_parallel_size", 1);
    auto const sleeps = in_.number_or("sleep_level", 0, 0) > 0;
    note("answers are drawn before a step: the time of the step is that of the training alone");
    if (!uses || mode == "server") return;
    add("rollout", "model", in_.word("model"), false, !sleeps);
    auto& by = out_.roles.back().of.setting;
    auto const gpus = by.gpus();
    if (gpus % tensor != 0) in_.refuse("vllm_tensor_parallel_size", "does not divide the devices");
    by.pipeline = {.stages = 1, .memory = by.pipeline.memory};
    by.boundaries.clear();
    by.model.expert = by.model.expert_tensor = 1;
    by.model.spread = {.tensor = tensor, .data = gpus / tensor};
    by.model.moved = ballast::offload::none;
    if (!sleeps)
      note("vllm keeps " + std::to_string(static_cast<int>(100 * share + 0.5)) +
           " % of each device while the model trains, of which its parameters alone are counted: the memory is too low");
  }

  setting_table& in_;
  setting_request const& asked_;
  imported_setting& out_;
};

}  // namespace

void read_swift_task(setting_table& in, imported_setting& out) {
  auto const task = in.word("task_type", "causal_lm");
  auto const labels = in.number("num_labels", 1);
  out.details.packing = in.flag("packing");
  take_learning_rate(in, {"learning_rate", "lr"}, out);
  in.ignore({"problem_type", "add_non_thinking_prefix", "enable_thinking", "response_prefix", "experts_impl"});
  auto const rewards = in.word("rlhf_type") == "rm";
  if (task == "embedding") out.notes.emplace_back("task_type embedding has no head, and is judged with one output");
  if (rewards || task == "seq_cls" || task == "reranker" || task == "embedding")
    out.model.outputs = rewards || task == "embedding" ? 1 : labels.value_or(task == "reranker" ? 1 : 2);
}

std::optional<std::int64_t> swift_length(setting_table& in, bool rlhf) {
  auto const longest = in.number("max_length");
  if (!rlhf || !longest) return longest;
  auto const answer = swift_answer(in);
  return draws_answers(kind_of_preferences(in)) ? *longest + answer : *longest;
}

training_task swift_task(setting_source const& in) {
  auto const kind = in.table.word_or_none("rlhf_type");
  if (in.calls("rlhf") || !kind.empty()) return task_named(kind.empty() ? "dpo" : kind);
  return in.calls("pt") ? training_task::pretraining : training_task::finetuning;
}

void read_swift_roles(setting_table& in, setting_request const& asked, imported_setting& out) { role_reader(in, asked, out).read(); }

}  // namespace ballast_cli
