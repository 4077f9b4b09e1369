// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/framework_setting.hpp"
#include "readers/setting_parts.hpp"
#include "readers/setting_writers.hpp"
#include "readers/trainer_keys.hpp"

#include <ballast/core/math.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/plan/export/flags.hpp>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// NVIDIA-NeMo/Automodel: YAML of a recipe that trains a language model.

namespace ballast_cli {

namespace {

class automodel_importer {
 public:
  automodel_importer(setting_table const& table, setting_request const& asked) : in_(without_references(table)), asked_(asked) {}

  imported_setting read() {
    auto const recipe = in_.word("recipe");
    for (auto const* const other : {"Diffusion", "Encoder", "Embedding", "Eagle", "DSpark", "DFlash", "Vispec", "JetSpec", "Domino"})
      if (recipe.find(other) != recipe.npos) in_.refuse("recipe", "trains no language model by its next token, and is not modelled");
    out_.framework = "NeMo Automodel";
    take_model(
        in_, asked_,
        {"model.pretrained_model_name_or_path", "model.config.pretrained_model_name_or_path", "model.config.name_or_path", "model.config"},
        out_);
    out_.reads_images = out_.reads_images || recipe.find("VLM") != recipe.npos || recipe.find("Multimodal") != recipe.npos;
    read_degrees();
    read_batches();
    read_states();
    read_stages();
    out_.task = recipe.find("Distillation") != recipe.npos ? training_task::distillation : training_task::finetuning;
    if (out_.task == training_task::distillation) read_teacher();
    in_.ignore({"recipe",
                "recipe_owner",
                "seed",
                "step_scheduler.*",
                "dist_env.**",
                "rng.**",
                "model.*",
                "model.backend.**",
                "model.output_hidden_states",
                "model.load_base_model",
                "model.mtp_loss_scaling_factor",
                "model.mtp_use_repeated_layer",
                "model.num_nextn_predict_layers",
                "model.force_hf",
                "model.kda_mode",
                "model.use_sdpa_patching",
                "model.config.**",
                "model.bos_token_id",
                "model.eos_token_id",
                "checkpoint.**",
                "distributed.*",
                "distributed.moe.*",
                "distributed.moe.wrap_outer_model",
                "distributed.moe.ignore_router_for_ac",
                "distributed.sequence_parallel",
                "distributed.reshard_after_forward",
                "distributed.moe.reshard_after_forward",
                "distributed.pipeline.pp_schedule",
                "distributed.pipeline.layers_per_stage",
                "autopipeline.pp_schedule",
                "autopipeline.pp_microbatch_size",
                "model.attn_implementation",
                "quantization.load_in_8bit",
                "kd_loss_fn.**",
                "distributed.patch_is_packed_sequence",
                "distributed.enable_fsdp2_prefetch",
                "distributed.pipeline.*",
                "distributed.pipeline.dtype",
                "distributed.pipeline.patch_causal_lm_model",
                "distributed.pipeline.patch_inner_model",
                "distributed.pipeline.pp_seq_len",
                "distributed.pipeline.round_virtual_stages_to_pp_multiple",
                "distributed_config.*",
                "dataset.**",
                "validation_dataset.*",
                "validation_dataset**",
                "dataloader.*",
                "dataloader.batch_size",
                "dataloader.collate_fn**",
                "dataloader.drop_last",
                "dataloader.pin_memory",
                "validation_dataloader.**",
                "optimizer.*",
                "optimizer.adam_w_mode",
                "optimizer.bias_correction",
                "optimizer.flatten",
                "optimizer.foreach",
                "optimizer.fused",
                "optimizer.lm_head_lr",
                "optimizer.mu",
                "optimizer.nesterov",
                "optimizer.scalar_opt",
                "optimizer.use_triton",
                "lr_scheduler.**",
                "loss_fn.*",
                "loss_fn.fp32_upcast",
                "tokenizer.**",
                "packed_sequence.*",
                "packed_sequence.max_packs",
                "packed_sequence.num_proc",
                "packed_sequence.packing_strategy",
                "packed_sequence.split_across_pack",
                "peft.*",
                "peft.dropout",
                "peft.exclude_modules",
                "peft.match_all_linear",
                "peft.moe_rank_scaling",
                "peft.use_triton",
                "ci.**",
                "benchmark.**",
                "wandb.*",
                "mlflow.*",
                "comet.*",
                "compile.*",
                "compile.dynamic",
                "compile.fullgraph",
                "compile.mode",
                "clip_grad_norm.*",
                "max_grad_norm",
                "autopipeline.*",
                "autopipeline.layers_per_stage",
                "autopipeline.patch_causal_lm_model",
                "autopipeline.patch_inner_model",
                "autopipeline.pp_seq_len",
                "autopipeline.round_virtual_stages_to_pp_multiple",
                "quantization.*",
                "quantization.bnb_4bit_*",
                "fp8.*",
                "fp8.emulate",
                "fp8.filter_fqns",
                "fp8.force_recompute_fp8_weight_in_bwd",
                "fp8.precompute_float8_dynamic_scale_for_fsdp",
                "fp8.enable_fsdp_float8_all_gather",
                "processor.**",
                "freeze_config.*",
                "teacher_model.**",
                "teacher_distributed.**",
                "kd_*",
                "loggers*",
                "logger.*",
                "profiling.*",
                "moe_metrics.**",
                "qat.*",
                "delayed_fake_quant.*",
                "slurm.**",
                "mtp_*",
                "moe_parallelizer.*",
                "generation**",
                "nvtx"});
    out_.passed = in_.finish(out_.framework);
    require_suits(in_, out_);
    return std::move(out_);
  }

 private:
  void note(std::string const& what) { out_.notes.push_back(what); }

  void read_degrees() {
    auto& m = out_.setting.model;
    auto& spread = m.spread;
    spread.tensor = degree_of(in_, "distributed.tp_size");
    spread.context = degree_of(in_, "distributed.cp_size");
    auto const stages = degree_of(in_, "distributed.pp_size");
    out_.setting.pipeline.stages = static_cast<std::uint64_t>(stages);
    auto const degrees = spread.tensor * spread.context * stages;
    auto const data = in_.has("distributed.dp_size") && in_.word("distributed.dp_size", "none") != "none"
                          ? in_.number("distributed.dp_size", 1, 1 << 14)
                          : std::nullopt;
    auto const gpus = data && !asked_.gpus ? *data * degrees : gpus_of(in_, asked_);
    spread.data = ranks_of(in_, gpus, degrees, "tp_size x cp_size x pp_size") * spread.context;
    spread.sequence_parallel = spread.tensor > 1 && in_.flag("distributed.sequence_parallel");
    auto const strategy = in_.one_of("distributed.strategy", {"fsdp2", "megatron_fsdp", "ddp"});
    set_fsdp(out_);
    auto const target = in_.word("distributed._target_");
    if (strategy == "ddp" || target.find("DDP") != target.npos) spread.zero = 0;
    auto const reshard =
        in_.has("distributed.moe.reshard_after_forward") ? "distributed.moe.reshard_after_forward" : "distributed.reshard_after_forward";
    if (spread.zero == 3 && !in_.flag(reshard, stages == 1)) spread.zero = 2;
    auto const defers = in_.flag("distributed.defer_fsdp_grad_sync", true), views = in_.flag("distributed.gradient_as_bucket_view");
    if (spread.zero == 0) m.kernels.kept_copies = false;
    if (spread.zero == 0 ? !views : defers) m.kernels.local_gradient = spread.zero == 0 ? 2 : 4;  // FSDP2 reduces in float32
    if (auto const replicas = degree_of(in_, "distributed.dp_replicate_size"); replicas > 1 && spread.zero > 1) {
      if (spread.data % replicas != 0) in_.refuse("distributed.dp_replicate_size", "does not divide the data-parallel ranks");
      m.kernels.instances = replicas;
    }
    auto const experts = degree_of(in_, "distributed.ep_size");
    if (out_.model.experts > 0) {
      m.expert = experts;
      m.expert_tensor = 1;
      auto const dispatcher = in_.word_near("model.backend.dispatcher", "", {"torch", "deepep", "hybridep", "uccl_ep", "mok"});
      if (dispatcher == "deepep") out_.time.dispatcher = ballast::token_dispatcher::once;
    } else if (experts > 1) {
      note("ep_size changes nothing: the model has no experts");
    }
    if (spread.context > 1) out_.time.gathered_context = true;
    read_recomputation();
    if (in_.flag("distributed.cpu_offload") || !in_.word("distributed.offload_policy._target_").empty()) {
      if (spread.zero == 0) in_.refuse("distributed.offload_policy", "needs shards: strategy fsdp2 on several devices");
      m.moved = spread.zero == 3 ? ballast::offload::parameters : ballast::offload::gradients;
    }
    m.kernels.tensor_overlap = in_.flag("distributed.enable_async_tensor_parallel");
  }

  /// All of a layer, or by operators as torchtitan does, in the parts of the model that a scope names.
  void read_recomputation() {
    auto how = in_.word("distributed.activation_checkpointing", "false");
    std::transform(how.begin(), how.end(), how.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    auto const is = [&](std::initializer_list<std::string_view> words) {
      return std::find(words.begin(), words.end(), how) != words.end();
    };
    auto const whole = is({"true", "yes", "on", "enabled", "full", "1"}), older = in_.flag("distributed.activation_checkpointing_llm");
    if (!whole && how != "selective" && !is({"false", "no", "off", "disabled", "none", "0"}))
      in_.refuse("distributed.activation_checkpointing", "must be true, false, full or selective");
    auto const scope = in_.list("distributed.activation_checkpointing_scope");
    auto const here = [](std::string const& part) { return part == "all" || part == "language" || part == "default" || part == "auto"; };
    if (!scope.empty() && std::none_of(scope.begin(), scope.end(), here)) return;
    using enum ballast::recompute_setting::kind;
    out_.setting.recompute.what = whole || older ? uniform : how == "selective" ? products : none;
  }

  /// A format of PyTorch, with or without its module.
  [[nodiscard]] std::string format_of(std::string const& key, std::string const& otherwise) {
    auto const given = in_.word(key, otherwise);
    auto const name = given.starts_with("torch.") ? given.substr(6) : given;
    in_.require_word(key, name, {"bf16", "bfloat16", "float16", "half", "float32", "float", "auto"});
    return name == "float" ? "float32" : name;
  }

  void read_states() {
    auto& m = out_.setting.model;
    auto const floats = format_of("model.torch_dtype", format_of("model.dtype", "bf16")).ends_with("float32");
    m.optimizer = ballast::optimizer_named(floats ? "adam-fp32" : "adam-bf16");
    auto const policy = format_of("distributed.mp_policy.param_dtype", "bfloat16");  // of FSDP2, whatever it stores
    if (m.spread.zero == 0 ? floats : policy.ends_with("float32")) m.kernels.value = 4;
    if (floats && m.kernels.local_gradient > 0) m.kernels.local_gradient = 4;
    set_torch_optimizer(in_, "optimizer._target_", "optimizer.", out_);
    read_loss();
    auto const attention = in_.word("model.attn_implementation");
    if (attention == "eager") m.attention = ballast::attention_kernel::stored_scores;
    if (attention == "flash_attention_3") out_.time.attention = ballast::attention_library::flash3;
    auto const compiled = in_.flag("compile.enabled") || in_.flag("distributed.enable_compile");
    if (compiled) {
      out_.time.rates.family = ballast::kernel_family::compiled;
      note("compile is not counted in the memory, which is too high");
    }
    if (in_.flag("fp8.enabled")) {
      out_.time.rates.fp8 = true;
      note("fp8: products are timed in 8 bits, and their inputs are kept in 16 bits");
    }
    auto const quantised = in_.flag("quantization.load_in_4bit");
    if (in_.has_section("peft.")) {
      m.language = {.what = ballast::trained::low_rank, .rank = in_.number("peft.dim", 1, 1 << 16).value_or(8), .quantised = quantised};
      m.kernels.adapter_value = 2;
      if (!in_.list("peft.target_modules").empty() && !in_.flag("peft.match_all_linear"))
        note("peft.target_modules are judged as all linear layers: the memory is too high");
    } else if (quantised) {
      in_.refuse("quantization.load_in_4bit", "is not modelled without adapters");
    }
  }

  void read_loss() {
    auto& m = out_.setting.model;
    auto const loss = in_.word("loss_fn._target_");
    auto const is = [&](char const* part) { return loss.find(part) != loss.npos; };
    auto const halves = !in_.flag("loss_fn.fp32_upcast", true);
    using enum ballast::head_loss::kind;
    if (is("FusedLinear")) {
      m.loss.how = fused;
    } else if (is("TEParallel")) {
      m.loss.how = in_place;
    } else if (is("Chunked")) {  // logits in 16 bits with their gradient; a chunk at a time in float32
      auto const rows = out_.setting.sequence * out_.setting.micro_batch / m.spread.context;
      m.loss = {.how = sixteen_bits, .chunks = ballast::divide_up(rows, in_.number_or("loss_fn.chunk_len", 32))};
    } else {
      m.loss.how = halves ? sixteen_bits : m.spread.tensor > 1 ? parallel : plain;
      if (m.spread.tensor > 1)
        note("the loss gathers the logits of all tensor-parallel ranks, of which only their share is counted: the memory is too low");
    }
  }

  void read_batches() {
    auto& by = out_.setting;
    auto const packed = in_.number("packed_sequence.packed_sequence_size", 0, 1 << 30).value_or(0);
    std::optional<std::int64_t> length;
    for (auto const* const key : {"dataset.seq_length", "dataset.seq_len", "dataset.max_length", "dataset.max_seq_length"})
      if (!length) length = in_.number(key, 1, 1 << 30);
    by.sequence = asked_.sequence.value_or(packed > 0 ? packed : length.value_or(0));
    out_.details.packing = packed > 0;
    take_learning_rate(in_, {"optimizer.lr"}, out_);
    if (by.sequence == 0)
      throw bad_input(in_.file() +
                      ": neither packed_sequence.packed_sequence_size nor dataset.seq_length says the length; --seq-length does");
    auto const local = in_.number("step_scheduler.local_batch_size", 1, 1 << 20).value_or(1);
    auto const stages = by.pipeline.stages;
    auto const part = in_.number("distributed.pipeline.pp_microbatch_size", 1, 1 << 20).value_or(1);
    if (stages > 1 && local % part != 0) in_.refuse("step_scheduler.local_batch_size", "is no multiple of pp_microbatch_size");
    by.micro_batch = asked_.micro_batch.value_or(stages > 1 ? part : local);
    if (auto const global = in_.number("step_scheduler.global_batch_size", 1, 1 << 24); asked_.micro_batches)
      by.micro_batches = *asked_.micro_batches;
    else
      set_global_batch(in_, by, global.value_or(local * by.ranks()), "step_scheduler.global_batch_size");
  }

  void read_stages() {
    auto& by = out_.setting;
    auto const stages = static_cast<std::int64_t>(by.pipeline.stages);
    if (stages == 1) return;
    auto schedule = in_.word("distributed.pipeline.pp_schedule", "1f1b");
    std::transform(schedule.begin(), schedule.end(), schedule.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    auto const several = schedule.starts_with("interleaved");
    if (schedule == "gpipe")
      by.pipeline.schedule = ballast::gpipe_schedule{};
    else if (!several && schedule != "1f1b")
      in_.refuse("distributed.pipeline.pp_schedule", "is not modelled");
    auto const of_chunk = in_.number("distributed.pipeline.layers_per_stage", 1, 1 << 16);
    auto const layers = out_.model.layers;
    auto chunks = of_chunk ? (layers + *of_chunk - 1) / *of_chunk : stages * (several ? 2 : 1);
    auto const round = in_.word("distributed.pipeline.round_virtual_stages_to_pp_multiple");
    if (chunks % stages != 0 && round == "up") chunks += stages - chunks % stages;
    if (chunks % stages != 0 && round == "down") chunks -= chunks % stages;
    if (chunks % stages != 0 || chunks > layers || (several ? chunks < stages : chunks != stages))
      throw bad_input(in_.file() + ": the layers are cut into " + std::to_string(chunks) + " parts, which do not suit " +
                      std::to_string(stages) + " stages under the schedule " + printable(schedule));
    if (several && chunks > stages)
      by.pipeline.schedule = ballast::interleaved_schedule{.chunks = static_cast<std::uint64_t>(chunks / stages)};
  }

  void read_teacher() {
    auto const name = in_.word("teacher_model.pretrained_model_name_or_path");
    auto const known = !name.empty() && asked_.find_model ? asked_.find_model(name) : std::nullopt;
    auto const& by = out_.setting;
    if (known)
      out_.roles.push_back(forward_role(in_, "teacher", known->language,
                                        {.gpus = by.gpus(),
                                         .tensor = by.model.spread.tensor,
                                         .stages = static_cast<std::int64_t>(by.pipeline.stages),
                                         .sharded = by.model.spread.zero > 1}));
    else
      note("the teacher model is not judged: the memory is too low");
  }

  setting_table in_;
  setting_request const& asked_;
  imported_setting out_;
};

[[nodiscard]] ballast::exported_setting automodel_yaml(imported_setting const& of) {
  auto const& model = of.model;
  auto const& by = of.setting;
  require_valid(by, model);
  ballast::exported_setting out;
  auto const& m = by.model;
  auto const& spread = m.spread;
  auto const lack = [&](auto const&... parts) { out.without.push_back(ballast::sentence(parts...)); };
  auto const on = [](bool value) { return value ? "true" : "false"; };
  using loss = ballast::head_loss::kind;
  using again = ballast::recompute_setting::kind;
  auto const floats = m.optimizer.name == "adam-fp32";
  if (!floats && m.optimizer.name != "adam-bf16") lack("optimizer ", m.optimizer.name);
  if (spread.zero == 1 || (spread.zero > 1 && spread.data == 1)) lack("ZeRO stage ", spread.zero);
  auto const away = m.moved != ballast::offload::none;
  if (away && m.moved != (spread.zero == 3 ? ballast::offload::parameters : ballast::offload::gradients))
    lack("offload ", ballast::detail::offload_in_words(m.moved));
  if (away && spread.zero < 2) lack("offload without shards");
  if (spread.context > 1 && m.method != ballast::context_method::ring) lack("sequence parallelism by heads");
  if (by.recompute.what != again::none && by.recompute.what != again::products &&
      (by.recompute.what != again::uniform || by.recompute.layers != 1))
    lack("recompute ", ballast::detail::recompute_in_words(by.recompute));
  auto const adapts = m.language.what == ballast::trained::low_rank;
  if (m.language.what == ballast::trained::none || (adapts && m.language.matrices != ballast::adapted_matrices::every_matrix))
    lack(ballast::detail::trained_in_words(m.language));
  if (model.experts > 0 && m.experts().expert_tensor > 1) lack("expert-tensor parallelism");
  if (m.expert_capacity > 0) lack("expert capacity");
  if (m.fp8_experts) lack("experts in 8 bits");
  auto even = by;
  even.boundaries.clear();
  if (boundaries_of(even, model) != boundaries_of(by, model)) lack("the cut");
  auto const rows = by.sequence * by.micro_batch / spread.context, of_chunk = ballast::divide_up(rows, m.loss.chunks);
  auto const halves = m.loss.how == loss::sixteen_bits, whole = m.loss.how == (spread.tensor > 1 ? loss::parallel : loss::plain);
  auto const fused = m.loss.how == loss::fused, in_place = m.loss.how == loss::in_place;
  if ((!halves && !whole && !fused && !in_place) || (halves && ballast::divide_up(rows, of_chunk) != m.loss.chunks))
    lack("head loss ", to_string(m.loss));

  auto const stages = static_cast<std::int64_t>(by.pipeline.stages), chunks = stages * static_cast<std::int64_t>(by.chunks());
  auto const one = std::holds_alternative<ballast::one_f_one_b_schedule>(by.pipeline.schedule),
             gpipe = std::holds_alternative<ballast::gpipe_schedule>(by.pipeline.schedule);
  auto const several = std::holds_alternative<ballast::interleaved_schedule>(by.pipeline.schedule) && by.chunks() > 1;
  if (!one && (stages == 1 || (!gpipe && !several))) lack(ballast::detail::schedule_in_words(by.pipeline.schedule));
  auto const of_chunk_layers = ballast::divide_up(model.layers, chunks);
  if (several && ballast::divide_up(model.layers, of_chunk_layers) != chunks) lack("chunks of unequal layers");

  auto& text = out.text;
  auto const line = [&](auto const&... parts) { text += ballast::sentence(parts..., "\n"); };
  line("recipe: TrainFinetuneRecipeForNextTokenPrediction\nstep_scheduler:\n  global_batch_size: ", by.global_batch(),
       "\n  local_batch_size: ", stages > 1 ? by.micro_batch * by.micro_batches : by.micro_batch);
  line(
      "model:\n  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained\n  pretrained_model_name_or_path: NAME  # of the model");
  line("  torch_dtype: ", floats ? "float32" : "bfloat16",
       "\n  attn_implementation: ", attention_word(of).ends_with('2') ? "sdpa" : attention_word(of));
  if (model.experts > 0 && of.time.dispatcher == ballast::token_dispatcher::once) line("  backend:\n    dispatcher: deepep");
  line("distributed:\n  strategy: ", spread.zero == 0 && spread.data > 1 ? "ddp" : "fsdp2", "\n  tp_size: ", spread.tensor,
       "\n  cp_size: ", spread.context, "\n  pp_size: ", stages);
  if (spread.zero > 0 || spread.data == 1) line("  sequence_parallel: ", on(spread.sequence_parallel));
  if (spread.zero == 0 && spread.data > 1 && spread.tensor > 1) lack("tensor parallelism under DDP");
  if (model.experts > 0) line("  ep_size: ", m.expert);
  line("  activation_checkpointing: ", by.recompute.what == again::products ? "selective" : on(by.recompute.what == again::uniform));
  if (spread.zero > 1) line("  reshard_after_forward: ", on(spread.zero == 3));
  if (spread.zero > 1) line("  defer_fsdp_grad_sync: ", on(m.kernels.local_gradient > 0));
  if (m.kernels.instances > 1) line("  dp_replicate_size: ", m.kernels.instances);
  if (m.kernels.tensor_overlap) line("  enable_async_tensor_parallel: true");
  if (away) line("  offload_policy:\n    _target_: torch.distributed.fsdp.CPUOffloadPolicy");
  if (stages > 1)
    line("  pipeline:\n    pp_schedule: ",
         several ? "interleaved1f1b"
         : gpipe ? "gpipe"
                 : "1f1b",
         "\n    pp_microbatch_size: ", by.micro_batch);
  if (several) line("    layers_per_stage: ", of_chunk_layers);
  if (adapts)
    line("peft:\n  _target_: nemo_automodel.components._peft.lora.PeftConfig\n  match_all_linear: true\n  dim: ", m.language.rank);
  if (adapts && m.language.quantised) line("quantization:\n  load_in_4bit: true");
  std::string const losses = "loss_fn:\n  _target_: nemo_automodel.components.loss.";
  if (fused || in_place)
    line(losses, fused ? "linear_ce.FusedLinearCrossEntropy" : "te_parallel_ce.TEParallelCrossEntropy");
  else if (halves && m.loss.chunks > 1)
    line(losses, "chunked_ce.ChunkedCrossEntropy\n  chunk_len: ", of_chunk);
  else
    line(losses, "masked_ce.MaskedCrossEntropy\n  fp32_upcast: ", on(!halves));
  auto const packs = packs_samples(of);
  line("packed_sequence:\n  packed_sequence_size: ", packs ? by.sequence : 0, "\ndataset:\n  _target_: NAME  # of the data");
  if (!packs) line("  seq_length: ", by.sequence);
  if (is_compiled(of)) line("compile:\n  enabled: true");
  if (of.time.rates.fp8) line("fp8:\n  enabled: true");
  line("optimizer:\n  _target_: torch.optim.AdamW\n  lr: ", rate_or_example(of));
  return out;
}

constexpr task_words automodel_tasks[]{{.task = training_task::finetuning}};

}  // namespace

constinit framework_format const automodel_format{
    .name = "NeMo Automodel",
    .word = "automodel",
    .likeness =
        [](setting_source const& in) {
          auto const own = in.table.has_section("step_scheduler.") && (in.table.has_section("model.") || in.table.has("recipe"));
          return (in.is("yaml") || in.is("json")) && own ? 90 : 0;
        },
    .read = [](setting_source source, setting_request const& asked) { return automodel_importer(source.table, asked).read(); },
    .write = automodel_yaml,
    .tasks = automodel_tasks};

}  // namespace ballast_cli
