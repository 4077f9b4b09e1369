// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/framework_setting.hpp"
#include "readers/recipe_words.hpp"
#include "readers/setting_table.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What Megatron-Bridge and NeMo share, whose keys are Megatron-Core's: Megatron's importer reads them.

namespace ballast_cli {

/// Whether a key is there and off.
[[nodiscard]] bool is_false(setting_table& in, std::string const& key);
/// Whether a table has the degrees of a model.
[[nodiscard]] bool has_core_degrees(setting_table const& table);
/// The table with formats as `torch.bfloat16`, in words or in a section of `_target_`, as Megatron-LM's flags have them.
[[nodiscard]] setting_table with_plain_formats(setting_table const& in);
/// Keys of Megatron-LM that a setting takes away, as `model.recompute_granularity=null`.
[[nodiscard]] std::vector<std::string> emptied(setting_table const& in);
/// Reads `keys` for the model that is asked for, that `name` is on the hub, or whose shape they have.
[[nodiscard]] imported_setting read_core(setting_table keys, setting_request asked, std::string const& name, std::string const& framework);

/// Adapters, frozen parts and the vocabulary of a recipe, unless the setting says otherwise.
struct recipe_parts {
  std::int64_t rank = 0;   ///< of adapters; 0: none
  bool attention = false;  ///< whether adapters are on attention alone
  bool frozen = false;
  std::optional<std::int64_t> words{};  ///< of a tokenizer that is not the model's
};
/// Gives them to what was read.
void set_parts(imported_setting& out, setting_table const& in, setting_request const& asked, recipe_parts const& parts);
/// Whether adapters are on attention alone, by the modules that `key` names; nothing if it names none.
[[nodiscard]] std::optional<bool> adapts_attention(setting_table& in, std::string const& key);
/// Adds a recipe to keys that override it. A layout is of as many stages as the recipe has, and goes with other ones.
void add_core_recipe(setting_table& keys, named_recipe const& recipe, std::vector<std::string> but, std::vector<std::string>& notes);
/// A number that a recipe says by a word.
[[nodiscard]] std::int64_t recipe_number(named_recipe const& recipe, std::string_view word, std::int64_t otherwise);

// A configuration is that of one or the other by its data.
inline constexpr task_words core_tasks[]{{.task = training_task::pretraining}, {.task = training_task::finetuning}};

}  // namespace ballast_cli
