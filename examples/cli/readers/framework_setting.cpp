// SPDX-License-Identifier: Apache-2.0
#include "readers/framework_setting.hpp"

#include "errors.hpp"
#include "readers/argument_lines.hpp"
#include "readers/setting_documents.hpp"

#include <ballast/core/error.hpp>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace ballast_cli {

std::int64_t gpus_of(setting_table const& table, setting_request const& asked) {
  if (!asked.gpus) throw bad_input(table.file() + ": the setting does not say the number of devices; --gpus does");
  return *asked.gpus;
}

std::int64_t ranks_of(setting_table const& table, std::int64_t gpus, std::int64_t degrees, std::string const& in_words) {
  if (gpus % degrees != 0)
    throw bad_input(table.file() + ": " + std::to_string(gpus) + " devices are no multiple of " + in_words + ", " +
                    std::to_string(degrees));
  return gpus / degrees;
}

void set_global_batch(setting_table const& table, ballast::training_setting& by, std::int64_t global, std::string_view key) {
  auto const of_all = by.micro_batch * by.ranks();
  if (global % of_all != 0)
    throw bad_input(table.file() + ": " + std::string(key) + " = " + std::to_string(global) + " is no multiple of the " +
                    std::to_string(of_all) + " sequences of a micro-batch on " + std::to_string(by.ranks()) + " data-parallel ranks");
  by.micro_batches = global / of_all;
}

void require_suits(setting_table const& table, imported_setting const& out) {
  if (out.setting.micro_batches > 1 << 20) throw bad_input(table.file() + ": more than 2^20 micro-batches of a rank in a step");
  if (out.setting.gpus() > std::int64_t{1} << 24) throw bad_input(table.file() + ": more than 2^24 devices");
  try {
    require_valid(out.setting, out.model);
  } catch (ballast::invalid_input const& e) {
    throw bad_input(table.file() + ": " + e.what());
  }
}

namespace {

/// Whether there is a key that begins so.
[[nodiscard]] bool has_any(setting_table const& table, std::span<std::string_view const> keys) {
  return std::any_of(keys.begin(), keys.end(), [&](auto key) { return table.has_section(key); });
}
[[noreturn]] void refuse_foreign(std::string const& name, std::vector<std::string> const& unread = {}) {
  throw bad_input(name + ": no key of a framework is in it" +
                  (unread.empty() ? "" : ", and what is in " + unread.front() + " is not known") +
                  "; read are argument lines and YAML of Megatron-LM and ms-swift, JSON of DeepSpeed, TOML and saved JSON of torchtitan");
}

// Keys that decide memory, time or layout, and that launchers, schedulers of jobs and other programs do not have.
constexpr std::string_view megatron_keys[]{"tensor_model_parallel_size",
                                           "pipeline_model_parallel",
                                           "context_parallel_size",
                                           "expert_",
                                           "sequence_parallel",
                                           "micro_batch_size",
                                           "global_batch_size",
                                           "seq_length",
                                           "num_layers",
                                           "hidden_size",
                                           "ffn_hidden_size",
                                           "num_attention_heads",
                                           "num_experts",
                                           "moe_",
                                           "recompute_",
                                           "use_distributed_optimizer",
                                           "use_mcore_models",
                                           "use_megatron_fsdp",
                                           "use_torch_fsdp2",
                                           "transformer_impl",
                                           "swiglu"};
constexpr std::string_view swift_keys[]{"model",
                                        "dataset",
                                        "max_length",
                                        "packing",
                                        "tuner_type",
                                        "train_type",
                                        "freeze_",
                                        "padding_free",
                                        "per_device_train_batch_size",
                                        "deepspeed",
                                        "gradient_accumulation_steps",
                                        "lora_"};
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
constexpr std::string_view torchtitan_keys[]{"model.", "training.", "parallelism.", "experimental.", "activation_checkpoint",
                                             "job.",   "metrics.",  "checkpoint.",  "lr_scheduler.", "optimizer."};

}  // namespace

imported_setting read_framework_setting(std::string_view text, std::string const& name, setting_request const& asked) {
  auto const ends = [&](std::string_view ending) { return name.ends_with(ending); };
  if (ends(".toml") || ends(".json")) {
    auto table = ends(".toml") ? read_toml_setting(text, name) : read_json_setting(text, name);
    if (ends(".toml") || table.has_section("parallelism.") || table.has_section("training.")) {
      if (!has_any(table, torchtitan_keys)) refuse_foreign(name);
      return read_torchtitan_setting(std::move(table), asked);
    }
    if (!has_any(table, deepspeed_keys)) refuse_foreign(name);
    return read_deepspeed_setting(std::move(table), asked);
  }
  auto const of_swift = [](setting_table const& table) {
    for (auto const* const key : {"max_length", "packing", "tuner_type", "train_type", "freeze_vit", "padding_free"})
      if (table.has(key)) return true;
    return false;
  };
  auto const of_hugging_face = [](setting_table const& table) {
    return table.has("per_device_train_batch_size") || table.has("deepspeed") || table.has("gradient_accumulation_steps");
  };
  if (ends(".yaml") || ends(".yml")) {
    auto table = read_yaml_setting(text, name);
    if (of_hugging_face(table)) return read_swift_setting(std::move(table), asked);
    auto const swift = of_swift(table);
    if (!swift && !has_any(table, megatron_keys)) refuse_foreign(name);
    return read_megatron_setting(std::move(table), asked, swift);
  }
  auto lines = read_argument_lines(text, name);
  auto more = asked;
  if (!more.gpus) more.gpus = lines.gpus;
  auto const names = [&](char const* word) {
    return std::find(lines.commands.begin(), lines.commands.end(), word) != lines.commands.end();
  };
  auto const trainer = (names("swift") || of_hugging_face(lines.flags)) && !names("megatron");
  auto const swift = trainer || names("megatron") || of_swift(lines.flags);
  if (!has_any(lines.flags, megatron_keys) && !(swift && has_any(lines.flags, swift_keys))) refuse_foreign(name, lines.unread);
  auto out = trainer ? read_swift_setting(std::move(lines.flags), more) : read_megatron_setting(std::move(lines.flags), more, swift);
  out.unread = std::move(lines.unread);
  return out;
}

}  // namespace ballast_cli
