// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/setting_table.hpp"

#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/layer_time.hpp>
#include <ballast/plan/training_setting.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Settings of frameworks, with each framework's defaults of absent keys.

namespace ballast_cli {

/// What a setting does not say. Options of the command line say it.
struct setting_request {
  std::optional<ballast::transformer> model{};  ///< none: the setting has to hold the shape
  std::optional<std::int64_t> gpus{};           ///< none: the setting has to say it
  std::optional<std::int64_t> sequence{}, micro_batch{}, micro_batches{};
  bool checkpointing = false;  ///< whether the trainer recomputes every layer, where the setting cannot say it
};

/// A setting with the model that it is for.
struct imported_setting {
  std::string framework;  ///< "Megatron-LM", "ms-swift", "DeepSpeed" or "torchtitan"
  ballast::training_setting setting;
  ballast::transformer model;
  ballast::time_setting time{};            ///< of `rates` only family and precision; the device has the rest
  std::string untimed{};                   ///< why it cannot be told where the time of a step goes; empty: nothing here forbids it
  std::vector<std::string> notes;          ///< what is not modelled, each with the direction of the error
  std::vector<std::string> unread{};       ///< what may say more and is not in the file, each with its line
  std::vector<std::string> passed_over{};  ///< keys that no importer knows
};

/// Reads a setting: JSON of DeepSpeed or, with sections, of torchtitan; TOML of torchtitan; YAML or argument lines of Megatron-LM or
/// ms-swift. The ending of `name` and the text decide which. Throws bad_input, naming `name` and the line or the key, and
/// where there is no key that only a framework's setting has.
[[nodiscard]] imported_setting read_framework_setting(std::string_view text, std::string const& name, setting_request const& asked);

/// The importers behind it.
[[nodiscard]] imported_setting read_megatron_setting(setting_table table, setting_request const& asked, bool swift);
[[nodiscard]] imported_setting read_swift_setting(setting_table table, setting_request const& asked);  ///< of `swift sft`
[[nodiscard]] imported_setting read_deepspeed_setting(setting_table table, setting_request const& asked);
[[nodiscard]] imported_setting read_torchtitan_setting(setting_table table, setting_request const& asked);

// What importers share.

/// The devices: asked for, or given. Throws bad_input.
[[nodiscard]] std::int64_t gpus_of(setting_table const& table, setting_request const& asked);
/// Data-parallel ranks: devices over `degrees`. Throws bad_input unless it divides them.
[[nodiscard]] std::int64_t ranks_of(setting_table const& table, std::int64_t gpus, std::int64_t degrees, std::string const& in_words);
/// Sets the micro-batches of a rank from the sequences of a step. Throws bad_input, naming `key`, unless they are a multiple.
void set_global_batch(setting_table const& table, ballast::training_setting& by, std::int64_t global, std::string_view key);
/// Throws bad_input, naming the file, unless setting and model suit each other.
void require_suits(setting_table const& table, imported_setting const& out);

}  // namespace ballast_cli
