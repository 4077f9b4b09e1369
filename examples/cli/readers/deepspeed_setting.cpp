// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/framework_setting.hpp"
#include "readers/setting_documents.hpp"
#include "readers/trainer_keys.hpp"

#include <ballast/footprint/model_layers.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/partition/min_max.hpp>
#include <ballast/plan/export/deepspeed.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <utility>

// deepspeedai/DeepSpeed edaa7221: the JSON file.

namespace ballast_cli {

namespace {

[[nodiscard]] std::int64_t asked_length(setting_table const& in, setting_request const& asked) {
  if (!asked.sequence) throw bad_input(in.file() + ": the setting does not say the length of a sequence; --seq-length does");
  return *asked.sequence;
}

/// The cut of PipelineModule by default: the largest number of parameters of a stage is as small as it can be.
[[nodiscard]] std::vector<std::uint32_t> cut_by_parameters(imported_setting const& out) {
  std::vector<std::int64_t> parameters;
  for (auto const& layer : ballast::layers_of(out.model, out.setting.model)) parameters.push_back(layer.parameters);
  return ballast::min_max_partition(parameters, {.stages = out.setting.pipeline.stages}).boundaries;
}

class deepspeed_importer {
 public:
  deepspeed_importer(setting_table& table, setting_request asked) : in_(table), asked_(std::move(asked)) {}

  imported_setting read() {
    out_.framework = "DeepSpeed";
    auto const replaced = asked_.trainer ? read_trainer_arguments(*asked_.trainer, trainer_) : std::string();
    asked_.checkpointing = asked_.checkpointing || trainer_.checkpointing;
    if (asked_.precision.empty()) asked_.precision = trainer_.precision;
    take_model(in_, asked_, {}, out_);
    out_.setting.sequence = asked_length(in_, asked_);
    out_.setting.model.framework = ballast::framework_named("eager");
    out_.time.rates.family = ballast::kernel_family::eager;
    out_.time.attention = ballast::attention_library::flash2;
    if (asked_.checkpointing) out_.setting.recompute.what = ballast::recompute_setting::kind::uniform;
    read_degrees();
    read_states();
    if (auto const type = in_.word("optimizer.type", "auto"); type == "auto" && !replaced.empty()) set_optimizer(replaced, "optim", out_);
    read_zero();
    read_batches();
    if (in_.has_section("activation_checkpointing."))
      note(
          "activation_checkpointing acts only where the model's code calls it; --gradient-checkpointing says that all layers are "
          "recomputed");
    if (in_.has_section("zero_optimization.zenflow"))
      note("ZenFlow is judged as plain offload: the memory is too low by its selected gradients, and the time is too long");
    if (in_.flag("zero_optimization.offload_optimizer.super_offload"))
      note("super_offload is judged as plain offload: the time is too long");
    in_.ignore({"activation_checkpointing.*",
                "activation_checkpointing.contiguous_memory_optimization",
                "activation_checkpointing.cpu_checkpointing",
                "activation_checkpointing.number_checkpoints",
                "activation_checkpointing.partition_activations",
                "activation_checkpointing.synchronize_checkpoint_boundary",
                "activation_checkpointing.profile",
                "torch_autocast.*",
                "torch_autocast.enabled",
                "torch_autocast.dtype",
                "torch_autocast.lower_precision_safe_modules",
                "zero_optimization.zenflow**",
                "zero_optimization.leaf_module**",
                "zero_optimization.zeropp_loco_param**",
                "data_efficiency.*",
                "data_efficiency.enabled",
                "dataloader_drop_last",
                "seq_parallel_communication_data_type",
                "timers.**",
                "nebula.**",
                "use_data_before_expert_parallelism",
                "gradient_clipping",
                "prescale_gradients",
                "steps_per_print",
                "wall_clock_breakdown",
                "dump_state",
                "scheduler.**",
                "optimizer.*",
                "optimizer.params.bias_correction",
                "optimizer.params.adam_w_mode",
                "optimizer.params.freeze_step",
                "optimizer.params.var_freeze_step",
                "optimizer.params.torch_adam",
                "flops_profiler.**",
                "tensorboard.*",
                "wandb.*",
                "csv_monitor.**",
                "comms_logger.**",
                "zero_allow_untested_optimizer",
                "zero_force_ds_cpu_optimizer",
                "gradient_predivide_factor",
                "sparse_gradients",
                "fp16.*",
                "fp16.auto_cast",
                "fp16.hysteresis",
                "fp16.consecutive_hysteresis",
                "bf16.*",
                "amp.*",
                "aio.**",
                "checkpoint.**",
                "pipeline.*",
                "memory_breakdown",
                "seed",
                "disable_allgather",
                "data_types.*",
                "elasticity.**",
                "autotuning.**",
                "curriculum_learning.*",
                "compile.*"});
    out_.passed = in_.finish(out_.framework);
    if (out_.setting.pipeline.stages > 1) {
      try {
        out_.setting.boundaries = cut_by_parameters(out_);
      } catch (ballast::invalid_input const& e) {
        throw bad_input(in_.file() + ": " + e.what());
      }
      note("the cut is that of partition_method = \"parameters\", the default of PipelineModule, which takes it in code");
    }
    require_suits(in_, out_);
    return std::move(out_);
  }

 private:
  void note(std::string const& what) { out_.notes.push_back(what); }
  [[nodiscard]] bool is_auto(char const* key) { return in_.has(key) && in_.word(key) == "auto"; }

  void read_degrees() {
    auto& spread = out_.setting.model.spread;
    auto const stages = is_auto("pipeline.stages") ? 1 : in_.number_or("pipeline.stages", 1);
    out_.setting.pipeline.stages = static_cast<std::uint64_t>(stages);
    if (auto const interval = in_.number_or("pipeline.activation_checkpoint_interval", 0, 0); interval > 0 && stages > 1)
      out_.setting.recompute = {.what = ballast::recompute_setting::kind::uniform, .layers = (std::min)(interval, out_.model.layers)};
    spread.tensor = (std::max)(in_.number_or("tensor_parallel.autotp_size", 1, 0), std::int64_t{1});
    spread.context = in_.number_or("sequence_parallel_size", 1);
    if (spread.context > 1) out_.setting.model.method = ballast::context_method::ulysses;
    for (auto const degree : {stages, spread.tensor, spread.context})
      if (degree > 1 << 16) throw bad_input(in_.file() + ": a degree is above 2^16");
    auto const degrees = stages * spread.tensor * spread.context;
    spread.data = ranks_of(in_, gpus_of(in_, asked_), degrees, "stages x autotp_size x sequence_parallel_size") * spread.context;
    in_.ignore({"tensor_parallel.*"});
  }

  void read_states() {
    auto& optimizer = out_.setting.model.optimizer;
    auto const on = [&](char const* key) {
      if (is_auto(key)) {
        if (!asked_.precision.empty()) return asked_.precision == std::string_view(key).substr(0, 4);
        note(std::string(key) + " = auto is judged as true, as the trainer's usual value");
        return true;
      }
      return in_.flag(key);
    };
    auto const bf16 = on("bf16.enabled");
    if (bf16 && !is_auto("bf16.enabled") && !is_auto("fp16.enabled") && in_.flag("fp16.enabled"))
      in_.refuse("fp16.enabled", "is on beside bf16.enabled, of which only one may be");
    auto const fp16 = in_.has("fp16.enabled") && !bf16 && on("fp16.enabled");
    auto const accumulated = in_.one_of_or("data_types.grad_accum_dtype", bf16 ? "bf16" : fp16 ? "fp16" : "fp32", {"fp32", "fp16", "bf16"});
    optimizer = ballast::optimizer_named(accumulated == "fp32" ? "adam" : "adam-bf16-gradients");  // None is the model's format
    if (!bf16 && !fp16) {
      optimizer = ballast::optimizer_named("adam-fp32");
      auto const autocast = in_.flag("torch_autocast.enabled");
      if (!autocast) out_.setting.model.kernels.value = 4;
      if (!autocast) out_.untimed = "the rates of kernels are those of 16 and 8 bits, and neither bf16 nor fp16 is enabled";
    }
    auto const floats = in_.flag("fp32_allreduce");
    out_.time.float_reduction = in_.one_of_or("communication_data_type", "none", {"fp16", "bf16", "fp32", "auto"}) == "fp32" || floats;
    auto const short_master = in_.flag("bf16.bf16_master_weights_and_grads"), short_moments = in_.flag("bf16.bf16_optimizer_states");
    take_learning_rate(in_, {"optimizer.params.lr"}, out_);
    auto type = in_.word("optimizer.type", "AdamW");
    std::transform(type.begin(), type.end(), type.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (type == "sgd") {
      auto const momentum = in_.decimal_number("optimizer.params.momentum").value_or(0);
      optimizer = ballast::optimizer_named(momentum > 0 ? "sgd-momentum" : "sgd");
    } else if (type == "lion" || type == "muon") {
      optimizer.name = type == "lion" ? "lion" : "muon";
      optimizer.state.optimizer -= 4;
    } else if (type.starts_with("onebit") || type.starts_with("zeroone")) {
      note("optimizer.type " + type + " is judged as Adam: exchanges of gradients are too long");
    } else if (type != "adam" && type != "adamw" && type != "fusedadam" && type != "deepspeedcpuadam" && type != "auto") {
      in_.refuse("optimizer.type", "is not modelled");
    }
    if (short_master) optimizer.state.optimizer -= 2;
    if (short_moments) optimizer.state.optimizer -= 4;
    if (short_master || short_moments) optimizer.name = "adam with states in bfloat16";
  }

  void read_zero() {
    auto& m = out_.setting.model;
    m.spread.zero = static_cast<int>(in_.number_or("zero_optimization.stage", 0, 0));
    if (m.spread.zero > 3) in_.refuse("zero_optimization.stage", "must be 0 to 3");
    if (out_.setting.pipeline.stages > 1 && m.spread.zero > 1)
      in_.refuse("zero_optimization.stage", "is refused by DeepSpeed with a pipeline");
    auto const away = [&](char const* key) { return in_.one_of(key, {"none", "cpu", "nvme"}) != "none"; };
    auto const states = away("zero_optimization.offload_optimizer.device"), parameters = away("zero_optimization.offload_param.device");
    auto const share = in_.decimal_number("zero_optimization.offload_optimizer.ratio").value_or(1);
    if (share < 1) note("zero_optimization.offload_optimizer.ratio below 1 is judged as 1: the memory is too low");
    if (states && m.spread.zero >= 1) m.moved = ballast::offload::gradients;
    if (parameters && m.spread.zero < 3) note("zero_optimization.offload_param acts under stage 3 alone, and is not counted");
    if (parameters && m.spread.zero == 3 && states) m.moved = ballast::offload::parameters;
    if (parameters && m.spread.zero == 3 && !states)
      note(
          "zero_optimization.offload_param without offload_optimizer leaves the other states on the devices, and is not counted: the "
          "memory "
          "is too high");
    auto const stage3 = m.spread.zero == 3;
    auto const overlaps = in_.has("zero_optimization.overlap_comm") && !is_auto("zero_optimization.overlap_comm")
                              ? in_.flag("zero_optimization.overlap_comm", stage3)
                              : stage3;
    auto const bucket = [&](char const* key) { return is_auto(key) ? 0 : in_.number_or(key, 500'000'000, 0); };
    auto const buckets = 2 * (bucket("zero_optimization.reduce_bucket_size") + bucket("zero_optimization.allgather_bucket_size"));
    if (m.spread.zero > 0 && buckets > 0)
      note("buckets of up to " + std::to_string(overlaps ? 2 * buckets : buckets) + " bytes are not counted: the memory is too low");
    out_.time.gradient_overlap = overlaps && m.spread.zero > 0;
    auto const* const live = in_.has("zero_optimization.max_live_parameters") ? "zero_optimization.max_live_parameters"
                                                                              : "zero_optimization.stage3_max_live_parameters";
    if (stage3 && !is_auto(live))
      note("of " + std::to_string(in_.number_or(live, 1'000'000'000, 0)) +
           " gathered parameters that may live, those of two layers are counted: the memory may be too low");
    if (in_.number_or("zero_optimization.zero_hpz_partition_size", 1) > 1)
      note("zero_hpz_partition_size is not modelled: the memory is too low, and exchanges are too long");
    for (auto const* const key : {"zero_quantized_weights", "zero_quantized_gradients"})
      if (in_.flag("zero_optimization." + std::string(key))) note(std::string(key) + " is not modelled: exchanges are too long");
    if (in_.word("zero_optimization.mics_shard_size", "-1") != "-1") note("mics_shard_size is not modelled: the memory is too low");
    for (std::string const part : {"zero_optimization.offload_optimizer.", "zero_optimization.offload_param."})
      for (auto const* const key : {"*", "buffer_count", "buffer_size", "fast_init", "max_in_cpu", "nvme_path", "pin_memory", "pipeline",
                                    "pipeline_read", "pipeline_write"})
        in_.ignore({part + key});
    in_.ignore({"zero_optimization.contiguous_gradients",
                "zero_optimization.reduce_scatter",
                "zero_optimization.round_robin_gradients",
                "zero_optimization.allgather_partitions",
                "zero_optimization.sub_group_size",
                "zero_optimization.stage3_*",
                "zero_optimization.cpu_offload*",
                "zero_optimization.elastic_checkpoint",
                "zero_optimization.load_from_fp32_weights",
                "zero_optimization.ignore_unused_parameters",
                "zero_optimization.gather_16bit_weights_on_model_save",
                "zero_optimization.zero_hpz_*",
                "zero_optimization.max_live_parameters",
                "zero_optimization.max_reuse_distance",
                "zero_optimization.prefetch_bucket_size",
                "zero_optimization.param_persistence_threshold",
                "zero_optimization.model_persistence_threshold",
                "zero_optimization.module_granularity_threshold",
                "zero_optimization.use_all_reduce_for_fetch_params",
                "zero_optimization.mics_hierarchical_params_gather",
                "zero_optimization.override_module_apply",
                "zero_optimization.grad_hooks",
                "zero_optimization.legacy_stage1",
                "zero_optimization.zero_quantized_nontrainable_weights",
                "zero_optimization.memory_efficient_linear",
                "zero_optimization.log_trace_cache_warnings"});
  }

  void read_batches() {
    auto& by = out_.setting;
    auto const value = [&](char const* key, std::optional<std::int64_t> const& given, std::optional<std::int64_t> const& of_trainer) {
      auto const in_file = is_auto(key) ? of_trainer : in_.number(key);
      return given ? given : in_file;
    };
    auto micro = value("train_micro_batch_size_per_gpu", asked_.micro_batch, trainer_.micro_batch),
         steps = value("gradient_accumulation_steps", asked_.micro_batches, trainer_.micro_batches);
    auto const global = is_auto("train_batch_size") ? std::nullopt : in_.number("train_batch_size");
    auto const ranks = by.ranks();
    if (global && !micro && !steps) steps = 1;  // as DeepSpeed: one micro-batch
    if (global && !micro && *global % (ranks * *steps) == 0) micro = *global / ranks / *steps;
    if (!micro)
      throw bad_input(in_.file() +
                      ": train_micro_batch_size_per_gpu is missing or auto, which the trainer replaces; --micro-batch says it");
    by.micro_batch = *micro;
    if (global && !asked_.micro_batch && !asked_.micro_batches) {
      set_global_batch(in_, by, *global, "train_batch_size");
      if (steps && *steps != by.micro_batches)
        in_.refuse("train_batch_size",
                   "is not train_micro_batch_size_per_gpu x gradient_accumulation_steps x " + std::to_string(ranks) + " ranks");
    } else {
      by.micro_batches = steps.value_or(1);
    }
  }

  setting_table& in_;
  setting_request asked_;
  setting_request trainer_{};  ///< what replaces "auto" where the command line does not say it
  imported_setting out_;
};

constexpr std::string_view deepspeed_keys[]{"train_batch_size",
                                            "train_micro_batch_size_per_gpu",
                                            "gradient_accumulation_steps",
                                            "zero_",
                                            "bf16.",
                                            "fp16.",
                                            "optimizer.",
                                            "pipeline.",
                                            "tensor_parallel.",
                                            "sequence_parallel_size",
                                            "activation_checkpointing.",
                                            "data_types."};

/// What the reader takes beside a setting and optimisers with names of their own.
void say_more(imported_setting const& of, std::string& text) {
  auto const& m = of.setting.model;
  auto const put = [&](std::string_view from, std::string const& to) {
    if (auto const at = text.find(from); at != text.npos) text.replace(at, from.size(), to);
  };
  auto const& is = m.optimizer;
  if (is.moments == ballast::moment_form::whole && (is.name == "lion" || is.name == "muon"))
    put("\"AdamW\"", is.name == "lion" ? "\"Lion\"" : "\"Muon\"");
  auto const given = is.name == "adam with states in bfloat16" ? is.state.optimizer : 12;
  if (is.state.gradient == 2) put("\"grad_accum_dtype\": \"fp32\"", "\"grad_accum_dtype\": \"bf16\"");
  std::string_view const bf16 = "\"bf16\": {\"enabled\": true";
  if (given < 12)
    put(bf16, std::string(bf16) + (given != 8 ? ", \"bf16_master_weights_and_grads\": true" : "") +
                  (given != 10 ? ", \"bf16_optimizer_states\": true" : ""));
  auto const stage = ballast::sentence("\"zero_optimization\": {\"stage\": ", m.spread.zero);
  if (m.spread.zero > 0 && of.time.gradient_overlap != (m.spread.zero == 3))
    put(stage, stage + ", \"overlap_comm\": " + (of.time.gradient_overlap ? "true" : "false"));
  if (of.time.float_reduction) put("  \"zero_optimization\"", "  \"communication_data_type\": \"fp32\",\n  \"zero_optimization\"");
}

[[nodiscard]] ballast::exported_setting deepspeed_file(imported_setting const& of) {
  auto out = ballast::deepspeed_json(of.model, of.setting);
  say_more(of, out.text);
  std::string_view const optimizer = "  \"optimizer\": {\"type\": ", parameters = "\"params\": {";
  auto const& rate = of.details.learning_rate;
  if (rate.empty()) return out;
  if (auto const at = out.text.find(parameters); at != out.text.npos)
    out.text.insert(at + parameters.size(), "\"lr\": " + rate + ", ");
  else
    out.text.insert(out.text.find('}', out.text.find(optimizer)), ", \"params\": {\"lr\": " + rate + "}");
  return out;
}

}  // namespace

imported_setting read_deepspeed(setting_table table, setting_request const& asked) { return deepspeed_importer(table, asked).read(); }

constinit framework_format const deepspeed_format{
    .name = "DeepSpeed",
    .word = "deepspeed",
    .likeness = [](setting_source const& in) { return in.is("json") && in.has_any(deepspeed_keys) ? 10 : 0; },
    .read = [](setting_source source, setting_request const& asked) { return deepspeed_importer(source.table, asked).read(); },
    .write = deepspeed_file};

}  // namespace ballast_cli
