// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/model_plan.hpp"

#include <ballast/plan/training_setting.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

// The options of `plan` for the model side: stages, memory, and how the model is trained.

namespace ballast_cli {

/// all, none, lora:RANK or qlora:RANK. Throws bad_input.
[[nodiscard]] ballast::trainable trained_part(std::string const& option, std::string const& text);
/// Freezes the parts of a vision-language model that are listed. Throws bad_input.
void freeze(ballast::model_setting& by, std::string const& option, std::string const& text);
/// 0 to 3. Throws bad_input.
[[nodiscard]] int zero_stage(std::string const& option, std::string const& text);

/// none, full, or modules. Throws invalid_input.
[[nodiscard]] ballast::recompute_setting recomputed(std::string const& option, std::string const& text);
inline constexpr char const* stored_help =
    "weights that are not trained are in memory as the config.json says (quantization_config): with --train none or lora:RANK";
inline constexpr char const* recomputed_help = "what layers compute again: none (default), full, or modules as mlp,layernorm";

/// Options of which each excludes others.
struct model_option_rules {
  std::vector<CLI::Option*> not_with_stages;  ///< those that --stages excludes
  std::vector<CLI::Option*> of_model;         ///< those that say which model it is: --layers excludes them
};

/// The options of which a search over degrees asks whether they are given, and all others but --stages.
struct model_options {
  CLI::Option *stages = nullptr, *tensor = nullptr, *context = nullptr, *expert = nullptr, *zero = nullptr, *layers = nullptr,
              *framework = nullptr, *vision = nullptr;
  std::vector<CLI::Option*> others;
};

/// `schedules` are those of --schedule, as text.
model_options add_model_options(CLI::App& command, model_request& asked, std::string& schedules, model_option_rules const& rules);

}  // namespace ballast_cli
