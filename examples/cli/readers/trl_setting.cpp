// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/framework_setting.hpp"
#include "readers/setting_writers.hpp"
#include "readers/trainer_keys.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// huggingface/trl: YAML or flags of `trl sft` and the other trl_trainers, and of programs that use them; and flags of programs that use the
// trainer of huggingface/transformers alone, such as run_clm.py.

namespace ballast_cli {

namespace {

constexpr std::string_view trl_trainers[]{"sft", "dpo",        "grpo", "kto", "reward", "rloo",    "orpo", "cpo",
                                          "ppo", "online_dpo", "gkd",  "bco", "prm",    "nash_md", "xpo",  "distillation"};

/// Which of the trl_trainers a command calls; none: "".
[[nodiscard]] std::string_view trainer_of(setting_source const& in) {
  for (auto const name : trl_trainers)
    for (auto const& command : in.commands) {
      auto const slash = command.rfind('/');
      auto const last = slash == command.npos ? command : command.substr(slash + 1);
      if (command == name || (last.ends_with(".py") && (last == std::string(name) + ".py" || last.find(std::string(name) + "_") == 0 ||
                                                        last.find("_" + std::string(name)) != last.npos)))
        return name;
    }
  return {};
}

class trl_importer {
 public:
  trl_importer(setting_source& source, setting_request asked, bool trl)
      : source_(source), in_(source.table), asked_(std::move(asked)), trl_(trl) {}

  imported_setting read() {
    out_.framework = trl_ ? "TRL" : "Transformers";
    if (!trl_ && in_.has("do_train") && !in_.flag("do_train")) throw bad_input(in_.file() + ": this is an evaluation, and no training");
    if (source_.calls("vllm-serve")) throw bad_input(in_.file() + ": this is a server of vLLM, and no training");
    begin_eager(out_);
    take_model(in_, asked_, {"model_name_or_path", "model_path", "sft_model_path", "model_name", "config_name"}, out_);
    trainer_setting by;
    by.precision = take_precision(in_, trl_ ? "bf16" : "fp32");
    take_launcher(in_, asked_, by, out_);
    read_kind();
    set_ranks(in_, asked_, out_, "its degrees");
    take_batches(in_, asked_, "per_device_train_batch_size", 8, "gradient_accumulation_steps", 1, out_);
    take_learning_rate(in_, {"learning_rate"}, out_);
    if (trl_) out_.details.packing = in_.flag("packing");
    if (is({"grpo", "rloo"}))
      take_answers(in_, "", in_.number_or("max_completion_length", 512), is({"grpo"}) ? "0" : "0.05",
                   out_.setting.micro_batch * out_.setting.ranks(), out_);
    out_.details.penalises_rewards = is({"rloo"});
    read_adapters();
    std::vector<std::string_view> const formats{"auto", "bfloat16", "float16", "float32", "bf16", "fp16", "fp32"};
    auto const older = in_.one_of_or("torch_dtype", in_.one_of_or("model_init_kwargs.dtype", "float32", formats), formats);
    auto const dtype = in_.one_of_or("dtype", older, formats);
    by.halves = dtype == "bfloat16" || dtype == "float16" || dtype == "auto";
    if (flag_or_word(in_, "gradient_checkpointing", trl_, out_)) out_.setting.recompute.what = ballast::recompute_setting::kind::uniform;
    if (in_.flag("activation_offloading")) note("activation_offloading is not modelled: the memory is too high");
    if (in_.flag("use_liger_kernel") || in_.flag("use_liger_loss") || in_.flag("use_liger"))
      out_.setting.model.loss.how = ballast::head_loss::kind::fused;
    else if (trl_ && is({"sft"}))
      read_loss();
    set_attention(take_attention(in_, "attn_implementation", ""), out_);
    if (in_.flag("torch_compile")) out_.time.rates.family = ballast::kernel_family::compiled;
    if (auto const file = in_.word("deepspeed"); file.ends_with(".json")) by.deepspeed = file;
    if (auto const stage = in_.number("zero_stage", 0, 3))
      by.engine = deepspeed_stage(in_.file(), *stage, in_.flag("offload") ? "optimizer" : "none", "bf16");
    take_fsdp(in_, by, out_);
    by.optimizer = take_optimizer(in_, "optim", "adamw_torch");
    set_states(in_, asked_, by, out_);
    take_saved_modules(in_, out_);
    add_roles();
    ignore();
    finish_setting(in_, out_);
    return std::move(out_);
  }

 private:
  void note(std::string const& what) { out_.notes.push_back(what); }

  /// Which trainer, and so the length of a sequence.
  void read_kind() {
    kind_ = trainer_of(source_);
    if (kind_.empty() && trl_)
      kind_ = in_.has("max_completion_length") || in_.has("num_generations") ? "grpo"
              : in_.has("max_prompt_length") || in_.has("beta")              ? "dpo"
                                                                             : "sft";
    out_.task = task_named(kind_);
    if (is({"grpo", "rloo"})) {
      auto const asked = in_.number_or("max_prompt_length", 512), answer = in_.number_or("max_completion_length", 512);
      if (!in_.has("max_prompt_length") && !asked_.sequence) note("prompts are judged as 512 tokens, as none are longer");
      take_sequence(in_, asked_, {"vllm_max_model_length"}, asked + answer, out_);
      set_answers(answer, out_);
    } else {
      auto const answer = in_.number_or("max_new_tokens", 0, 0);
      take_sequence(in_, asked_,
                    {"max_length", "max_seq_length", "block_size", "model_max_length", "max_seq_len", "cutoff_len", "context_length"},
                    trl_ ? 1024 : 0, out_);
      if (is({"ppo", "online_dpo"}) && answer > 0 && !asked_.sequence)
        out_.setting.sequence = (std::max)(out_.setting.sequence, 512 + answer);
    }
  }

  /// TRL's SFT computes the loss of 256 tokens at a time, and their logits again in the backward pass.
  void read_loss() {
    auto const type = in_.one_of_or("loss_type", "chunked_nll", {"nll", "dft", "chunked_nll"});
    if (type != "chunked_nll") return;
    if (!in_.has("loss_type")) note("the loss is judged in chunks of 256 tokens, TRL's default; older versions keep all logits, as nll");
    auto const& by = out_.setting;
    out_.setting.model.loss = {.how = ballast::head_loss::kind::plain,
                               .chunks = ballast::divide_up(by.sequence * by.micro_batch, std::int64_t{256})};
  }

  [[nodiscard]] bool is(std::initializer_list<std::string_view> kinds) const {
    return std::find(kinds.begin(), kinds.end(), kind_) != kinds.end();
  }

  void read_adapters() {
    auto const four = in_.flag("load_in_4bit") || in_.flag("use_bnb_nested_quant"), eight = in_.flag("load_in_8bit");
    auto const rank = in_.number("lora_r", 1, 1 << 16), dim = in_.number("lora_dim", 0, 1 << 16),
               other = in_.number("lora_rank", 1, 1 << 16);
    auto targets = in_.list("lora_target_modules");
    if (eight) note("weights of 8 bits are judged as 16: the memory is too high");
    auto const adapts =
        in_.flag("use_peft") || in_.flag("use_peft_lora") || in_.flag("use_lora") || dim.value_or(0) > 0 || (!trl_ && (rank || other));
    if (adapts)
      set_adapters(rank.value_or(dim.value_or(0) > 0 ? *dim : other.value_or(16)), targets, four, out_);
    else if (four)
      in_.refuse("load_in_4bit", "is not modelled without adapters");
  }

  /// Further models of the same devices.
  void add_roles() {
    auto& by = out_.setting;
    if (is({"dpo", "orpo", "cpo", "reward", "online_dpo", "xpo", "nash_md"})) {
      by.micro_batch *= 2;
      note("a pair of answers counts as two sequences of a micro-batch");
    }
    if (is({"reward", "prm"})) out_.model.outputs = is({"prm"}) ? 2 : 1;  // a score, or two classes, for each token
    auto const beta = in_.decimal_number("beta");
    auto const earlier = in_.flag("precompute_ref_log_probs");
    if ((is({"dpo", "kto", "bco", "online_dpo", "xpo", "nash_md", "ppo"}) && !earlier) || (is({"grpo"}) && beta.value_or(0) > 0) ||
        (is({"rloo"}) && beta.value_or(0.05) > 0))
      add_reference(out_);
    if (is({"ppo", "online_dpo", "xpo", "nash_md"})) note("the reward model and a critic are not counted: the memory is too low");
    if (is({"gkd", "distillation"})) note("the teacher is not counted: the memory is too low");
    if (!in_.flag("use_vllm")) return;
    auto const share = in_.decimal_number("vllm_gpu_memory_utilization").value_or(0.3);
    auto text = std::to_string(share);
    text.erase(text.find('.') + 3);
    if (in_.word("vllm_mode", "colocate") == "colocate")
      note("vLLM reserves " + text + " of each device" +
           (in_.flag("vllm_enable_sleep_mode") ? " while it generates, and sleeps during the step"
                                               : ", which is not counted: the memory is too low"));
  }

  void ignore() {
    ignore_trainer_keys(in_);
    in_.ignore({"dataset*",
                "train_file",
                "validation_*",
                "eos_token",
                "chat_template*",
                "packing*",
                "padding_free",
                "assistant_only_loss",
                "completion_only_loss",
                "lora_*",
                "use_rslora",
                "use_dora",
                "modules_to_save",
                "bnb_4bit_*",
                "beta",
                "loss_type",
                "loss_weights",
                "vllm_*",
                "reward_*",
                "num_generations",
                "generation_*",
                "steps_per_generation",
                "temperature",
                "top_p",
                "top_k",
                "num_iterations",
                "max_prompt_length",
                "scale_rewards",
                "epsilon*",
                "log_completions",
                "use_bnb_nested_quant",
                "config",
                "env*",
                "script_args",
                "preprocessing_*",
                "overwrite_cache",
                "model_init_kwargs*",
                "router_aux_loss_coef",
                "missing_eos_penalty",
                "total_episodes",
                "local_rollout_*",
                "num_ppo_epochs",
                "num_mini_batches",
                "kl_coef",
                "sync_ref_model",
                "ref_model_*",
                "desirable_weight",
                "undesirable_weight",
                "label_smoothing",
                "precompute_ref_*",
                "use_weighting",
                "truncation_mode",
                "remove_unused_columns",
                "torch_dtype",
                "tokenizer_*",
                "block_size",
                "num_workers",
                "teacher_*",
                "lmbda",
                "no_gradient_checkpointing",
                "data_*",
                "splits",
                "load_in_8bit",
                "weave_*",
                "trackio_*",
                "project",
                "ignore_bias_buffers",
                "sanity_check",
                "print_loss",
                "deepspeed"});
  }

  setting_source& source_;
  setting_table& in_;
  setting_request asked_;
  bool trl_;
  std::string_view kind_{};
  imported_setting out_;
};

[[nodiscard]] ballast::exported_setting trl_command(imported_setting const& of) {
  ballast::exported_setting out;
  auto const& by = of.setting;
  auto const& m = by.model;
  auto const adapts = m.language.what == ballast::trained::low_rank;
  auto const zero = m.spread.zero;
  auto const [base, optim] = trainer_words_of(m.optimizer);
  auto const halves = base == "adam-bf16" || (adapts && zero == 0 && base == "adam-bf16-gradients");
  std::string text;
  auto const line = [&](auto const&... parts) { text += ballast::sentence(parts..., "\n"); };
  line("max_length: ", by.sequence, "\nnum_processes: ", by.gpus(),
       "\nmodel_name_or_path: NAME\ndataset_name: NAME\npacking: ", packs_samples(of) ? "true" : "false",
       "\nper_device_train_batch_size: ", by.micro_batch, "\ngradient_accumulation_steps: ", by.micro_batches);
  line("bf16: ", m.kernels.value > 2 ? "false" : "true", "\ndtype: ", halves ? "bfloat16" : "float32", "\noptim: ", optim);
  line("gradient_checkpointing: ", by.recompute.what == ballast::recompute_setting::kind::none ? "false" : "true");
  line("use_liger_kernel: ", m.loss.how == ballast::head_loss::kind::fused ? "true" : "false");
  if (m.loss.how != ballast::head_loss::kind::fused)
    line("loss_type: ", m.loss.how == ballast::head_loss::kind::plain && m.loss.chunks > 1 ? "chunked_nll" : "nll");
  line("attn_implementation: ", attention_word(of));
  if (is_compiled(of)) line("torch_compile: true");
  if (!of.details.learning_rate.empty()) line("learning_rate: ", of.details.learning_rate);
  if (draws_answers(of.task)) text += lines_of_answers(of, "", "vllm_enable_sleep_mode: true");
  if (adapts) line("use_peft: true\nlora_r: ", m.language.rank);
  if (adapts && m.language.matrices == ballast::adapted_matrices::every_matrix) line("lora_target_modules: all-linear");
  if (adapts && m.language.quantised) line("load_in_4bit: true");
  if (zero >= 2)
    line("fsdp: ", zero == 3 ? "full_shard" : "shard_grad_op", " auto_wrap", m.moved == ballast::offload::none ? "" : " offload");
  out.text = as_command("trl sft", text);
  return out;
}

constexpr task_words trl_tasks[]{
    {.task = training_task::finetuning},
    {.task = training_task::dpo, .from = "trl sft", .to = "trl dpo", .pairs = 2, .without = {"packing ", "loss_type "}},
    {.task = training_task::dpo,
     .from = "trl sft",
     .to = "trl dpo --precompute_ref_log_probs true",
     .pairs = 2,
     .without = {"packing ", "loss_type "}},
    {.task = training_task::orpo, .from = "trl sft", .to = "trl orpo", .pairs = 2, .without = {"packing ", "loss_type "}},
    {.task = training_task::cpo, .from = "trl sft", .to = "trl cpo", .pairs = 2, .without = {"packing ", "loss_type "}},
    {.task = training_task::kto, .from = "trl sft", .to = "trl kto", .without = {"packing ", "loss_type "}},
    {.task = training_task::reward, .from = "trl sft", .to = "trl reward", .pairs = 2, .without = {"packing ", "loss_type "}},
    // the length of prompts is that of the engine, as nothing cuts them
    {.task = training_task::grpo,
     .from = "trl sft \\\n  --max_length",
     .to = "trl grpo \\\n  --vllm_max_model_length",
     .without = {"packing ", "loss_type "}},
    {.task = training_task::rloo,
     .from = "trl sft \\\n  --max_length",
     .to = "trl rloo \\\n  --vllm_max_model_length",
     .without = {"packing ", "loss_type "}}};

constexpr std::string_view transformers_keys[]{"per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs",
                                               "learning_rate", "per_gpu_train_batch_size"};
constexpr std::string_view trl_keys[]{
    "dataset_name",        "use_peft",          "max_seq_length",   "lora_r", "dataset_mixer", "max_completion_length", "num_generations",
    "lora_target_modules", "accelerate_config", "max_prompt_length"};

[[nodiscard]] bool names_model(setting_source const& in) { return in.table.has("model_name_or_path") || in.table.has("sft_model_path"); }

}  // namespace

constinit framework_format const trl_format{
    .name = "TRL",
    .word = "trl",
    .likeness =
        [](setting_source const& in) {
          auto const called = !trainer_of(in).empty();
          if (in.is("flags") && in.calls("swift")) return 0;
          if (in.is("flags")) return in.calls("trl") && called ? 100 : called && names_model(in) ? 50 : 0;
          if (!in.is("yaml") && !in.is("json")) return 0;
          return names_model(in) && in.has_any(transformers_keys) && in.has_any(trl_keys) ? 30 : 0;
        },
    .read = [](setting_source source, setting_request const& asked) { return trl_importer(source, asked, true).read(); },
    .write = trl_command,
    .tasks = trl_tasks};

constinit framework_format const transformers_format{
    .name = "Transformers",
    .word = "transformers",
    .likeness = [](setting_source const& in) { return !in.is("toml") && names_model(in) && in.has_any(transformers_keys) ? 20 : 0; },
    .read = [](setting_source source, setting_request const& asked) { return trl_importer(source, asked, false).read(); },
    .write = nullptr};

}  // namespace ballast_cli
