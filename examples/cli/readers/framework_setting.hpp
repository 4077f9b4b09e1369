// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/setting_table.hpp"

#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/layer_time.hpp>
#include <ballast/plan/export/flags.hpp>
#include <ballast/plan/training_setting.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Settings of frameworks, with each framework's defaults of absent keys.

namespace ballast_cli {

/// A model that a setting names.
struct known_model {
  ballast::transformer language;
  bool reads_images = false;  ///< whether it has a tower, which is left out
};

/// What a setting does not say. Options of the command line say it.
struct setting_request {
  std::optional<ballast::transformer> model{};  ///< none: the setting has to hold the shape, or to name a model that is known
  std::optional<std::int64_t> gpus{};           ///< none: the setting has to say it
  std::optional<std::int64_t> sequence{}, micro_batch{}, micro_batches{};
  std::optional<std::int64_t>
      vocabulary{};            ///< words of the tokenizer; none: the setting has to say them, or to name a tokenizer that is known
  bool checkpointing = false;  ///< whether the trainer recomputes every layer, where the setting cannot say it
  std::optional<std::string> trainer{};  ///< text of the TrainingArguments, as JSON, that replace "auto" in a file of DeepSpeed
  std::string precision{};               ///< what replaces "auto" in a precision: "bf16", "fp16" or "fp32"; empty: not known
  std::string framework{};               ///< whose setting it is, as `framework_names` lists them; empty: the text tells
  std::function<std::optional<known_model>(std::string const&)> find_model{};  ///< by a name as "Qwen/Qwen3-8B" or a folder; none: no model
  std::function<std::optional<std::string>(std::string const&)> find_file{};   ///< the text of a file that the setting names; none: no file
};

/// What a training is for.
enum class training_task : std::uint8_t {
  unsaid,  ///< the file does not say it, as the program does
  other,   ///< none of those below
  pretraining,
  finetuning,
  dpo,
  orpo,
  simpo,
  cpo,
  kto,
  reward,
  ppo,
  grpo,
  rloo,
  distillation,
};
/// By a word of a framework, as "sft", "rm" or "ipo"; `other` if it is none that is known.
[[nodiscard]] training_task task_named(std::string_view word);
/// "supervised finetuning".
[[nodiscard]] std::string_view in_words(training_task task);

/// What a file says beside its setting: neither memory nor time of a step depends on it, but a file that is written has to say it.
struct training_details {
  std::string learning_rate{};    ///< with a dot, as YAML needs it; empty: not said
  std::optional<bool> packing{};  ///< whether samples are joined to sequences of full length
  // where answers are drawn; 0 or empty: not said
  std::int64_t prompt = 0, answer = 0;  ///< tokens, at most
  std::int64_t answers = 0;             ///< to a prompt
  std::int64_t drawn = 0;               ///< sequences that are drawn before the model is updated, once or several times
  std::string penalty{};                ///< coefficient of the divergence from the reference model; "0": none
  std::int64_t engine = 0;              ///< tensor parallelism of the engine that draws them on the same devices
  bool penalises_rewards = false;       ///< whether that is part of the reward, and not of the loss
  // where micro-batches are counted in tokens, and the setting has all of one as a sequence; 0: they are not
  std::int64_t sample = 0, samples = 0;  ///< tokens of the longest sample, and samples of an update
  // by what they are in words, as "weight decay": decimals, as YAML needs them (detail_keys.hpp)
  std::map<std::string_view, std::string> numbers{};
  // Megatron-Core's keys of formats, dispatchers and graphs, with values as it has them
  std::map<std::string, std::string> core{};
};

struct imported_role;

/// A setting with the model that it is for.
struct imported_setting {
  std::string framework;  ///< "Megatron-LM"; a name of `framework_names`
  ballast::training_setting setting;
  ballast::transformer model;
  ballast::time_setting time{};       ///< of `rates` only family and precision; the device has the rest
  std::string untimed{};              ///< why it cannot be told where the time of a step goes; empty: nothing here forbids it
  std::vector<std::string> notes{};   ///< what is not modelled, each with the direction of the error
  std::vector<std::string> unread{};  ///< what may say more and is not in the file, each with its line
  passed_keys passed{};               ///< keys that the importer does not know
  bool reads_images = false;          ///< whether `model` has a tower, which is left out
  std::vector<imported_role> roles;   ///< the other models of the same devices
  training_task task = training_task::unsaid;
  training_details details{};
};

/// Another model of the same devices, as training by preferences has them.
struct imported_role {
  std::string role;      ///< "reference", "critic", "reward", "rollout"
  imported_setting of;   ///< with degrees of its own; what is only computed forward trains nothing
  bool resident = true;  ///< whether its states stay on the devices while the first model trains
};

/// What a file holds, before it is known whose it is.
struct setting_source {
  setting_table table;                  ///< flags of a script, or keys of a document
  setting_table overrides;              ///< words "a.b=value" of a script
  std::vector<std::string> commands{};  ///< words of a script's commands in front of their flags
  std::string_view format{};            ///< "flags", "yaml", "json" or "toml"

  [[nodiscard]] bool is(std::string_view form) const { return format == form; }
  [[nodiscard]] bool calls(std::string_view command) const;  ///< whether it is a word of a command, or the end of a path that is one
  /// Whether there is a key that begins as one of `keys`.
  [[nodiscard]] bool has_any(std::span<std::string_view const> keys) const;
};

/// How a written file says what the training is for.
struct task_words {
  training_task task;
  std::string_view from{}, to{};  ///< `to` takes the place of `from` in the file of the writer, or is put in front if that is empty
  std::int64_t pairs = 1;         ///< sequences of a micro-batch for each that the file counts
  std::int64_t answer = 0;        ///< of a sequence, tokens that the file counts beside its length where nothing says how many
  bool counts_tokens = false;     ///< whether the file can count a micro-batch in tokens
  std::array<std::string_view, 2> without{};  ///< keys of lines of the writer's file that are left out
};

/// How the settings of one framework are read and written.
struct framework_format {
  std::string_view name, word;  ///< "Megatron-LM", and "megatron" on the command line
  /// How surely a file is one of this framework: 0 is no, up to 9 keys that others have too, 10 to 99 keys of its own, 100 its command.
  int (*likeness)(setting_source const&);
  imported_setting (*read)(setting_source, setting_request const&);
  ballast::exported_setting (*write)(imported_setting const&);  ///< none: null
  std::span<task_words const> tasks{};                          ///< what a written file can be for; none: the file does not say it
};

[[nodiscard]] std::span<framework_format const* const> framework_formats();
/// "Megatron-LM, ms-swift, ...".
[[nodiscard]] std::string framework_names();
/// The one of this name or word. Throws bad_input, naming `option` and listing the words.
[[nodiscard]] framework_format const& framework_named(std::string const& option, std::string const& word);

/// Reads a setting: JSON, TOML or YAML by the ending of `name`, else argument lines, of the framework that is asked for or that the text
/// is most like. Throws bad_input, naming `name` and the line or the key, and where there is no key that only a framework's setting has.
[[nodiscard]] imported_setting read_framework_setting(std::string_view text, std::string const& name, setting_request const& asked);

/// The frameworks; each in a file of its own.
extern framework_format const megatron_format, megatron_swift_format, swift_format, deepspeed_format, torchtitan_format,
    llamafactory_format, axolotl_format, trl_format, transformers_format, accelerate_format, torchtune_format, litgpt_format, verl_format,
    openrlhf_format, nemo_rl_format, automodel_format, bridge_format, nemo_format;

// What importers share.

/// The devices: asked for, or given. Throws bad_input.
[[nodiscard]] std::int64_t gpus_of(setting_table const& table, setting_request const& asked);
/// Data-parallel ranks: devices over `degrees`. Throws bad_input unless it divides them.
[[nodiscard]] std::int64_t ranks_of(setting_table const& table, std::int64_t gpus, std::int64_t degrees, std::string const& in_words);
/// Sets the micro-batches of a rank from the sequences of a step. Throws bad_input, naming `key`, unless they are a multiple.
void set_global_batch(setting_table const& table, ballast::training_setting& by, std::int64_t global, std::string_view key);
/// Sets `out.model`: the model asked for, or else the one that the first of `keys` names that is there. Throws bad_input, naming that key.
void take_model(setting_table& table, setting_request const& asked, std::initializer_list<std::string_view> keys, imported_setting& out);
/// Takes the learning rate from the first of `keys` that has one.
void take_learning_rate(setting_table& table, std::initializer_list<std::string_view> keys, imported_setting& out);
/// A decimal number with a dot and a sign behind its "e", without which YAML reads a text; empty if the word is none.
[[nodiscard]] std::string decimal_word(std::string_view word);
/// A decimal number of a key by that; `otherwise` if it is missing, or none.
[[nodiscard]] std::string decimal_word(setting_table& table, std::string_view key, std::string_view otherwise);
/// Whether answers are drawn: training by PPO, GRPO or RLOO.
[[nodiscard]] bool draws_answers(training_task task);
/// Whether a written file joins samples: as the setting says, or else where it trains on whole sequences.
[[nodiscard]] bool packs_samples(imported_setting const& of);
/// Takes what trainers of GRPO and RLOO say that are built on TRL's: `section` is in front of their keys, `answer` tokens are drawn at
/// most, `penalty` is what is missing from "beta", and `steps_per_generation` counts steps of `step` sequences. The batches must be set.
void take_answers(setting_table& table, std::string const& section, std::int64_t answer, std::string_view penalty, std::int64_t step,
                  imported_setting& out);
/// Throws bad_input, naming the file, unless setting and model suit each other.
void require_suits(setting_table const& table, imported_setting const& out);

}  // namespace ballast_cli
