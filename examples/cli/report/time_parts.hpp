// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/kernel_rates.hpp>
#include <ballast/plan/time_of.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

// Where the time of a step goes, on the stage that waits least.

namespace ballast_cli {

/// `stages` is not empty.
[[nodiscard]] nlohmann::ordered_json to_json(std::vector<ballast::time_parts> const& stages, std::string_view device,
                                             ballast::kernel_rates const& rates);
[[nodiscard]] std::string time_table(std::vector<ballast::time_parts> const& stages, std::string_view device,
                                     ballast::kernel_rates const& rates);

}  // namespace ballast_cli
