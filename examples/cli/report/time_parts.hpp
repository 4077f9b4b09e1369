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

/// Which rates a time is modelled with, in words.
struct used_rates {
  std::string name;         ///< as `kernels_named` takes it, or a file
  std::string nearest;      ///< the device whose rates an unknown one takes; empty: it is known
  std::string calibration;  ///< a file; empty: none
};
/// As `kernels_named` takes it.
[[nodiscard]] std::string rates_name(std::string_view device, ballast::kernel_rates const& rates);

/// `stages` is not empty.
[[nodiscard]] nlohmann::ordered_json to_json(std::vector<ballast::time_parts> const& stages, used_rates const& rates);
[[nodiscard]] std::string time_table(std::vector<ballast::time_parts> const& stages, used_rates const& rates);

}  // namespace ballast_cli
