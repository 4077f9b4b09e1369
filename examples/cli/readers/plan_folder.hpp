// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <ballast/batching/result.hpp>

#include <cstdint>
#include <optional>
#include <string>

// The folders that `pack --out` and `plan --out` write (docs/formats.md).

namespace ballast_cli {

/// Refuses a plan.json that says no version of its format, or one that this program does not know. Throws bad_input, naming `name`.
void require_known_format(nlohmann::json const& plan, std::string const& name);

/// What a folder holds; figures of the plan are not read.
struct plan_in_folder {
  ballast::batching<std::uint64_t> steps;  ///< without a table unless `plan` made it for one capacity
  std::optional<std::uint64_t> hash;       ///< of the plan, as plan.json says; none in folders of format 1
  std::uint64_t stages = 1;                ///< that a rank has
  std::int64_t multiple = 1;               ///< that samples are rounded up to
  std::uint64_t max_items = 0;             ///< most samples of a pack; 0: no limit
  bool padded = false;                     ///< whether rows are padded to the longest of their pack
  [[nodiscard]] bool left_over() const noexcept { return !steps.dropped.empty() || !steps.repeated.empty(); }
};

/// The capacity in a folder's plan.json, as --capacity takes it; empty if there is none.
[[nodiscard]] std::string capacity_in_folder(std::string const& folder);

/// Throws bad_input where a file of the folder is missing, has another size than plan.json says, or is of another plan.
[[nodiscard]] plan_in_folder read_plan_folder(std::string const& folder);

}  // namespace ballast_cli
