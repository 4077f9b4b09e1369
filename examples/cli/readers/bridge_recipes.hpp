// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string_view>
#include <vector>

// Recipes of Megatron-Bridge by name.

namespace ballast_cli {

/// A recipe: what it sets, as words `tp=2` or `full` (bridge_recipes.cpp lists them).
struct bridge_recipe {
  std::string_view name, model;  ///< its whole name, and the model on the hub
  std::vector<std::string_view> words;
};

/// A recipe by its name or its older name, with or without `_config` at the end; nothing if it is not known.
[[nodiscard]] std::optional<bridge_recipe> bridge_recipe_named(std::string_view name);

}  // namespace ballast_cli
