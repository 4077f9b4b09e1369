// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/sharding/result.hpp>

#include <string>
#include <string_view>
#include <vector>

// Shards of any program, as `ballast schedule` writes them. Only their form is checked here; the library checks whether they are valid.

namespace ballast_cli {

/// One JSON object a line, one line a batch: "execution", "ranks" (of each, its passes; of each, its pieces [sample, begin, end] or
/// [sample, begin, end, group]), and perhaps "groups" (the ranks of each) and "left_out". Other keys are not read; blank lines are
/// skipped. Throws bad_input, naming `name` and the line.
[[nodiscard]] std::vector<ballast::shards<>> read_shards(std::string_view text, std::string const& name);

}  // namespace ballast_cli
