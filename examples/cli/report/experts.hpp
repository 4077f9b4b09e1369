// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/expert_plan.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

// What is printed of experts on ranks.

namespace ballast_cli {

/// The plans, and the options that they were made with; `options.slots` is not 0.
struct expert_report {
  std::vector<placed_layer> const& layers;
  ballast::replication_options const& options;
};

[[nodiscard]] std::string in_words(expert_report const& report);
[[nodiscard]] nlohmann::ordered_json to_json(expert_report const& report);

}  // namespace ballast_cli
