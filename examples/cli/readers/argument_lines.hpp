// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/setting_table.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Flags of a training as a shell script gives them, or as a file of flags alone.

namespace ballast_cli {

/// What a script says.
struct argument_lines {
  setting_table flags;      ///< "--micro-batch-size" is micro_batch_size
  setting_table overrides;  ///< words such as `a.b=value`, `+a.b=value` or `name=value` behind a program of Python, as hydra takes them
  std::vector<std::string> commands;  ///< words of the command in front of its flags, such as torchrun, megatron or sft
  std::optional<std::int64_t> gpus;   ///< processes of a node times nodes, or visible devices, where launchers or their variables say them
  std::vector<std::string> unread;    ///< what may hold more flags and is not read: `line 7: $@`
  std::map<std::string, std::string> documents;  ///< here-documents that the script writes to files, by their names
};

/// Reads the flags of the first command of a script that trains, as shell_script.hpp runs it; the flags of all commands or variables if
/// none does. Of a page with fences, what is between them is read. Throws bad_input, naming `name` and the line, also where the commands do
/// other work than training.
[[nodiscard]] argument_lines read_argument_lines(std::string_view text, std::string const& name);

}  // namespace ballast_cli
