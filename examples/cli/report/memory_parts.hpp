// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "report/page.hpp"

#include <ballast/plan/memory_of.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

// The memory of stages, part by part.

namespace ballast_cli {

[[nodiscard]] nlohmann::ordered_json to_json(ballast::memory_parts const& of);
/// A table with a column for each stage; of many, the first ones, the last, and the one that holds most. `by` tells what is gathered.
[[nodiscard]] std::string parts_table(std::vector<ballast::memory_parts> const& stages, ballast::model_setting const& by);
/// All stages, each at its peak.
[[nodiscard]] report_split on_page(std::vector<ballast::memory_parts> const& stages, ballast::model_setting const& by);

}  // namespace ballast_cli
