// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <ballast/core/groups.hpp>

#include <cstdint>
#include <string>

// The folders that `pack --out` and `plan --out` write (docs/formats.md).

namespace ballast_cli {

/// Refuses a plan.json that says no version of its format, or one that this program does not know. Throws bad_input, naming `name`.
void require_known_format(nlohmann::json const& plan, std::string const& name);

/// The packs of a folder. Throws bad_input where a file of it is missing, has another size than plan.json says, or is of another plan.
[[nodiscard]] ballast::groups<std::uint64_t> read_plan_folder(std::string const& folder);

}  // namespace ballast_cli
