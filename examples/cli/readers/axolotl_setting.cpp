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

// axolotl-ai-cloud/axolotl: YAML, or flags of `axolotl train` beside it.

namespace ballast_cli {

namespace {

class axolotl_importer {
 public:
  axolotl_importer(setting_table& table, setting_request asked) : in_(table), asked_(std::move(asked)) {}

  imported_setting read() {
    out_.framework = "axolotl";
    begin_eager(out_);
    take_model(in_, asked_, {"base_model"}, out_);
    take_sequence(in_, asked_, {"sequence_len"}, 0, out_);
    read_degrees();
    take_batches(in_, asked_, "micro_batch_size", 1, "gradient_accumulation_steps", 1, out_);
    if (auto const all = in_.number("batch_size"); all && !in_.has("gradient_accumulation_steps") && !asked_.micro_batches)
      out_.setting.micro_batches = (std::max)(*all / out_.setting.micro_batch, std::int64_t{1});
    read_adapter();
    if (flag_or_word(in_, "gradient_checkpointing", false, out_)) out_.setting.recompute.what = ballast::recompute_setting::kind::uniform;
    if (flag_or_word(in_, "activation_offloading", false, out_)) note("activation_offloading is not modelled: the memory is too high");
    set_attention(take_attention(in_, "attn_implementation", in_.flag("eager_attention") ? "eager" : ""), out_);
    read_kernels();
    trainer_setting by;
    by.precision = take_precision(in_, "fp32");
    if (in_.flag("bfloat16") || in_.flag("float16")) by.precision = "bf16";
    by.halves = by.precision != "fp32";  // the model is loaded in 16 bits
    by.deepspeed = in_.word("deepspeed");
    take_fsdp(in_, by, out_);
    by.optimizer_key = "optimizer";
    by.optimizer = take_optimizer(in_, "optimizer", "adamw_torch_fused");
    set_states(in_, asked_, by, out_);
    take_saved_modules(in_, out_);
    out_.details.packing = in_.flag("sample_packing");
    take_learning_rate(in_, {"learning_rate"}, out_);
    read_preferences();
    ignore();
    finish_setting(in_, out_);
    return std::move(out_);
  }

 private:
  void note(std::string const& what) { out_.notes.push_back(what); }

  void read_degrees() {
    auto& m = out_.setting.model;
    m.spread.tensor = degree_of(in_, {"tensor_parallel_size"});
    m.spread.context = degree_of(in_, {"context_parallel_size", "sequence_parallel_degree"});
    m.expert = degree_of(in_, {"expert_parallel_size"});
    auto const shards = degree_of(in_, {"dp_shard_size"}), copies = degree_of(in_, {"dp_replicate_size"});
    if (!asked_.gpus && in_.has("dp_shard_size")) asked_.gpus = shards * copies * m.spread.tensor * m.spread.context;
    if (copies > 1) note("dp_replicate_size is judged as sharding over all ranks: the memory is too low");
    set_ranks(in_, asked_, out_, "tensor_parallel_size x context_parallel_size");
    m.expert_tensor = m.expert > 1 ? 1 : 0;
  }

  void read_adapter() {
    auto const adapter = in_.word_near("adapter", "none", {"lora", "qlora", "llama-adapter", "none"});
    auto const four = in_.flag("load_in_4bit"), eight = in_.flag("load_in_8bit");
    auto const gptq = in_.flag("gptq");
    auto const rank = in_.number_or("lora_r", 8);
    auto targets = in_.list("lora_target_modules");
    if (in_.flag("lora_target_linear")) targets = {"all"};
    if (adapter == "none" || adapter == "false") {
      if (four || gptq) in_.refuse(four ? "load_in_4bit" : "gptq", "is not modelled without adapters");
      if (eight) note("load_in_8bit without adapters is judged as 16 bits");
      return;
    }
    if (adapter != "lora" && adapter != "qlora")
      note("adapter " + printable(adapter) + " is judged as LoRA of rank " + std::to_string(rank));
    if (eight && !four) note("weights of 8 bits are judged as 16: the memory is too high");
    set_adapters(rank, targets, four || gptq || (adapter == "qlora" && !eight), out_);
  }

  void read_kernels() {
    auto& m = out_.setting.model;
    auto const plugins = in_.list("plugins");
    auto const cut = std::any_of(plugins.begin(), plugins.end(), [](auto const& p) { return p.find("cut_cross_entropy") != p.npos; });
    if (cut || in_.flag("cut_cross_entropy") || in_.flag("liger_fused_linear_cross_entropy")) m.loss.how = ballast::head_loss::kind::fused;
    if (in_.flag("chunked_cross_entropy"))
      m.loss = {.how = ballast::head_loss::kind::chunked, .chunks = in_.number_or("chunked_cross_entropy_num_chunks", 8)};
    if (in_.flag("unsloth_cross_entropy_loss")) note("Unsloth's kernels are not modelled: the memory is too high");
    if (in_.flag("tiled_mlp")) note("tiled_mlp is not modelled: the memory is too high");
    if (flag_or_word(in_, "torch_compile", false, out_)) out_.time.rates.family = ballast::kernel_family::compiled;
    if (in_.flag("fp8")) note("fp8 is not modelled: the time is too long");
    if (in_.flag("quantize_moe_experts")) note("experts in 4 bits count only with load_in_4bit: the memory may be too high");
    if (!in_.list("unfrozen_parameters").empty())
      note("unfrozen_parameters: all parameters are judged as trained, so the memory is too high");
    for (auto const* const key : {"relora", "lisa_n_layers"})
      if (!in_.word_or_none(key).empty() && in_.word_or_none(key) != "null") note(std::string(key) + " is not modelled");
  }

  void read_preferences() {
    auto const rl = in_.word_near("rl", "none", {"dpo", "gdpo", "grpo", "ipo", "orpo", "kto", "simpo", "ebft", "dpo_norm_loss", "none"});
    out_.task = in_.flag("reward_model")                 ? training_task::reward
                : rl != "none" && rl != "false"          ? task_named(rl)
                : in_.has_section("pretraining_dataset") ? training_task::pretraining
                                                         : training_task::finetuning;
    auto const pairs = rl == "dpo" || rl == "ipo" || rl == "orpo" || rl == "simpo" || rl == "dpo_norm_loss" || in_.flag("reward_model");
    if (pairs) {
      out_.setting.micro_batch *= 2;
      note("a pair of answers counts as two sequences of a micro-batch");
    }
    if (in_.flag("reward_model")) out_.model.outputs = in_.number_or("num_labels", 1);
    if (in_.flag("process_reward_model")) out_.model.outputs = in_.number_or("num_labels", 2);
    auto const beta = in_.decimal_number("trl.beta").value_or(0);
    auto const group = rl == "grpo" || rl == "gdpo";
    if (rl == "dpo" || rl == "ipo" || rl == "kto" || (group && beta > 0)) add_reference(out_);
    if (group) {
      auto const answer = in_.number_or("trl.max_completion_length", 512);
      set_answers(answer, out_);
      take_answers(in_, "trl.", answer, "0", out_.setting.micro_batch * out_.setting.ranks(), out_);
    }
    if (group && in_.flag("trl.use_vllm") && in_.word("trl.vllm_mode", "server") == "colocate")
      note("vLLM on the same devices is not counted: the memory is too low");
    if (rl == "ebft") note("rl ebft is judged as training on the sequences; what it generates is not counted");
  }

  void ignore() {
    ignore_trainer_keys(in_);
    in_.ignore({"base_model_*",
                "model_type",
                "tokenizer_*",
                "is_*_derived_model",
                "processor_type",
                "datasets**",
                "test_datasets**",
                "pretraining_dataset**",
                "dataset_*",
                "shuffle_*",
                "chat_template*",
                "sample_packing*",
                "eval_sample_packing",
                "pad_to_sequence_len",
                "max_packed_sequence_len",
                "group_by_length",
                "train_on_inputs",
                "num_epochs",
                "lr_*",
                "lora_*",
                "peft*",
                "loraplus_*",
                "wandb_*",
                "use_wandb",
                "comet_*",
                "mlflow_*",
                "swanlab_*",
                "use_swanlab",
                "trackio_*",
                "use_tensorboard",
                "debug",
                "saves_per_epoch",
                "evals_per_epoch",
                "val_set_size",
                "early_stopping_patience",
                "special_tokens**",
                "tokens**",
                "eot_tokens",
                "flash_attention",
                "flash_attn_*",
                "flash_optimum",
                "xformers_attention",
                "sdp_attention",
                "flex_attention",
                "flex_attn_**",
                "s2_attention",
                "liger_*",
                "strict",
                "loss_watchdog_*",
                "skip_prepare_dataset",
                "remove_unused_columns",
                "torchdistx_path",
                "gptq_*",
                "trl.*",
                "trl.async_prefetch",
                "trl.generation_kwargs**",
                "trl.multi_objective_aggregation",
                "trl.num_generations",
                "trl.reward_*",
                "trl.use_vllm",
                "trl.vllm_*",
                "vllm.**",
                "rl_*",
                "orpo_*",
                "kto_*",
                "dpo_*",
                "num_labels",
                "model_config.*",
                "model_config.output_router_logits",
                "overrides_of_model_*",
                "bnb_config_kwargs**",
                "device_map**",
                "resize_token_embeddings_to_32x",
                "experimental_*",
                "train_*",
                "type*",
                "roles**",
                "message_*",
                "neftune*",
                "noisy_embedding*",
                "ebft.**",
                "diffusion.*",
                "diffusion.generate_samples",
                "diffusion.importance_weighting",
                "diffusion.mask_token_id",
                "qat.*",
                "use_*",
                "llama4_*",
                "revision_of_model",
                "hf_use_auth_token",
                "streaming*",
                "push_*",
                "gc_steps",
                "auto_resume*",
                "cosine_*",
                "ddp",
                "ray_*",
                "local_rank",
                "torch_dtype",
                "cls_model_config",
                "curriculum_sampling",
                "unfrozen_parameters",
                "min_sample_len",
                "total_num_tokens",
                "relora*",
                "lisa_*",
                "jagged_*",
                "freeze_mm_modules",
                "secrets",
                "model_quantization_config*",
                "quantize_moe_experts",
                "plugins",
                "llmcompressor.**",
                "project_name",
                "center_rewards_coefficient",
                "process_reward_model",
                "reinit_weights",
                "eaft_*",
                "fsdp_version",
                "do_causal_lm_eval",
                "otel_*",
                "data_seed",
                "shuffle*",
                "preprocess_iterable",
                "eta_min",
                "fused_attn_kernel",
                "gemma4_*",
                "experts_implementation"});
  }

  setting_table& in_;
  setting_request asked_;
  imported_setting out_;
};

[[nodiscard]] ballast::exported_setting axolotl_yaml(imported_setting const& of) {
  ballast::exported_setting out;
  auto const& by = of.setting;
  auto const& m = by.model;
  auto const adapts = m.language.what == ballast::trained::low_rank;
  auto const zero = m.spread.zero;
  auto const fused = m.loss.how == ballast::head_loss::kind::fused, chunked = m.loss.how == ballast::head_loss::kind::chunked;
  auto& text = out.text;
  auto const line = [&](auto const&... parts) { text += ballast::sentence(parts..., "\n"); };
  line("base_model: NAME  # of the model\ndatasets:\n  - path: NAME  # of the data\n    type: chat_template");
  line("sequence_len: ", by.sequence, "\nsample_packing: ", packs_samples(of) ? "true" : "false", "\nmicro_batch_size: ", by.micro_batch,
       "\ngradient_accumulation_steps: ", by.micro_batches);
  if (adapts) line("adapter: ", m.language.quantised ? "qlora\nload_in_4bit: true" : "lora", "\nlora_r: ", m.language.rank);
  if (adapts && m.language.matrices == ballast::adapted_matrices::every_matrix) line("lora_target_linear: true");
  if (adapts && m.language.matrices != ballast::adapted_matrices::every_matrix) line("lora_target_modules: [q_proj, v_proj]");
  line("gradient_checkpointing: ", by.recompute.what == ballast::recompute_setting::kind::none ? "false" : "true");
  line("bf16: ", m.kernels.value > 2 ? "false" : "true", "\noptimizer: ", trainer_words_of(m.optimizer).word,
       "\nlearning_rate: ", rate_or_example(of));
  if (of.task == training_task::grpo) text += "trl:\n" + lines_of_answers(of, "  ", "vllm_enable_sleep_mode: true");
  if (m.spread.tensor > 1) line("tensor_parallel_size: ", m.spread.tensor);
  if (m.spread.context > 1) line("context_parallel_size: ", m.spread.context);
  if (fused) line("plugins:\n  - axolotl.integrations.liger.LigerPlugin\nliger_fused_linear_cross_entropy: true");
  if (chunked) line("chunked_cross_entropy: true\nchunked_cross_entropy_num_chunks: ", m.loss.chunks);
  line("attn_implementation: ", attention_word(of));
  if (is_compiled(of)) line("torch_compile: true");
  if (zero >= 2)
    line("fsdp_version: 2\nfsdp_config:\n  reshard_after_forward: ", zero == 3 ? "true" : "false",
         "\n  offload_params: ", m.moved == ballast::offload::none ? "false" : "true");
  return out;
}

constexpr task_words axolotl_tasks[]{
    {.task = training_task::finetuning},
    {.task = training_task::pretraining, .from = "datasets:", .to = "pretraining_dataset:"},
    {.task = training_task::dpo, .from = "base_model:", .to = "rl: dpo\nbase_model:", .pairs = 2, .without = {"sample_packing: "}},
    {.task = training_task::orpo, .from = "base_model:", .to = "rl: orpo\nbase_model:", .pairs = 2, .without = {"sample_packing: "}},
    {.task = training_task::simpo, .from = "base_model:", .to = "rl: simpo\nbase_model:", .pairs = 2, .without = {"sample_packing: "}},
    {.task = training_task::kto, .from = "base_model:", .to = "rl: kto\nbase_model:", .without = {"sample_packing: "}},
    {.task = training_task::reward,
     .from = "base_model:",
     .to = "reward_model: true\nbase_model:",
     .pairs = 2,
     .without = {"sample_packing: "}},
    {.task = training_task::grpo, .from = "base_model:", .to = "rl: grpo\nbase_model:", .without = {"sample_packing: "}}};

}  // namespace

constinit framework_format const axolotl_format{
    .name = "axolotl",
    .word = "axolotl",
    .likeness =
        [](setting_source const& in) {
          if (in.is("flags")) return in.calls("axolotl") || in.calls("axolotl.cli.train") ? 100 : 0;
          return in.is("yaml") && in.table.has("base_model") && (in.table.has("micro_batch_size") || in.table.has("sequence_len")) ? 60 : 0;
        },
    .read = [](setting_source source, setting_request const& asked) { return axolotl_importer(source.table, asked).read(); },
    .write = axolotl_yaml,
    .tasks = axolotl_tasks};

}  // namespace ballast_cli
