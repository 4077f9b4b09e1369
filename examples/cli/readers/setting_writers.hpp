// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/framework_setting.hpp"

#include <ballast/plan/export/flags.hpp>
#include <ballast/plan/searched_settings.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

// What the writers of settings share. A writer writes what its framework can say; the file is then read again, and what is not the same
// is what it does not say.

namespace ballast_cli {

/// A setting as a file of a framework.
struct written_setting {
  std::string text;                   ///< what it does not say is in comments, but in JSON
  std::vector<std::string> not_said;  ///< what of the setting reads otherwise in the file; empty: nothing
  bool settled = false;               ///< of `write_best`: whether slower settings could not change it
};

/// Writes `of` for a framework. Throws bad_input if its files are only read, or if it has no training of this kind.
[[nodiscard]] written_setting write_setting(framework_format const& to, imported_setting const& of);

/// What is searched for a framework.
struct written_space {
  imported_setting of;            ///< the training, as this framework computes and counts it
  bool other = false;             ///< whether that is otherwise than it was given
  ballast::search_options space;  ///< the degrees, stages of ZeRO and micro-batches that its files can say; nothing else is set
};
/// Throws bad_input as `write_setting`.
[[nodiscard]] written_space space_of(framework_format const& to, imported_setting const& of);

/// Writes the first of `settings` that the framework can say, or else the first of those of which it says most; what the file says
/// otherwise has the memory of a device, too. They are settings of `space.of`; there must be one.
[[nodiscard]] written_setting write_best(framework_format const& to, imported_setting const& of, written_space const& space,
                                         std::span<ballast::training_setting const> settings);

/// Refuses a framework whose files are only read, and lists those that are written.
void require_written(framework_format const& to);

/// Lines "key: value" as a command with its flags.
[[nodiscard]] std::string as_command(std::string const& command, std::string_view lines);

/// The learning rate of a file that has to have one: that of the setting, or an example, which a comment says.
[[nodiscard]] std::string rate_or_example(imported_setting const& of);
/// Lines "key: value" of what a trainer of GRPO that is built on TRL's is told of answers, each behind `indent`. `sleep` makes an engine
/// on the same devices free their memory.
[[nodiscard]] std::string lines_of_answers(imported_setting const& of, std::string_view indent, std::string_view sleep);
/// What ms-swift is told beside a setting: the learning rate by its key, and what is drawn.
[[nodiscard]] std::string swift_lines(imported_setting const& of, std::string_view rate);

/// Writers on Megatron-Core's keys: flags as Megatron-LM spells them, or as ms-swift does; Megatron-Bridge's run_config.yaml, and NeMo's
/// YAML.
[[nodiscard]] ballast::exported_setting core_flags(imported_setting const& of, bool swift);
[[nodiscard]] ballast::exported_setting bridge_yaml(imported_setting const& of);
[[nodiscard]] ballast::exported_setting nemo_yaml(imported_setting const& of);

}  // namespace ballast_cli
