// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/model_plan.hpp"

#include <CLI/CLI.hpp>

#include <vector>

// The options of `plan` for the model side: stages, memory, and how the model is trained.

namespace ballast_cli {

/// Options of which each excludes others.
struct model_option_rules {
  std::vector<CLI::Option*> not_with_stages;  ///< those that --stages excludes
  std::vector<CLI::Option*> of_model;         ///< those that say which model it is: --layers excludes them
};

/// All need --stages, which is one of them.
void add_model_options(CLI::App& command, model_request& asked, model_option_rules const& rules);

}  // namespace ballast_cli
