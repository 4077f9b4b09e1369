// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/setting_table.hpp"

#include <string>
#include <string_view>

// Settings in JSON, YAML and TOML as tables: "a.b" is key b of section a. A list is the words of its key; "/" is in
// front of each list in a list. In YAML, key b of the first map in list a is "a.0.b".

namespace ballast_cli {

/// All throw bad_input, naming `name` and the line or the key.
[[nodiscard]] setting_table read_json_setting(std::string_view text, std::string const& name);
[[nodiscard]] setting_table read_yaml_setting(std::string_view text, std::string const& name);
[[nodiscard]] setting_table read_toml_setting(std::string_view text, std::string const& name);

}  // namespace ballast_cli
