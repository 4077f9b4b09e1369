// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "readers/framework_setting.hpp"
#include "readers/setting_documents.hpp"
#include "readers/trainer_keys.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

// huggingface/accelerate: the YAML of `accelerate config`, with FSDP, DeepSpeed or Megatron-LM.

namespace ballast_cli {

setting_table deepspeed_stage(std::string const& file, std::int64_t stage, std::string const& away, std::string const& precision) {
  setting_table out(file);
  auto const add = [&](char const* key, std::string const& word) { out.add({.key = key, .words = {word}, .place = file}); };
  add("zero_optimization.stage", std::to_string(stage));
  if (away != "none") add("zero_optimization.offload_optimizer.device", "cpu");
  if (away == "parameters") add("zero_optimization.offload_param.device", "cpu");
  add("bf16.enabled", precision == "bf16" ? "true" : "false");
  add("fp16.enabled", precision == "fp16" ? "true" : "false");
  for (auto const* const key : {"reduce_bucket_size", "allgather_bucket_size"})
    add(("zero_optimization." + std::string(key)).c_str(), "auto");
  if (stage == 3) add("zero_optimization.stage3_max_live_parameters", "auto");
  return out;
}

void take_accelerate(setting_table& table, setting_request& asked, trainer_setting& by, imported_setting& out) {
  auto& m = out.setting.model;
  if (auto const all = table.number("num_processes"); all && !asked.gpus) asked.gpus = all;
  auto const type = table.one_of_or("distributed_type", "NO",
                                    {"NO", "MULTI_GPU", "FSDP", "DEEPSPEED", "MEGATRON_LM", "MULTI_CPU", "XLA", "TPU", "MULTI_NPU",
                                     "MULTI_MLU", "MULTI_SDAA", "MULTI_MUSA", "MULTI_XPU", "MULTI_HPU", "MULTI_NEURON", "6", "false"});
  auto const mixed = table.one_of_or("mixed_precision", "no", {"no", "fp16", "bf16", "fp8", "false"});
  if (mixed == "fp8") out.notes.emplace_back("fp8 is not modelled: the time is too long");
  if (mixed != "no" && mixed != "false") by.precision = mixed == "fp16" ? "fp16" : "bf16";
  if (table.word_or_none("downcast_bf16") == "yes") out.notes.emplace_back("downcast_bf16 acts on TPUs alone");
  for (auto const* const prefix : {"parallelism_config.", "parallelism_config.parallelism_config_"}) {
    auto const key = [&](char const* name) { return prefix + std::string(name); };
    m.spread.tensor = (std::max)(m.spread.tensor, degree_of(table, {key("tp_size")}));
    auto const heads = degree_of(table, {key("sp_size")}), ring = degree_of(table, {key("cp_size")});
    if (heads > 1 && ring > 1) table.refuse(key("sp_size"), "beside cp_size is not modelled");
    m.spread.context = (std::max)({m.spread.context, heads, ring});
    if (heads > 1) m.method = ballast::context_method::ulysses;
    if (degree_of(table, {key("dp_replicate_size")}) > 1)
      out.notes.emplace_back("dp_replicate_size is judged as sharding over all ranks: the memory is too low");
  }
  for (std::string const key : {"dp_shard_size", "cp_backend", "cp_comm_strategy", "sp_attn_implementation", "sp_backend", "sp_seq_length",
                                "sp_seq_length_is_variable"})
    table.ignore({"parallelism_config." + key, "parallelism_config.parallelism_config_" + key});
  table.ignore({"parallelism_config.*"});
  if (type == "FSDP" || type == "6") {
    auto const stage = by.shards;
    take_fsdp(table, by, out);
    if (!by.shards) by.shards = stage.value_or(3);
  } else if (type == "DEEPSPEED") {
    by.deepspeed = table.word("deepspeed_config.deepspeed_config_file");
    auto const stage = table.number("deepspeed_config.zero_stage", 0, 3).value_or(2);
    auto const states = table.one_of("deepspeed_config.offload_optimizer_device", {"none", "cpu", "nvme"}),
               parameters = table.one_of("deepspeed_config.offload_param_device", {"none", "cpu", "nvme"});
    auto const away = parameters != "none" && stage == 3 ? "parameters" : states != "none" ? "optimizer" : "none";
    if (by.deepspeed.empty()) by.engine = deepspeed_stage(table.file(), stage, away, by.precision);
  } else if (type == "MEGATRON_LM") {
    auto const key = [](char const* name) { return "megatron_lm_config.megatron_lm_" + std::string(name); };
    m.framework = ballast::framework_named("megatron");
    m.loss = {};
    out.time.rates.family = ballast::kernel_family::engine;
    m.spread.tensor = degree_of(table, {key("tp_degree")});
    out.setting.pipeline.stages = static_cast<std::uint64_t>(degree_of(table, {key("pp_degree")}));
    m.spread.sequence_parallel = table.flag(key("sequence_parallelism")) && m.spread.tensor > 1;
    m.spread.zero = table.flag(key("use_distributed_optimizer")) ? 1 : 0;
    if (table.flag(key("recompute_activations")))
      out.setting.recompute = {.what = ballast::recompute_setting::kind::modules, .modules = {ballast::recompute_module::core_attention}};
    if (auto const batches = table.number(key("num_micro_batches")); batches && !asked.micro_batches) asked.micro_batches = batches;
  } else if (type == "TPU" || type == "XLA" || type == "MULTI_CPU") {
    table.refuse("distributed_type", "is no training on GPUs");
  }
  auto const section = [&](std::string const& name, bool used) { table.ignore({name + (used ? ".*" : ".**")}); };
  section("fsdp_config", type == "FSDP" || type == "6");
  section("deepspeed_config", type == "DEEPSPEED");
  section("megatron_lm_config", type == "MEGATRON_LM");
  table.ignore({"deepspeed_config.deepspeed_*",
                "deepspeed_config.gradient_clipping",
                "deepspeed_config.offload_optimizer_nvme_path",
                "deepspeed_config.offload_param_nvme_path",
                "deepspeed_config.seq_parallel_communication_data_type",
                "deepspeed_config.zero3_init_flag",
                "deepspeed_config.zero3_save_16bit_model",
                "megatron_lm_config.megatron_lm_gradient_clipping",
                "compute_environment",
                "debug",
                "machine_rank",
                "main_*",
                "num_machines",
                "rdzv_*",
                "same_network",
                "tpu_*",
                "use_cpu",
                "downcast_bf16",
                "enable_cpu_affinity",
                "gpu_ids",
                "dynamo_*",
                "ipex_config*",
                "mpirun_config*",
                "fp8_config.*",
                "fp8_config.amax_compute_algo",
                "fp8_config.amax_history_len",
                "fp8_config.backend",
                "fp8_config.fp8_format",
                "fp8_config.interval",
                "fp8_config.margin",
                "fp8_config.override_linear_precision",
                "command_file",
                "commands",
                "deepspeed_hostfile",
                "deepspeed_multinode_launcher",
                "aws_*",
                "ec2_*",
                "image_uri",
                "profile",
                "region",
                "iam_*",
                "use_xpu",
                "base_job_name",
                "pytorch_version",
                "py_version",
                "transformers_version",
                "additional_args*",
                "sagemaker_*"});
}

void take_launcher(setting_table& table, setting_request& asked, trainer_setting& by, imported_setting& out) {
  if (auto const all = table.number("num_processes"); all && !asked.gpus) asked.gpus = all;
  if (auto const each = table.number("num_gpus"); each && !asked.gpus) asked.gpus = *each * table.number_or("num_nodes", 1);
  auto const preset = table.word("accelerate_config");
  auto const named = table.word("config_file", preset);
  if (named.empty()) return;
  auto const zero = named.size() == 5 && named.starts_with("zero") && named[4] >= '1' && named[4] <= '3';
  if (zero) {
    by.engine = deepspeed_stage(table.file(), named[4] - '0', "none", by.precision);
  } else if (named == "fsdp1" || named == "fsdp2") {
    by.shards = 3;
  } else if (named != "single_gpu" && named != "multi_gpu") {
    auto const text = asked.find_file ? asked.find_file(named) : std::nullopt;
    auto const* const key = preset.empty() ? "config_file" : "accelerate_config";
    if (!text) return out.unread.push_back(table.file() + ": " + key + " " + printable(named) + ", a file that is not found");
    auto inner = read_yaml_setting(*text, named);
    take_accelerate(inner, asked, by, out);
    out.notes.push_back("accelerate's setting is that of " + printable(named));
  }
}

namespace {

[[nodiscard]] imported_setting accelerate_setting(setting_table in, setting_request asked) {
  imported_setting out;
  out.framework = "accelerate";
  begin_eager(out);
  take_model(in, asked, {}, out);
  take_sequence(in, asked, {"seq-length"}, 0, out);
  trainer_setting by;
  take_accelerate(in, asked, by, out);
  set_ranks(in, asked, out, "its degrees");
  if (asked.checkpointing) out.setting.recompute.what = ballast::recompute_setting::kind::uniform;
  take_batches(in, asked, "micro_batch_size", 0, "deepspeed_config.gradient_accumulation_steps", 1, out);
  if (auto& m = out.setting.model; m.framework.count == ballast::tensor_count::megatron) {
    m.optimizer = ballast::optimizer_named(by.precision == "fp32" ? "adam-fp32" : "adam");
    if (by.precision == "fp32") m.kernels.value = 4;
  } else {
    set_states(in, asked, by, out);
  }
  finish_setting(in, out);
  return out;
}

[[nodiscard]] ballast::exported_setting accelerate_yaml(imported_setting const& of) {
  ballast::exported_setting out;
  auto const& by = of.setting;
  auto const& m = by.model;
  auto const engine = m.optimizer.name == "adam-bf16-gradients" || m.spread.zero == 1;
  auto const sharded = !engine && m.spread.zero >= 2;
  auto& text = out.text;
  auto const line = [&](auto const&... parts) { text += ballast::sentence(parts..., "\n"); };
  line("compute_environment: LOCAL_MACHINE\ndistributed_type: ", engine ? "DEEPSPEED" : sharded ? "FSDP" : "MULTI_GPU");
  line("mixed_precision: ", m.kernels.value > 2 ? "'no'" : "bf16", "\nnum_machines: 1\nnum_processes: ", by.gpus());
  if (m.spread.tensor > 1 || m.spread.context > 1)
    line("parallelism_config:\n  parallelism_config_tp_size: ", m.spread.tensor, "\n  parallelism_config_",
         m.method == ballast::context_method::ring ? "cp" : "sp", "_size: ", m.spread.context, "\n  parallelism_config_dp_",
         sharded || engine ? "shard" : "replicate", "_size: ", m.spread.data / m.spread.context);
  if (engine)
    line("deepspeed_config:\n  zero_stage: ", m.spread.zero,
         "\n  offload_optimizer_device: ", m.moved == ballast::offload::none ? "none" : "cpu",
         "\n  offload_param_device: ", m.moved == ballast::offload::parameters ? "cpu" : "none");
  if (sharded)
    line("fsdp_config:\n  fsdp_version: 2\n  fsdp_reshard_after_forward: ", m.spread.zero == 3 ? "true" : "false",
         "\n  fsdp_offload_params: ", m.moved == ballast::offload::none ? "false" : "true",
         "\n  fsdp_activation_checkpointing: ", by.recompute.what != ballast::recompute_setting::kind::none ? "true" : "false");
  return out;
}

}  // namespace

constinit framework_format const accelerate_format{
    .name = "accelerate",
    .word = "accelerate",
    .likeness =
        [](setting_source const& in) {
          auto const has = in.table.has("compute_environment") || in.table.has("distributed_type");
          return (in.is("yaml") || in.is("json")) && has ? 60 : 0;
        },
    .read = [](setting_source source, setting_request const& asked) { return accelerate_setting(std::move(source.table), asked); },
    .write = accelerate_yaml};

}  // namespace ballast_cli
