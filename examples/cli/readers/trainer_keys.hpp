// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/framework_setting.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What the frameworks that train with the trainer of Hugging Face transformers share: its keys, FSDP, files of DeepSpeed, optimisers,
// adapters and further models.

namespace ballast_cli {

/// How states are distributed and held, in whatever words a framework says it.
struct trainer_setting {
  std::string optimizer = "adamw_torch", optimizer_key = "optim";
  std::string precision = "fp32";  ///< of computation: "bf16", "fp16" or "fp32"
  bool halves = false;             ///< whether parameters are held in 16 bits without a master copy, unless FSDP or DeepSpeed hold them
  std::string deepspeed;           ///< file
  std::optional<setting_table> engine{};  ///< keys of DeepSpeed that are in no file of their own
  std::optional<int> shards{};            ///< ZeRO stage of FSDP
  bool shards_away = false;               ///< whether FSDP holds its shards in host memory
};

/// The setting of a JSON file of DeepSpeed.
[[nodiscard]] imported_setting read_deepspeed(setting_table table, setting_request const& asked);
/// Takes from TrainingArguments what replaces "auto", unless it is asked for; returns the optimiser. Throws bad_input.
[[nodiscard]] std::string read_trainer_arguments(std::string const& text, setting_request& asked);

/// Takes what a configuration of accelerate says: engine, degrees, devices and precision. Throws bad_input.
void take_accelerate(setting_table& table, setting_request& asked, trainer_setting& by, imported_setting& out);
/// Takes what `accelerate launch` or `deepspeed` is told in front of a program: a configuration, the devices. Throws bad_input.
void take_launcher(setting_table& table, setting_request& asked, trainer_setting& by, imported_setting& out);
/// Keys of DeepSpeed for a stage of ZeRO; `away` is "none", "optimizer" or "parameters".
[[nodiscard]] setting_table deepspeed_stage(std::string const& file, std::int64_t stage, std::string const& away,
                                            std::string const& precision);

/// Begins a setting on PyTorch and transformers: kernels, loss and attention library, before any key.
void begin_eager(imported_setting& out);
/// Sets the data-parallel degree from the devices and the other degrees. Throws bad_input.
void set_ranks(setting_table const& table, setting_request const& asked, imported_setting& out, std::string const& degrees);
/// Reads degree `key` if it is there; at most 2^16.
[[nodiscard]] std::int64_t degree_of(setting_table& table, std::initializer_list<std::string_view> keys);
/// Sets the sequence: asked for, or the first of `keys` that is there, or `otherwise` if that is not 0. Throws bad_input.
void take_sequence(setting_table& table, setting_request const& asked, std::initializer_list<std::string_view> keys, std::int64_t otherwise,
                   imported_setting& out);
/// Sets micro-batch and micro-batches from `micro` and `steps`; what is asked for comes first.
void take_batches(setting_table& table, setting_request const& asked, std::string_view micro, std::int64_t otherwise,
                  std::string_view steps, std::int64_t steps_otherwise, imported_setting& out);
/// The precision from bf16 and fp16, of which "auto" and "full" are on.
[[nodiscard]] std::string take_precision(setting_table& table, std::string const& otherwise);
/// FSDP's keys fsdp, fsdp_config.* and fsdp_version.
void take_fsdp(setting_table& table, trainer_setting& by, imported_setting& out);
/// A key that is true, false, or another word, which is true and comes with a note.
[[nodiscard]] bool flag_or_word(setting_table& table, std::string_view key, bool otherwise, imported_setting& out);

/// Sets what holds the states: a file of DeepSpeed, FSDP or neither. Before it, ranks, batches and adapters must be set.
void set_states(setting_table& table, setting_request const& asked, trainer_setting const& by, imported_setting& out);
/// The name of an optimiser of Transformers or one like it. Throws bad_input if it is a slip of one.
[[nodiscard]] std::string take_optimizer(setting_table& table, std::string_view key, std::string const& otherwise);
/// The same of an implementation of attention.
[[nodiscard]] std::string take_attention(setting_table& table, std::string_view key, std::string const& otherwise);
/// Sets an optimiser by the trainer's word, in the precision of the states that are there.
void set_optimizer(std::string const& word, std::string const& key, imported_setting& out);
/// Adapters of `rank` on matrices named in `targets`; none: those that the framework adapts by default.
void set_adapters(std::int64_t rank, std::vector<std::string> const& targets, bool quantised, imported_setting& out);
/// Kernels of attention by name: "eager", "sdpa", "flash_attention_2" and others.
/// An optimiser by its word in Transformers, over the states that it has in place of Adam's: "adam-fp32" with "adamw_8bit".
struct optimizer_words {
  std::string_view base, word;
};
/// Those of an optimiser; its own name and Adam's word if it has none.
[[nodiscard]] optimizer_words trainer_words_of(ballast::optimizer const& of);
/// The attention of a written file, by its name in Transformers: "flash_attention_2".
[[nodiscard]] std::string_view attention_word(imported_setting const& of);
/// Whether it is compiled by `torch.compile`.
[[nodiscard]] bool is_compiled(imported_setting const& of);
void set_attention(std::string const& name, imported_setting& out);
/// Only the last `tokens` of a sequence have logits: those of an answer that is sampled. The sequence must be set.
void set_answers(std::int64_t tokens, imported_setting& out);
/// Adds a copy of the model that is only computed forward, unless adapters are trained: without them, the model is its own reference.
void add_reference(imported_setting& out);

/// Marks keys of the trainer that neither memory nor time depends on.
void ignore_trainer_keys(setting_table& table);
/// Sets `passed`, and lists keys that name files which were not found. Checks the setting. Throws bad_input.
void finish_setting(setting_table const& table, imported_setting& out);

/// The role of embedding and head that train whole beside adapters begins so.
inline constexpr std::string_view trained_copy = "trained copy";
/// Counts the copies of embedding and head that train whole beside the adapters (modules_to_save of PEFT), and names other modules that do.
/// Model, degrees and states must be set.
void take_saved_modules(setting_table& table, imported_setting& out);

}  // namespace ballast_cli
