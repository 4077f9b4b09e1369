// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/framework_setting.hpp"
#include "readers/setting_writers.hpp"
#include "readers/trainer_keys.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// pytorch/torchtune: the YAML of a recipe.

namespace ballast_cli {

namespace {

/// The last part of a path of Python.
[[nodiscard]] std::string name_of_path(std::string const& path) { return path.substr(path.rfind('.') + 1); }

[[nodiscard]] std::string in_lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

/// Names of a model that torchtune builds, as presets and hubs spell them: llama3_1_8b is llama-3.1-8b.
[[nodiscard]] std::vector<std::string> builder_names(std::string name) {
  for (std::string_view const ending : {"_instruct", "_base"})
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  auto out = name;
  for (auto const& [from, to] : {std::pair<std::string_view, std::string_view>{"llama3_1_", "llama-3.1-"},
                                 {"llama3_2_", "llama-3.2-"},
                                 {"llama3_3_", "llama-3.3-"},
                                 {"llama3_", "llama-3-"},
                                 {"llama2_", "llama-2-"},
                                 {"qwen2_5_", "qwen2.5-"},
                                 {"qwen2_", "qwen2-"},
                                 {"qwen3_", "qwen3-"},
                                 {"gemma2_", "gemma-2-"},
                                 {"gemma_", "gemma-"},
                                 {"mistral_", "mistral-"},
                                 {"phi4_14b", "phi-4"}})
    if (out.starts_with(from)) {
      out.replace(0, from.size(), to);
      break;
    }
  std::replace(out.begin(), out.end(), '_', '.');  // of a size, as 0_5b
  return {out, name};
}

class torchtune_importer {
 public:
  torchtune_importer(setting_table& table, setting_request asked) : in_(table), asked_(std::move(asked)) {}

  imported_setting read() {
    out_.framework = "torchtune";
    if (!in_.has("optimizer._component_") || !in_.has("batch_size"))
      throw bad_input(in_.file() + ": this evaluates, generates or quantises, as it has no optimizer, and no training");
    begin_eager(out_);
    auto& by = out_.setting;
    auto& m = by.model;
    auto builder = name_of_path(in_.word("model._component_", in_.word("policy_model._component_")));
    auto const quantised = builder.starts_with("qlora_");
    auto const adapts = quantised || builder.starts_with("lora_") || builder.starts_with("dora_");
    if (adapts) builder.erase(0, builder.find('_') + 1);
    find_model(builder);
    take_sequence(in_, asked_, {"tokenizer.max_seq_len", "dataset.max_seq_len", "max_seq_len"}, 0, out_);
    auto const alone = in_.file().find("single_device") != std::string::npos;
    if (alone && !asked_.gpus) asked_.gpus = 1;
    auto const tensor = degree_of(in_, {"tensor_parallel_dim"}), context = degree_of(in_, {"context_parallel_dim"});
    auto const pairs = name_of_path(in_.word("loss._component_")) == "DPOLoss";
    if (!pairs) m.spread.tensor = tensor, m.spread.context = context;
    if (pairs && tensor * context > 1) note("recipes of DPO read neither tensor_parallel_dim nor context_parallel_dim");
    set_ranks(in_, asked_, out_, "tensor_parallel_dim x context_parallel_dim");
    if (in_.number_or("data_parallel_replicate_dim", 1, 0) > 1)
      note("data_parallel_replicate_dim is judged as sharding over all ranks: the memory is too low");
    take_batches(in_, asked_, "batch_size", 1, "gradient_accumulation_steps", 1, out_);
    out_.details.packing = in_.flag("dataset.packed") || in_.flag("packed");
    take_learning_rate(in_, {"optimizer.lr"}, out_);
    if (adapts) read_adapters(quantised);
    m.kernels.adapter_value = 2;
    read_states();
    if (in_.flag("enable_activation_checkpointing")) by.recompute.what = ballast::recompute_setting::kind::uniform;
    if (in_.flag("enable_activation_offloading")) note("enable_activation_offloading is not modelled: the memory is too high");
    if (flag_or_word(in_, "compile", false, out_)) out_.time.rates.family = ballast::kernel_family::compiled;
    read_loss();
    if (!in_.word("quantizer._component_").empty()) note("quantisation-aware training is judged as training: the memory is too low");
    in_.ignore({"output_dir",
                "tokenizer.**",
                "checkpointer.**",
                "resume_from_checkpoint",
                "save_adapter_*",
                "dataset**",
                "seed",
                "shuffle",
                "run_val_every_n_steps",
                "batch_size_val",
                "optimizer.*",
                "optimizer.fused",
                "optimizer.foreach",
                "lr_scheduler.**",
                "loss.*",
                "epochs",
                "max_steps_per_epoch",
                "clip_grad_norm",
                "metric_logger.**",
                "log_*",
                "device",
                "profiler.**",
                "model.*",
                "model.lora_alpha",
                "model.lora_dropout",
                "model.max_seq_len",
                "model.attn_dropout",
                "model.norm_eps",
                "custom_sharded_layers",
                "quantizer*",
                "tensor_parallel_plan.**",
                "low_cpu_ram",
                "collate_fn",
                "packed",
                "save_*",
                "teacher_**",
                "ref_**",
                "kd_*",
                "reward_**",
                "value_**",
                "policy_*",
                "temperature",
                "top_k",
                "top_p",
                "max_generated_tokens",
                "ppo_epochs",
                "num_steps",
                "forward_batch_size",
                "name",
                "fsdp.*",
                "compile.*",
                "data_parallel_*",
                "base_model_path",
                "deterministic",
                "cudnn_*",
                "grpo_*",
                "num_output_chunks",
                "stop_token_ids",
                "num_warmup_steps",
                "penalise_*",
                "min_response_length",
                "advantage_*",
                "whiten_*",
                "gamma",
                "lmbda",
                "kl_*",
                "debug",
                "visible_devices"});
    finish_setting(in_, out_);
    return std::move(out_);
  }

 private:
  void note(std::string const& what) { out_.notes.push_back(what); }

  void find_model(std::string const& builder) {
    if (asked_.model) {
      out_.model = *asked_.model;
      return;
    }
    auto names = builder_names(builder);
    if (auto folder = in_.word_or_none("checkpointer.checkpoint_dir"); !folder.empty()) {
      while (folder.ends_with('/')) folder.pop_back();
      names.push_back(folder.substr(folder.rfind('/') + 1));
    }
    for (auto const& name : names)
      if (auto const known = asked_.find_model ? asked_.find_model(name) : std::nullopt) {
        out_.model = known->language;
        out_.reads_images = known->reads_images;
        return;
      }
    throw bad_input(in_.file() + ": model._component_ = " + printable(builder) + " is none that is known here; --model names it");
  }

  void read_adapters(bool quantised) {
    auto targets = in_.list("model.lora_attn_modules");
    if (in_.flag("model.apply_lora_to_mlp")) targets.insert(targets.end(), {"w1", "w2", "w3"});
    if (targets.size() >= 7) targets = {"all"};
    set_adapters(in_.number_or("model.lora_rank", 8), targets, quantised, out_);
    if (in_.flag("model.apply_lora_to_output")) note("the adapter of the head is not counted: the memory is a little too low");
  }

  void read_states() {
    auto& m = out_.setting.model;
    auto const halves = in_.one_of("dtype", {"bf16", "fp32", "fp16"}) != "fp32";
    if (!halves) out_.untimed = "the rates of kernels are those of 16 and 8 bits, and dtype is fp32";
    m.optimizer = ballast::optimizer_named(halves ? "adam-bf16" : "adam-fp32");
    if (!halves) m.kernels.value = 4;
    set_optimizer(in_lower_case(name_of_path(in_.word("optimizer._component_"))), "optimizer._component_", out_);
    if (in_.flag("optimizer_in_bwd")) note("optimizer_in_bwd frees each gradient at once, which is not modelled: the memory is too high");
    if (out_.setting.gpus() == 1) return;
    m.spread.zero = in_.flag("fsdp_reshard_after_forward", true) ? 3 : 2;
    if (in_.flag("fsdp_cpu_offload") || in_.flag("fsdp.cpu_offload")) m.moved = ballast::offload::parameters;
    m.kernels.kept_copies = true;
    note("a recipe for several devices is assumed, with FSDP over all");
  }

  void read_loss() {
    auto const loss = name_of_path(in_.word("loss._component_"));
    auto& head = out_.setting.model.loss;
    auto const starts = [&](char const* with) { return loss.starts_with(with); };
    out_.task = loss == "DPOLoss" || loss == "RSOLoss" || loss == "IPOLoss" ? training_task::dpo
                : loss == "SimPOLoss"                                       ? training_task::simpo
                : starts("GRPO")                                            ? training_task::grpo
                : starts("PPO")                                             ? training_task::ppo
                : in_.has("teacher_model._component_")                      ? training_task::distillation
                                                                            : training_task::finetuning;
    if (loss == "LinearCrossEntropyLoss" || loss.find("Chunked") != loss.npos)
      head = {.how = ballast::head_loss::kind::chunked, .chunks = in_.number_or("loss.num_output_chunks", 8)};
    if (loss == "DPOLoss" || loss == "RSOLoss" || loss == "SimPOLoss" || loss == "IPOLoss") {
      out_.setting.micro_batch *= 2;
      note("a pair of answers counts as two sequences of a micro-batch");
      if (loss != "SimPOLoss") add_reference(out_);
    }
    if (loss.starts_with("GRPO") || loss.starts_with("PPO")) {
      add_reference(out_);
      note("what is generated, and further models than the reference, are not counted: the memory is too low");
    }
    if (in_.has("teacher_model._component_")) note("the teacher is not counted: the memory is too low");
  }

  setting_table& in_;
  setting_request asked_;
  imported_setting out_;
};

constexpr std::string_view plain_loss = "torch.nn.CrossEntropyLoss";

[[nodiscard]] ballast::exported_setting torchtune_yaml(imported_setting const& of) {
  ballast::exported_setting out;
  auto const& by = of.setting;
  auto const& m = by.model;
  auto const zero = m.spread.zero;
  auto const floats = m.kernels.value > 2;
  auto const chunked = m.loss.how == ballast::head_loss::kind::chunked;
  auto const adapts = m.language.what == ballast::trained::low_rank;
  auto const all = m.language.matrices == ballast::adapted_matrices::every_matrix;
  auto& text = out.text;
  auto const line = [&](auto const&... parts) { text += ballast::sentence(parts..., "\n"); };
  line("model:\n  _component_: torchtune.models.NAME.", adapts ? (m.language.quantised ? "qlora_" : "lora_") : "",
       "NAME  # the builder of the model");
  if (adapts)
    line("  lora_attn_modules: [q_proj, ", all ? "k_proj, " : "", "v_proj", all ? ", output_proj" : "",
         "]\n  apply_lora_to_mlp: ", all ? "true" : "false", "\n  lora_rank: ", m.language.rank);
  line("tokenizer:\n  max_seq_len: ", by.sequence, "\ndataset:\n  packed: ", packs_samples(of) ? "true" : "false");
  line("batch_size: ", by.micro_batch, "\ngradient_accumulation_steps: ", by.micro_batches);
  line("optimizer:\n  _component_: torch.optim.AdamW\n  fused: true");
  if (!of.details.learning_rate.empty()) line("  lr: ", of.details.learning_rate);
  line("loss:\n  _component_: ", chunked ? "torchtune.modules.loss.LinearCrossEntropyLoss" : plain_loss);
  if (chunked) line("  num_output_chunks: ", m.loss.chunks);
  if (is_compiled(of)) line("compile: true");
  line("dtype: ", floats ? "fp32" : "bf16",
       "\nenable_activation_checkpointing: ", by.recompute.what == ballast::recompute_setting::kind::none ? "false" : "true");
  auto const cuts = of.task != training_task::dpo;  // recipes of DPO read neither degree
  if (cuts && m.spread.tensor > 1) line("tensor_parallel_dim: ", m.spread.tensor);
  if (cuts && m.spread.context > 1) line("context_parallel_dim: ", m.spread.context);
  if (zero >= 2) line("fsdp_reshard_after_forward: ", zero == 3 ? "true" : "false");
  if (m.moved != ballast::offload::none) line("fsdp_cpu_offload: true");
  return out;
}

constexpr task_words torchtune_tasks[]{
    {.task = training_task::finetuning},
    {.task = training_task::dpo, .from = plain_loss, .to = "torchtune.rlhf.loss.DPOLoss", .pairs = 2, .without = {"packed: "}},
    {.task = training_task::dpo,
     .from = "torchtune.modules.loss.LinearCrossEntropyLoss",
     .to = "torchtune.rlhf.loss.DPOLoss",
     .pairs = 2,
     .without = {"packed: ", "num_output_chunks: "}}};

}  // namespace

constinit framework_format const torchtune_format{
    .name = "torchtune",
    .word = "torchtune",
    .likeness =
        [](setting_source const& in) {
          return in.is("yaml") && (in.table.has("model._component_") || in.table.has("policy_model._component_")) ? 80 : 0;
        },
    .read = [](setting_source source, setting_request const& asked) { return torchtune_importer(source.table, asked).read(); },
    .write = torchtune_yaml,
    .tasks = torchtune_tasks};

}  // namespace ballast_cli
