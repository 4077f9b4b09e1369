// SPDX-License-Identifier: Apache-2.0
#include "readers/setting_writers.hpp"

#include <ballast/plan/export/setting.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <utility>

// Files on Megatron-Core's keys: the flags of Megatron-LM under the names that its configurations have, in the sections that
// NVIDIA-NeMo/Megatron-Bridge 067f987df and NVIDIA/NeMo 8cfedd7203 put them.

namespace ballast_cli {

namespace {

/// Where a flag goes; without a section the framework has no key for it.
struct core_place {
  std::string_view flag, bridge, nemo;
  std::string_view key{}, value{};  ///< in place of the flag's own; empty: those
};

constexpr std::string_view in_strategy = "trainer.strategy.", ddp_of_strategy = "trainer.strategy.ddp.", in_optimizer = "optimizer.",
                           in_optim = "optim.config.", in_precision = "mixed_precision.", in_plugin = "trainer.plugins.";

// All others are in Megatron-Bridge's "model." and NeMo's "model.config.".
constexpr core_place core_places[]{{"tensor_model_parallel_size", "model.", in_strategy},
                                   {"pipeline_model_parallel_size", "model.", in_strategy},
                                   {"pipeline_model_parallel_layout", "model.", in_strategy},
                                   {"context_parallel_size", "model.", in_strategy},
                                   {"sequence_parallel", "model.", in_strategy},
                                   {"expert_model_parallel_size", "model.", in_strategy},
                                   {"expert_tensor_parallel_size", "model.", in_strategy},
                                   {"use_distributed_optimizer", "ddp.", ddp_of_strategy},
                                   {"use_megatron_fsdp", "ddp.", ddp_of_strategy},
                                   {"data_parallel_sharding_strategy", "ddp.", ddp_of_strategy},
                                   {"megatron_fsdp_main_grads_dtype", "ddp.", ddp_of_strategy},
                                   {"megatron_fsdp_main_params_dtype", "ddp.", ddp_of_strategy},
                                   {"num_distributed_optimizer_instances", "ddp.", in_strategy},
                                   {"overlap_grad_reduce", "ddp.", ddp_of_strategy},
                                   {"overlap_param_gather", "ddp.", ddp_of_strategy},
                                   {"optimizer", in_optimizer, in_optim},
                                   {"sgd_momentum", in_optimizer, in_optim},
                                   {"use_precision_aware_optimizer", in_optimizer, in_optim},
                                   {"main_grads_dtype", in_optimizer, in_optim},
                                   {"main_params_dtype", in_optimizer, in_optim},
                                   {"exp_avg_dtype", in_optimizer, in_optim},
                                   {"exp_avg_sq_dtype", in_optimizer, in_optim},
                                   {"optimizer_cpu_offload", in_optimizer, in_optim},
                                   {"optimizer_offload_fraction", in_optimizer, in_optim},
                                   // what decides the formats of both, whatever their keys of model, optimiser and gradients say
                                   {"bf16", in_precision, in_plugin},
                                   {"fp16", in_precision, in_plugin},
                                   {"grad_reduce_in_bf16", in_precision, in_plugin, "grad_reduce_in_fp32", "false"},
                                   {"accumulate_allreduce_grads_in_fp32", in_precision, in_plugin, "grad_reduce_in_fp32"},
                                   {"fp8_format", in_precision, in_plugin, "fp8"},
                                   {"fp8_recipe", in_precision, in_plugin},
                                   {"fp8_param_gather", in_precision, in_plugin},
                                   {"fp4_format", in_precision, in_plugin, "fp4"},
                                   {"fp4_recipe", in_precision, in_plugin},
                                   {"no_masked_softmax_fusion", "model.", "model.config.", "masked_softmax_fusion", "false"},
                                   {"no_bias_swiglu_fusion", "model.", "model.config.", "bias_activation_fusion", "false"},
                                   {"no_bias_gelu_fusion", "model.", "model.config.", "bias_activation_fusion", "false"},
                                   {"no_gradient_accumulation_fusion", "model.", "model.config.", "gradient_accumulation_fusion", "false"},
                                   {"no_create_attention_mask_in_dataloader", "", ""},
                                   {"seq_length", "model.", "data."},
                                   {"micro_batch_size", "train.", "data."},
                                   {"global_batch_size", "train.", "data."}};

// Formats as PyTorch's, which the keys of both hold.
constexpr std::pair<std::string_view, char const*> torch_formats[]{
    {"fp32", "torch.float32"}, {"bf16", "torch.bfloat16"}, {"fp16", "torch.float16"}, {"fp8", "torch.uint8"}};

/// Flags of Megatron-LM for a setting, and for what only the time of a step or the format of its states depends on.
class core_flag_writer {
 public:
  core_flag_writer(imported_setting const& of, bool swift)
      : of_(of),
        swift_(swift),
        out_(swift ? ballast::swift_flags(of.model, of.setting, packs_samples(of)) : ballast::megatron_flags(of.model, of.setting)) {}

  [[nodiscard]] ballast::exported_setting written() {
    add_states();
    add_products();
    add_exchanges();
    add_graphs();
    out_.text = ballast::in_shell(out_.words);
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string spelt(std::string name) const {
    if (!swift_) std::replace(name.begin(), name.end(), '_', '-');
    return "--" + name;
  }
  void take_out(std::string const& name) {
    auto const at = std::find(out_.words.begin(), out_.words.end(), spelt(name));
    if (at == out_.words.end()) return;
    out_.words.erase(at, std::find_if(at + 1, out_.words.end(), [](auto const& word) { return word.starts_with("--"); }));
  }
  /// A flag with its value, of which commas part the words; in place of what it has.
  void set(std::string const& name, std::string_view value) {
    take_out(name);
    out_.words.push_back(spelt(name));
    while (!value.empty()) {
      auto const comma = (std::min)(value.find(','), value.size());
      out_.words.emplace_back(value.substr(0, comma));
      value.remove_prefix((std::min)(comma + 1, value.size()));
    }
  }
  void turn_on(std::string const& name) { set(name, swift_ ? "true" : ""); }
  [[nodiscard]] std::string kept(char const* key) const {
    auto const at = of_.details.core.find(key);
    return at == of_.details.core.end() ? std::string() : at->second;
  }
  /// Says a key as the setting that was read does.
  void keep(std::initializer_list<char const*> keys) {
    for (auto const* const key : keys)
      if (auto const value = kept(key); value == "true")
        turn_on(key);
      else if (!value.empty())
        set(key, value);
  }

  void add_states() {
    auto const& m = of_.setting.model;
    auto const name = m.optimizer.name;
    if (!kept("fp16").empty() && m.kernels.value == 2) {
      take_out("bf16");
      keep({"fp16", "accumulate_allreduce_grads_in_fp32"});
    }
    if (m.optimizer.moments == ballast::moment_form::whole && (name == "muon" || (name == "lion" && !swift_))) {
      set("optimizer", name);
      keep({"optimizer"});
    }
    if (m.moved == ballast::offload::none && !kept("optimizer_offload_fraction").empty()) {
      turn_on("optimizer_cpu_offload");
      keep({"optimizer_offload_fraction"});
    }
    if (name != "precision-aware adam") return;
    turn_on("use_precision_aware_optimizer");
    keep({"main_grads_dtype", "main_params_dtype", "exp_avg_dtype", "exp_avg_sq_dtype"});
    if (!swift_) keep({"megatron_fsdp_main_grads_dtype", "megatron_fsdp_main_params_dtype", "grad_reduce_in_bf16"});
  }

  void add_products() {
    if (!of_.setting.model.kernels.fp8) return;
    if (!kept("fp4_format").empty()) take_out("fp8_format");
    keep({"fp8_format", "fp8_recipe", "fp8_param_gather", "fp4_format", "fp4_recipe"});
  }

  void add_exchanges() {
    auto const once = of_.time.dispatcher == ballast::token_dispatcher::once;
    auto const dispatcher = kept("moe_token_dispatcher_type");
    if (of_.model.experts > 0 && once) set("moe_token_dispatcher_type", "flex");
    if (of_.model.experts > 0 && once && !swift_) keep({"moe_flex_dispatcher_backend"});
    if (of_.model.experts > 0 && !once && dispatcher != "flex") keep({"moe_token_dispatcher_type"});
    if (!of_.time.gradient_overlap) return;
    turn_on("overlap_grad_reduce");
    if (of_.setting.model.spread.zero > 0) turn_on("overlap_param_gather");
  }

  void add_graphs() {
    if (of_.time.graphs == ballast::graph_scope::none || swift_) return;
    if (kept("cuda_graph_impl").empty()) {
      auto const whole = of_.time.graphs == ballast::graph_scope::layers;
      set("cuda_graph_impl", whole ? "local" : "transformer_engine");
      if (!whole) set("cuda_graph_scope", "attn");
    }
    keep({"cuda_graph_impl", "cuda_graph_scope", "cuda_graph_modules"});
  }

  imported_setting const& of_;
  bool swift_;
  ballast::exported_setting out_;
};

/// Keys with sections in front as YAML.
class yaml_sections {
 public:
  void add(std::string const& key, std::string const& value) { lines_.emplace_back(key, value); }
  [[nodiscard]] std::string text() const { return under("", 0); }

 private:
  [[nodiscard]] std::string under(std::string const& prefix, std::size_t depth) const {
    std::string out;
    std::vector<std::string> seen;
    auto const indent = std::string(2 * depth, ' ');
    for (auto const& [key, value] : lines_) {
      if (!key.starts_with(prefix)) continue;
      auto const rest = key.substr(prefix.size());
      auto const name = rest.substr(0, rest.find('.'));
      if (name == rest) out += indent + name + ": " + value + "\n";
      if (name == rest || std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
      seen.push_back(name);
      out += indent + name + ":\n" + under(prefix + name + ".", depth + 1);
    }
    return out;
  }

  std::vector<std::pair<std::string, std::string>> lines_;
};

/// What `mixed_precision` of Megatron-Bridge and the plugin of NeMo need beside the flags.
void add_precision(bool nemo, bool fp16, bool short_gradients, yaml_sections& out) {
  auto const section = std::string(nemo ? in_plugin : in_precision);
  out.add(section + "_target_", nemo ? "nemo.lightning.pytorch.plugins.mixed_precision.MegatronMixedPrecision"
                                     : "megatron.bridge.training.mixed_precision.MixedPrecisionConfig");
  if (nemo) out.add(section + "precision", fp16 ? "16-mixed" : "bf16-mixed");
  for (auto const* const key : {"params_dtype", "pipeline_dtype"}) {
    out.add(section + key + "._target_", fp16 ? "torch.float16" : "torch.bfloat16");
    out.add(section + key + "._call_", "false");
  }
  if (short_gradients) out.add(section + "grad_reduce_in_fp32", "false");
}

[[nodiscard]] ballast::exported_setting core_yaml(imported_setting const& of, bool nemo, yaml_sections out) {
  auto one = of;
  auto& by = one.setting;
  auto const& language = by.model.language;
  auto const rank =
      language.what == ballast::trained::low_rank && !language.quantised && language.matrices == ballast::adapted_matrices::every_matrix
          ? language.rank
          : 0;
  if (rank > 0) by.model.language = {};
  auto const sharded = by.model.spread.zero > 0;
  auto exported = core_flags(one, false);
  auto const& words = exported.words;
  auto const place_of = [](std::string const& flag) {
    auto const* const at = std::find_if(std::begin(core_places), std::end(core_places), [&](auto const& p) { return p.flag == flag; });
    return at == std::end(core_places) ? nullptr : at;
  };
  auto const has = [&](std::string_view flag) { return std::find(words.begin(), words.end(), flag) != words.end(); };
  auto const floats = by.model.kernels.value > 2, fp16 = has("--fp16");
  auto const plain = !fp16 && std::none_of(words.begin(), words.end(), [](auto const& word) {
    return word.starts_with("--fp8-") || word.starts_with("--fp4-") || word == "--grad-reduce-in-bf16";
  });
  if (floats)
    nemo ? out.add("trainer.precision", "32") : out.add("optimizer.bf16", "false");
  else if (plain && !nemo)
    out.add("mixed_precision", "bf16_mixed");  // a word that says all of it
  else
    add_precision(nemo, fp16, fp16 && !has("--accumulate-allreduce-grads-in-fp32"), out);
  for (std::size_t i = 0; i < words.size();) {
    auto flag = words[i++].substr(2);
    std::replace(flag.begin(), flag.end(), '-', '_');
    std::vector<std::string> values;
    for (; i < words.size() && !words[i].starts_with("--"); ++i) values.push_back(words[i]);
    auto const* const at = place_of(flag);
    auto const section = at != nullptr ? (nemo ? at->nemo : at->bridge) : nemo ? "model.config." : "model.";
    if (section.empty() || (flag == "bf16" && (plain || nemo)) || (flag == "fp16" && nemo)) continue;
    auto const key = std::string(section) + (at != nullptr && !at->key.empty() ? std::string(at->key) : flag);
    auto const list = flag.ends_with("_modules") || flag == "cuda_graph_scope";
    std::string value = at != nullptr && !at->value.empty() ? std::string(at->value) : values.empty() ? "true" : list ? "[" : "";
    if (value.empty() || list)
      for (auto const& word : values) value += (&word == &values.front() ? "" : ", ") + word;
    if (list) value += "]";
    auto const* const format =
        std::find_if(std::begin(torch_formats), std::end(torch_formats), [&](auto const& f) { return f.first == value; });
    if (flag.ends_with("_dtype") && format != std::end(torch_formats)) {
      out.add(key + "._target_", format->second);
      out.add(key + "._call_", "false");
    } else {
      out.add(key, flag == "pipeline_model_parallel_layout" ? "\"" + value + "\"" : value);
    }
  }
  if (has("--use-precision-aware-optimizer") && of.details.core.contains("store_param_remainders"))  // no flag of Megatron-LM says it
    out.add(std::string(nemo ? in_optim : in_optimizer) + "store_param_remainders", "false");
  if (!sharded) out.add(nemo ? "trainer.strategy.ddp.use_distributed_optimizer" : "ddp.use_distributed_optimizer", "false");
  if (!of.details.learning_rate.empty()) out.add(nemo ? "optim.config.lr" : "optimizer.lr", of.details.learning_rate);
  if (rank > 0) out.add("peft._target_", nemo ? "nemo.collections.llm.peft.LoRA" : "megatron.bridge.peft.lora.LoRA");
  if (rank > 0) out.add("peft.dim", std::to_string(rank));
  exported.text = out.text();
  exported.words.clear();
  return exported;
}

}  // namespace

ballast::exported_setting core_flags(imported_setting const& of, bool swift) { return core_flag_writer(of, swift).written(); }

ballast::exported_setting bridge_yaml(imported_setting const& of) {
  yaml_sections out;
  out.add("model.hf_model_id", "NAME  # of the model");
  out.add("dataset.seq_length", std::to_string(of.setting.sequence));
  return core_yaml(of, false, std::move(out));
}

ballast::exported_setting nemo_yaml(imported_setting const& of) {
  auto const gpus = of.setting.gpus(), nodes = gpus % 8 == 0 ? gpus / 8 : 1;
  yaml_sections out;
  out.add("trainer.devices", std::to_string(gpus / nodes));
  out.add("trainer.num_nodes", std::to_string(nodes));
  return core_yaml(of, true, std::move(out));
}

}  // namespace ballast_cli
