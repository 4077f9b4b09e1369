// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "commands/options.hpp"
#include "planning/sample_cost.hpp"
#include "readers/file_bytes.hpp"
#include "readers/framework_setting.hpp"

#include <cstdint>
#include <optional>
#include <string>

// `check FILE...`: a setting of a framework is judged, a packing is checked and scored.

namespace ballast_cli {

struct check_arguments {
  input_arguments input;   ///< a setting, then lengths if there are any; or a packing (OFFSETS MEMBERS, a folder that `--out` wrote, or a
                           ///< list of indices a line), then lengths
  limit_arguments limits;  ///< of a setting only what is done with samples that are too long
  bool json = false;
  bool padded = false;  ///< of packings

  // of settings alone
  setting_request asked;
  std::string model;
  model_on_device on;
  std::optional<std::int64_t> memory;
  std::string report, write, command_line;
  std::string trainer;  ///< file of TrainingArguments
  bool strict = false, stored = false;
};

/// Whether a file or folder is a packing, which begins with an index; where that cannot be looked at, a capacity tells. Throws bad_input if
/// it cannot be read.
[[nodiscard]] bool is_packing(std::string const& file, bool has_capacity);

void check_packing(check_arguments const& arguments);
void check_setting(check_arguments const& arguments);

}  // namespace ballast_cli
