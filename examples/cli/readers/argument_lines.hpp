// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/setting_table.hpp"

#include <cstdint>
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
  std::vector<std::string> commands;  ///< words of commands in front of their flags, such as torchrun, megatron or sft
  std::optional<std::int64_t> gpus;   ///< processes of a node times nodes, where flags or variables of torchrun say them
  std::vector<std::string> unread;    ///< what may hold more flags and is not in the file: `line 7: "$@"`
};

/// Reads flags. Understood are comments, quotes, a backslash at the end of a line, `NAME=value` with `$NAME`, `${NAME}` and
/// `${NAME:-value}` behind it, and arrays `NAME=( ... )` and `NAME+=( ... )` with `"${NAME[@]}"`, whose elements are split at blanks
/// without the quotes. Of a condition, the first branch is read. Other variables stay as they are, and are refused where a
/// value is needed; in place of flags they are listed as unread, as are other branches, files that are included and the script's own
/// arguments. Throws bad_input, naming `name` and the line.
[[nodiscard]] argument_lines read_argument_lines(std::string_view text, std::string const& name);

}  // namespace ballast_cli
