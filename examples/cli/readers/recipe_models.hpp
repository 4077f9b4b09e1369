// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/transformer.hpp>

#include <optional>
#include <string_view>

// Models of recipes that are no presets.

namespace ballast_cli {

/// The part that reads tokens of a model, by its name on the hub; nothing for models that no recipe trains, or that are presets.
[[nodiscard]] std::optional<ballast::transformer> recipe_model(std::string_view name);

}  // namespace ballast_cli
