// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/framework_setting.hpp"
#include "readers/trainer_keys.hpp"

#include <ballast/core/error.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

// hiyouga/LLaMA-Factory: YAML, or flags of `llamafactory-cli train`; its v1 YAML; and its keys for training with Megatron-Core.

namespace ballast_cli {

namespace {

class llamafactory_importer {
 public:
  llamafactory_importer(setting_table& table, setting_request const& asked) : in_(table), asked_(asked) {}

  imported_setting read() {
    out_.framework = "LLaMA-Factory";
    refuse_what_trains_nothing();
    begin_eager(out_);
    if (in_.has_section("dist_config.") || in_.has("train_dataset")) return read_v1();
    take_model(in_, asked_, {"model_name_or_path"}, out_);
    take_sequence(in_, asked_, {"cutoff_len"}, 2048, out_);
    if (in_.has("tensor_model_parallel_size") || in_.has("pipeline_model_parallel_size")) read_megatron_degrees();
    set_ranks(in_, asked_, out_, "its degrees");
    take_batches(in_, asked_, "per_device_train_batch_size", 8, "gradient_accumulation_steps", 1, out_);
    read_tuner();
    auto& m = out_.setting.model;
    auto const trainer_recomputes = in_.flag("gradient_checkpointing");  // beside LLaMA-Factory's own key
    if (flag_or_word(in_, "disable_gradient_checkpointing", false, out_) && !trainer_recomputes) out_.setting.recompute = {};
    set_attention(in_.one_of("flash_attn", {"auto", "fa2", "fa3", "sdpa", "disabled", "off", "true", "false"}), out_);
    if (in_.flag("enable_liger_kernel")) m.loss.how = ballast::head_loss::kind::fused;
    if (in_.flag("use_unsloth") || in_.flag("use_unsloth_gc"))
      note("Unsloth's own kernels and offloading are not modelled: the memory is too high");
    if (in_.flag("torch_compile")) out_.time.rates.family = ballast::kernel_family::compiled;
    trainer_setting by;
    by.precision = take_precision(in_, "fp32");
    if (in_.flag("pure_bf16")) {
      by.precision = "bf16";
      by.halves = true;
    }
    by.halves = by.halves || (by.precision != "fp32" && m.language.what == ballast::trained::low_rank);  // what is frozen is in 16 bits
    by.deepspeed = in_.word("deepspeed");
    take_fsdp(in_, by, out_);
    by.optimizer = take_optimizer(in_, "optim", "adamw_torch");
    read_optimizer(by);
    if (megatron_) {
      m.optimizer = ballast::optimizer_named(by.precision == "fp32" ? "adam-fp32" : "adam");
      if (by.precision == "fp32") m.kernels.value = 4;
      out_.setting.recompute = {};
      if (in_.one_of("recompute_granularity", {"none", "full", "selective"}) == "full")
        out_.setting.recompute.what = ballast::recompute_setting::kind::uniform;
    } else {
      set_states(in_, asked_, by, out_);
    }
    take_saved_modules(in_, out_);
    read_stage();
    if (in_.flag("fp8")) note("fp8 is not modelled: the time is too long");
    out_.details.packing = in_.flag("packing", out_.task == training_task::pretraining) || in_.flag("neat_packing");
    take_learning_rate(in_, {"learning_rate"}, out_);
    if (in_.flag("packing") || in_.flag("neat_packing")) note("packed samples are judged as whole sequences of cutoff_len");
    for (auto const* const key : {"use_kt", "mixture_of_depths", "use_llama_pro"})
      if (flag_or_word(in_, key, false, out_)) note(std::string(key) + " is not modelled");
    ignore_trainer_keys(in_);
    in_.ignore({"template",
                "dataset*",
                "eval_dataset",
                "max_samples",
                "preprocessing_*",
                "plot_loss",
                "overwrite_cache",
                "val_size",
                "streaming",
                "buffer_size",
                "media_dir",
                "tokenized_path",
                "lora_*",
                "additional_target",  // of other tuners
                "loraplus_*",
                "pissa_*",
                "use_rslora",
                "use_dora",
                "galore_*",
                "apollo_*",
                "badam_*",
                "oft_*",
                "freeze_*",
                "pref_*",
                "ppo_*",
                "simpo_*",
                "kto_*",
                "dpo_*",
                "reward_model*",
                "ref_model*",
                "asft_*",
                "use_asft_loss",
                "use_dft_loss",
                "use_eaft_loss",
                "eaft_*",
                "dft_*",
                "mix_strategy",
                "interleave_probs",
                "train_on_prompt",
                "mask_history",
                "ignore_pad_token_for_loss",
                "image_*",
                "video_*",
                "audio_*",
                "flash_attn",
                "rope_scaling",
                "shift_attn",
                "adapter_name_or_path",
                "create_new_adapter",
                "upcast_layernorm",
                "quantization_*",
                "double_quantization",
                "ray_*",
                "resources_per_worker",
                "placement_strategy",
                "swanlab*",
                "use_swanlab",
                "predict_with_generate",
                "compute_accuracy",
                "new_special_tokens*",
                "add_tokens",
                "add_special_tokens",
                "kt_*",
                "fp8_*",
                "train_from_scratch",
                "enable_thinking",
                "resize_vocab",
                "max_new_tokens",
                "top_p",
                "temperature",
                "efficient_eos",
                "overlap_*",
                "bias_activation_fusion",
                "apply_rope_fusion",
                "cp_mode",
                "moe_aux_loss_coef",
                "use_mca",
                "infer_*",
                "vllm_*",
                "sglang_*",
                "split_special_tokens",
                "packing"});
    finish_setting(in_, out_);
    return std::move(out_);
  }

 private:
  void note(std::string const& what) { out_.notes.push_back(what); }

  void refuse_what_trains_nothing() {
    auto const says = [&](std::string const& what) { throw bad_input(in_.file() + ": this is " + what + ", and no training"); };
    if (in_.has("export_dir")) says("an export of a model");
    if (in_.has("infer_backend") && !in_.has("stage")) says("a setting for inference");
    if (in_.flag("do_predict") && !in_.flag("do_train")) says("a prediction");
    if (in_.has("do_train") && !in_.flag("do_train", true)) says("an evaluation");
    if (in_.has("sample_backend") && !in_.has("train_dataset") && !in_.has("dataset")) says("a setting for sampling");
    if (in_.has("tokenized_path") && !in_.has("per_device_train_batch_size")) says("a preparation of data");
    if (!in_.has("stage") && !in_.has("train_dataset") && !in_.has_section("dist_config.") && !in_.has("per_device_train_batch_size"))
      says("a setting for inference");
  }

  /// What is trained.
  void read_tuner() {
    auto const type = in_.one_of("finetuning_type", {"lora", "full", "freeze", "oft"});
    out_.setting.recompute.what = ballast::recompute_setting::kind::uniform;  // its default
    auto const bits = in_.number("quantization_bit", 1, 16);
    (void)in_.one_of_or("quantization_method", "bnb",
                        {"bnb", "bitsandbytes", "gptq", "awq", "aqlm", "quanto", "eetq", "hqq", "mxfp4", "fp8"});
    auto const named = in_.word("model_name_or_path");
    auto const stored = named.find("GPTQ") != named.npos || named.find("AWQ") != named.npos || named.find("AQLM") != named.npos ||
                        named.find("bnb-4bit") != named.npos;
    if (stored) note("the model's stored weights are judged as four bits");
    if (bits && *bits != 4 && *bits != 8) note("quantization_bit is judged as 4");
    if (bits && *bits == 8) note("weights of 8 bits are judged as 16: the memory is too high");
    auto const quantised = (bits && *bits != 8) || stored;
    if (type == "lora") {
      set_adapters(in_.number_or("lora_rank", 8), in_.has("lora_target") ? in_.list("lora_target") : std::vector<std::string>{"all"},
                   quantised, out_);
    }
    if (type == "oft") {
      note("finetuning_type oft is judged as adapters of rank 8");
      set_adapters(8, {"all"}, quantised, out_);
    }
    if (type == "freeze") note("finetuning_type freeze trains some layers: all are judged as trained, so the memory is too high");
    if ((type == "full" || type == "freeze") && bits) in_.refuse("quantization_bit", "is not modelled without adapters");
  }

  void read_optimizer(trainer_setting& by) {
    for (auto const& [key, word] : {std::pair{"use_galore", "galore"},
                                    {"use_apollo", "apollo"},
                                    {"use_badam", "badam"},
                                    {"use_adam_mini", "adam_mini"},
                                    {"use_muon", "muon"}})
      if (in_.flag(key)) {
        by.optimizer = word;
        by.optimizer_key = key;
      }
    if (by.optimizer == "galore" || by.optimizer == "apollo") out_.setting.model.optimizer.rank = in_.number_or(by.optimizer + "_rank", 16);
  }

  void read_stage() {
    auto const stage = in_.one_of("stage", {"sft", "pt", "rm", "ppo", "dpo", "kto"});
    auto& by = out_.setting;
    if (stage == "dpo" || stage == "rm") {
      by.micro_batch *= 2;
      note("a pair of answers counts as two sequences of a micro-batch");
    }
    auto const loss = in_.word("pref_loss", "sigmoid");
    out_.task = task_named(stage == "dpo" && (loss == "orpo" || loss == "simpo") ? loss : stage);
    if ((stage == "dpo" && loss != "orpo" && loss != "simpo") || stage == "kto") add_reference(out_);
    if (stage == "rm") note("the value head of rm leaves logits without gradients: the memory of the head is too high");
    if (stage == "ppo") {
      add_reference(out_);
      note("reward model and critic are not counted: the memory is too low");
    }
  }

  /// Keys of MCoreAdapter and Megatron-Bridge.
  void read_megatron_degrees() {
    megatron_ = true;
    auto& by = out_.setting;
    by.model.framework = ballast::framework_named("megatron");
    by.model.loss = {};
    out_.time.rates.family = ballast::kernel_family::engine;
    by.model.spread.tensor = degree_of(in_, {"tensor_model_parallel_size"});
    by.pipeline.stages = static_cast<std::uint64_t>(degree_of(in_, {"pipeline_model_parallel_size"}));
    by.model.spread.context = degree_of(in_, {"context_parallel_size"});
    by.model.expert = degree_of(in_, {"expert_model_parallel_size"});
    by.model.spread.sequence_parallel = in_.flag("sequence_parallel") && by.model.spread.tensor > 1;
    by.model.spread.zero = in_.flag("use_distributed_optimizer", true) ? 1 : 0;
    if (in_.number_or("virtual_pipeline_model_parallel_size", 1) > 1)
      in_.refuse("virtual_pipeline_model_parallel_size", "is not modelled here; a setting of Megatron-LM has it");
    in_.ignore({"moe_*", "mixed_precision", "use_packed_sequences", "export_hf_on_finish", "recompute_granularity"});
  }

  imported_setting read_v1() {
    take_model(in_, asked_, {"model"}, out_);
    take_sequence(in_, asked_, {"cutoff_len"}, 2048, out_);
    auto& by = out_.setting;
    auto& m = by.model;
    m.spread.context = degree_of(in_, {"cp_size", "dist_config.cp_size"});
    if (m.spread.context > 1) m.method = ballast::context_method::ulysses;
    m.expert = degree_of(in_, {"dist_config.ep_size"});
    set_ranks(in_, asked_, out_, "cp_size");
    take_batches(in_, asked_, "micro_batch_size", 1, "gradient_accumulation_steps", 1, out_);
    if (auto const global = in_.number("global_batch_size"); global && !asked_.micro_batches && !asked_.micro_batch)
      set_global_batch(in_, by, *global, "global_batch_size");
    auto const tuner = in_.word_near("peft_config.name", "none", {"lora", "freeze", "none"});
    auto const quantised = in_.number_or("quant_config.quantization_bit", 16) == 4;
    if (tuner == "lora") set_adapters(in_.number_or("peft_config.r", 8), in_.list("peft_config.target_modules"), quantised, out_);
    if (tuner == "freeze") note("peft_config freeze trains some layers: all are judged as trained, so the memory is too high");
    trainer_setting with;
    with.precision = in_.flag("bf16", true) ? "bf16" : "fp32";
    with.halves = true;
    auto const how = in_.word_near("dist_config.name", "none", {"fsdp2", "fsdpturbo", "deepspeed", "none"});
    if (how == "fsdp2" || how == "fsdpturbo") with.shards = 3;
    if (how == "deepspeed") with.deepspeed = in_.word("dist_config.config_file");
    if (flag_or_word(in_, "enable_activation_checkpointing", true, out_)) by.recompute.what = ballast::recompute_setting::kind::uniform;
    if (in_.word("kernel_config.name").find("liger") != std::string::npos) m.loss.how = ballast::head_loss::kind::fused;
    with.optimizer = take_optimizer(in_, "optim_config.name", "adamw_torch");
    set_attention(take_attention(in_, "flash_attn", "auto"), out_);
    set_states(in_, asked_, with, out_);
    if (with.shards) m.kernels.local_gradient = 0;  // its own trainer exchanges after each micro-batch
    ignore_trainer_keys(in_);
    in_.ignore({"model_class",
                "template",
                "train_dataset",
                "sample_backend",
                "max_new_tokens",
                "init_config.*",
                "dist_config.*",
                "dist_config.ep_dispatcher",
                "dist_config.dcp_path",
                "peft_config.*",
                "peft_config.export_size",
                "peft_config.lora_alpha",
                "peft_config.lora_dropout",
                "quant_config*",
                "optim_config.*",
                "optim_config.momentum",
                "optim_config.nesterov",
                "optim_config.wd",
                "kernel_config.*",
                "kernel_config.chunk_size",
                "kernel_config.include_kernels",
                "batching_*",
                "cp_mode",
                "use_v1_kernels",
                "lr_scheduler.**",
                "dpo_*"});
    if (in_.has_section("dpo_") || in_.word("train_dataset").find("dpo") != std::string::npos)
      note("if this is training by preferences, the reference model is not counted");
    finish_setting(in_, out_);
    return std::move(out_);
  }

  setting_table& in_;
  setting_request const& asked_;
  imported_setting out_;
  bool megatron_ = false;
};

[[nodiscard]] ballast::exported_setting llamafactory_yaml(imported_setting const& of) {
  ballast::exported_setting out;
  auto const& by = of.setting;
  auto const& m = by.model;
  auto const adapts = m.language.what == ballast::trained::low_rank;
  auto& text = out.text;
  auto const line = [&](auto const&... parts) { text += ballast::sentence(parts..., "\n"); };
  line("stage: sft\ndo_train: true\nmodel_name_or_path: NAME  # of the model\ndataset: NAME  # of the data");
  line("finetuning_type: ", adapts ? "lora" : "full");
  if (adapts) line("lora_rank: ", m.language.rank, "\nlora_target: all");
  if (adapts && m.language.quantised) line("quantization_bit: 4\nquantization_method: bnb");
  line("cutoff_len: ", by.sequence, "\npacking: ", packs_samples(of) ? "true" : "false", "\nper_device_train_batch_size: ", by.micro_batch,
       "\ngradient_accumulation_steps: ", by.micro_batches);
  if (by.recompute.what == ballast::recompute_setting::kind::none) line("disable_gradient_checkpointing: true");
  line("bf16: ", m.kernels.value > 2 ? "false" : "true");
  if (!of.details.learning_rate.empty()) line("learning_rate: ", of.details.learning_rate);
  auto const [base, optim] = trainer_words_of(m.optimizer);
  if (base == "adam-bf16") line("pure_bf16: true");
  if (optim != "adamw_torch_fused") line("optim: ", optim);
  if (m.loss.how == ballast::head_loss::kind::fused) line("enable_liger_kernel: true");
  if (m.attention != ballast::attention_kernel::fused) line("flash_attn: disabled");
  if (attention_word(of).ends_with('3')) line("flash_attn: fa3");
  if (is_compiled(of)) line("torch_compile: true");
  if (m.spread.zero == 3) line("fsdp: full_shard auto_wrap", m.moved == ballast::offload::parameters ? " offload" : "");
  return out;
}

constexpr std::string_view sft_stage = "stage: sft";
constexpr task_words llamafactory_tasks[]{
    {.task = training_task::finetuning},
    {.task = training_task::pretraining, .from = sft_stage, .to = "stage: pt"},
    {.task = training_task::dpo, .from = sft_stage, .to = "stage: dpo", .pairs = 2},
    {.task = training_task::orpo, .from = sft_stage, .to = "stage: dpo\npref_loss: orpo", .pairs = 2},
    {.task = training_task::simpo, .from = sft_stage, .to = "stage: dpo\npref_loss: simpo", .pairs = 2},
    {.task = training_task::kto, .from = sft_stage, .to = "stage: kto"},
    {.task = training_task::reward, .from = sft_stage, .to = "stage: rm", .pairs = 2},
    {.task = training_task::ppo, .from = sft_stage, .to = "stage: ppo\nreward_model: NAME"}};

constexpr std::string_view llamafactory_keys[]{"finetuning_type", "dist_config.", "export_dir", "infer_backend"};

}  // namespace

constinit framework_format const llamafactory_format{
    .name = "LLaMA-Factory",
    .word = "llamafactory",
    .likeness =
        [](setting_source const& in) {
          if (in.is("flags")) return in.calls("llamafactory-cli") || in.calls("src/train.py") ? 100 : 0;
          if (!in.is("yaml") && !in.is("json")) return 0;
          auto const has = [&](char const* key) { return in.table.has(key); };
          auto const v1 = has("model_class") && (has("train_dataset") || has("sample_backend"));
          return in.has_any(llamafactory_keys) || v1 || (has("stage") && has("cutoff_len")) ||
                         (has("template") && has("model_name_or_path"))
                     ? 40
                     : 0;
        },
    .read = [](setting_source source, setting_request const& asked) { return llamafactory_importer(source.table, asked).read(); },
    .write = llamafactory_yaml,
    .tasks = llamafactory_tasks};

}  // namespace ballast_cli
