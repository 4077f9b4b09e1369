// SPDX-License-Identifier: Apache-2.0
#include "readers/setting_writers.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

// Files on Megatron-Core's keys: the flags of Megatron-LM under the names that its configurations have, in the sections that
// NVIDIA-NeMo/Megatron-Bridge 067f987df and NVIDIA/NeMo 8cfedd7203 put them.

namespace ballast_cli {

namespace {

/// Where a flag goes; without a section the framework has no key for it.
struct core_place {
  std::string_view flag, bridge, nemo;
  std::string_view key{}, value{};  ///< in place of the flag's own; empty: those
};

constexpr std::string_view in_strategy = "trainer.strategy.", ddp_of_strategy = "trainer.strategy.ddp.";

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
                                   {"num_distributed_optimizer_instances", "ddp.", in_strategy},
                                   {"grad_reduce_in_bf16", "ddp.", ddp_of_strategy, "grad_reduce_in_fp32", "false"},
                                   {"bf16", "optimizer.", "optim.config."},
                                   {"optimizer", "optimizer.", "optim.config."},
                                   {"sgd_momentum", "optimizer.", "optim.config."},
                                   {"optimizer_cpu_offload", "optimizer.", "optim.config."},
                                   {"optimizer_offload_fraction", "optimizer.", "optim.config."},
                                   {"no_masked_softmax_fusion", "model.", "model.config.", "masked_softmax_fusion", "false"},
                                   {"no_bias_swiglu_fusion", "model.", "model.config.", "bias_activation_fusion", "false"},
                                   {"no_bias_gelu_fusion", "model.", "model.config.", "bias_activation_fusion", "false"},
                                   {"no_gradient_accumulation_fusion", "model.", "model.config.", "gradient_accumulation_fusion", "false"},
                                   {"no_create_attention_mask_in_dataloader", "", ""},
                                   {"fp8_format", "model.", "model.config.", "fp8"},
                                   {"seq_length", "model.", "data."},
                                   {"micro_batch_size", "train.", "data."},
                                   {"global_batch_size", "train.", "data."}};

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

[[nodiscard]] ballast::exported_setting core_yaml(imported_setting const& of, bool nemo, yaml_sections out) {
  auto by = of.setting;
  auto const& language = by.model.language;
  auto const rank =
      language.what == ballast::trained::low_rank && !language.quantised && language.matrices == ballast::adapted_matrices::every_matrix
          ? language.rank
          : 0;
  if (rank > 0) by.model.language = {};
  auto const sharded = by.model.spread.zero > 0;
  auto exported = ballast::megatron_flags(of.model, by);
  auto const& words = exported.words;
  for (std::size_t i = 0; i < words.size();) {
    auto flag = words[i++].substr(2);
    std::replace(flag.begin(), flag.end(), '-', '_');
    std::vector<std::string> values;
    for (; i < words.size() && !words[i].starts_with("--"); ++i) values.push_back(words[i]);
    auto const* const at = std::find_if(std::begin(core_places), std::end(core_places), [&](auto const& p) { return p.flag == flag; });
    auto const known = at != std::end(core_places);
    auto const section = known ? (nemo ? at->nemo : at->bridge) : nemo ? "model.config." : "model.";
    if (section.empty()) continue;
    auto const key = std::string(section) + (known && !at->key.empty() ? std::string(at->key) : flag);
    auto const list = flag == "recompute_modules" || flag == "offload_modules";
    std::string value = known && !at->value.empty() ? std::string(at->value) : values.empty() ? "true" : list ? "[" : "";
    if (value.empty() || list)
      for (auto const& word : values) value += (&word == &values.front() ? "" : ", ") + word;
    if (list) value += "]";
    out.add(key, flag == "pipeline_model_parallel_layout" ? "\"" + value + "\"" : value);
  }
  if (!sharded) out.add(nemo ? "trainer.strategy.ddp.use_distributed_optimizer" : "ddp.use_distributed_optimizer", "false");
  if (!of.details.learning_rate.empty()) out.add(nemo ? "optim.config.lr" : "optimizer.lr", of.details.learning_rate);
  if (rank > 0) out.add("peft._target_", nemo ? "nemo.collections.llm.peft.LoRA" : "megatron.bridge.peft.lora.LoRA");
  if (rank > 0) out.add("peft.dim", std::to_string(rank));
  exported.text = out.text();
  exported.words.clear();
  return exported;
}

}  // namespace

ballast::exported_setting bridge_yaml(imported_setting const& of) {
  yaml_sections out;
  out.add("model.hf_model_id", "NAME  # of the model");
  out.add("mixed_precision", "bf16_mixed");
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
