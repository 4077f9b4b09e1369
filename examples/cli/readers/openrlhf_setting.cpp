// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/framework_setting.hpp"
#include "readers/setting_parts.hpp"

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
    m.kernels.stream_pools = true;
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
    if (program_ == "train_dpo") {
      auto const moved = in_.flag("ref.offload") || in_.flag("ref_offload");
      out_.roles.push_back(forward_role(in_, "reference", out_.model,
                                        {.gpus = gpus, .tensor = m.spread.tensor, .sharded = m.spread.zero == 3, .resident = !moved}));
    }
    ignore_rest();
    out_.passed = in_.finish(out_.framework);
    require_suits(in_, out_);
    return std::move(out_);
  }

 private:
  /// The key of today, or the older one where the file has it.
  [[nodiscard]] std::string placed(std::string const& now, std::string const& before) const { return in_.has(before) ? before : now; }

  [[nodiscard]] std::int64_t devices_of(std::string const& role) {
    auto const nodes = placed(role + ".num_nodes", role + "_num_nodes"),
               of_node = placed(role + ".num_gpus_per_node", role + "_num_gpus_per_node");
    return in_.number(nodes, 0, 1 << 16).value_or(1) * in_.number(of_node, 1, 1 << 10).value_or(8);
  }

  void read_states() {
    auto& m = out_.setting.model;
    auto const stage = placed("ds.zero_stage", "zero_stage");
    m.spread.zero = static_cast<int>(in_.number(stage, 0, 3).value_or(2));
    auto const dtype = in_.word(placed("ds.param_dtype", "param_dtype"), "bf16");
    auto const sums = in_.word(placed("ds.grad_accum_dtype", "grad_accum_dtype"), "bf16");
    m.optimizer = ballast::optimizer_named(sums == "fp32" ? "adam" : "adam-bf16-gradients");
    if (in_.flag(placed("ds.adam_offload", "adam_offload")) && m.spread.zero >= 1) m.moved = ballast::offload::gradients;
    if (dtype == "fp32") m.optimizer = ballast::optimizer_named("adam-fp32"), m.kernels.value = 4;
    if (dtype == "fp32") out_.untimed = "the rates of kernels are those of 16 and 8 bits, and param_dtype is fp32";
    if (in_.word("optim", "adam") == "muon") m.optimizer = ballast::optimizer_named("muon");
    if (in_.number_or(placed("ds.zpg", "zpg"), 1) > 1)
      out_.notes.emplace_back("zpg is not modelled: the memory is too low, and exchanges are too long");
    auto const attention = in_.word(placed("ds.attn_implementation", "attn_implementation"), "flash_attention_2");
    if (attention == "eager") m.attention = ballast::attention_kernel::stored_scores;
    if (attention.ends_with("3")) out_.time.attention = ballast::attention_library::flash3;
    m.loss.how = ballast::head_loss::kind::returned;
    if (in_.flag(placed("ds.use_liger_kernel", "use_liger_kernel"))) m.loss.how = ballast::head_loss::kind::fused;
    if (auto const rank = in_.number(placed("ds.lora.rank", "lora_rank"), 0, 1 << 16).value_or(0); rank > 0) {
      m.language = {.what = ballast::trained::low_rank, .rank = rank};
      m.language.quantised = in_.flag(placed("ds.load_in_4bit", "load_in_4bit"));
      m.kernels.adapter_value = 4;
    } else if (in_.flag(placed("ds.load_in_4bit", "load_in_4bit"))) {
      in_.refuse(placed("ds.load_in_4bit", "load_in_4bit"), "is not modelled without adapters");
    }
    out_.notes.emplace_back("buckets of DeepSpeed are auto, and not counted: the memory is too low");
  }

  void read_batches(bool pairs) {
    auto& by = out_.setting;
    auto length = in_.number(placed("data.max_len", "max_len"), 1, 1 << 30);
    if (!length && by_preferences_) {
      auto const prompt = in_.number("prompt_max_len", 1, 1 << 29);
      length = prompt.value_or(1024) + in_.number(placed("rollout.max_new_tokens", "generate_max_len"), 1, 1 << 29).value_or(1024);
      if (!prompt) length = 2048;
    }
    by.sequence = asked_.sequence.value_or(length.value_or(2048));
    auto const micro = in_.number(placed("train.micro_batch_size", "micro_train_batch_size"), 1, 1 << 16).value_or(by_preferences_ ? 1 : 8);
    auto const global = in_.number(placed("train.batch_size", "train_batch_size"), 1, 1 << 24).value_or(128);
    auto const dynamic = in_.flag(placed("train.dynamic_batch_enable", "use_dynamic_batch"));
    auto const most = in_.number(placed("train.max_tokens_per_gpu", "train_max_tokens_per_gpu"), 1, 1 << 30).value_or(16192);
    if (dynamic && !asked_.micro_batch) {
      auto const ranks = by.ranks();
      auto const tokens = (global + ranks - 1) / ranks * by.sequence, of_one = most * by.model.spread.context;
      by.sequence = asked_.sequence.value_or(of_one);
      by.micro_batches = (std::max)((tokens + by.sequence - 1) / by.sequence, std::int64_t{1});
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
    auto const estimator = in_.word(placed("algo.advantage.estimator", "advantage_estimator"), "gae");
    auto const critic = placed("critic.model_name_or_path", "critic_pretrain");
    if (estimator == "gae" && all) {
      imported_setting own;
      own.framework = out_.framework;
      own.model = in_.word(critic).empty() && has_reward ? known(reward) : known(critic);
      own.model.outputs = 1;
      own.setting.model = m;
      own.setting.pipeline = out_.setting.pipeline;
      require_suits(in_, own);
      out_.roles.push_back({.role = "critic", .of = std::move(own), .resident = !sleeps});
    } else if (estimator == "gae") {
      apart.emplace_back("critic");
    }
    auto const engines = in_.number(placed("vllm.num_engines", "vllm_num_engines"), 0, 1 << 16).value_or(0);
    auto const tensor = degree_of(in_, placed("vllm.tensor_parallel_size", "vllm_tensor_parallel_size"));
    auto const frees = in_.flag(placed("vllm.enable_sleep", "vllm_enable_sleep"));
    if (engines > 0 && all) {
      out_.roles.push_back(forward_role(in_, "rollout", out_.model, {.gpus = engines * tensor, .tensor = tensor, .resident = !frees}));
      auto const share = in_.word(placed("vllm.gpu_memory_utilization", "vllm_gpu_memory_utilization"), "0.95");
      out_.notes.push_back("gpu_memory_utilization " + share + " of vLLM " +
                           (frees ? "is freed while the actor trains (vllm.enable_sleep)"
                                  : "stays with its cache while the actor trains: the memory is too low"));
    } else if (engines > 0) {
      apart.emplace_back("rollout");
    }
    for (auto const& role : apart) out_.notes.push_back("the " + role + " model has devices of its own, which are not judged");
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
                "actor.adam.*",
                "actor.*",
                "muon.*",
                "train.*",
                "train.async_enable",
                "train.colocate_critic_reward",
                "train.num_episodes",
                "train.partial_rollout_enable",
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
                "model.*",
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
};

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
    .write = nullptr};

}  // namespace ballast_cli
