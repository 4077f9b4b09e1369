// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Rows that a router sent to experts: a line for each layer, a column for each expert.

namespace ballast_cli {

/// Reads columns between commas, semicolons or blanks, perhaps below a header without digits. Throws bad_input, naming `name` and the line.
[[nodiscard]] std::vector<std::vector<std::int64_t>> read_expert_loads(std::string_view bytes, std::string const& name);

}  // namespace ballast_cli
