// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/setting_table.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Recipes of frameworks on Megatron-Core by name: tables of what each sets, in short words.

namespace ballast_cli {

/// A recipe: the model on the hub, and what it sets, as words `tp=2` or `full`.
struct named_recipe {
  std::string name, model;
  std::vector<std::string_view> words;

  [[nodiscard]] bool has(std::string_view word) const;
  /// What stands behind `word=`; nothing without it.
  [[nodiscard]] std::optional<std::string_view> value(std::string_view word) const;
};

/// The recipe of `table` with this name. A line `= MODEL WORD...` begins those of a model, with what they have in common; another line is
/// `NAME WORD...`. What stands in brackets in a name may be left out, and a word `as=OTHER` is another name.
[[nodiscard]] std::optional<named_recipe> recipe_named(std::string_view table, std::string_view name);

/// Adds what the words mean, as keys of Megatron-LM, but for keys that are there and for those in `but`. Words that need more than a key
/// (lora, attention, frozen, words, devices, nodes) are left to the framework's importer.
void add_recipe(setting_table& keys, named_recipe const& recipe, std::vector<std::string> const& but);

extern std::string_view const bridge_recipes, nemo_recipes;

}  // namespace ballast_cli
