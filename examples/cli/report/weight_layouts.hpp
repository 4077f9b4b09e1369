// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/weight_layouts.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

// What is printed of the layouts of weights.

namespace ballast_cli {

[[nodiscard]] std::string in_words(weight_plans const& plans);
[[nodiscard]] nlohmann::ordered_json to_json(weight_plans const& plans);

}  // namespace ballast_cli
