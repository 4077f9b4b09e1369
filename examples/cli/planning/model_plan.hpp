// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "commands/commands.hpp"
#include "planning/sample_cost.hpp"
#include "report/page.hpp"

#include <ballast/plan/exports.hpp>
#include <ballast/plan/plan_data.hpp>
#include <ballast/plan/run_model.hpp>
#include <ballast/plan/training_plan.hpp>

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

// The model side of `plan`: stages, memory and the timeline of every step.

namespace ballast_cli {

/// The layers as the options name them, and what a sample costs on one device of each stage.
struct model_input {
  ballast::run_model model;
  run_cost cost;
};
[[nodiscard]] model_input read_model(plan_arguments const& arguments);

struct planned_model {
  std::string schedule;
  ballast::run_model model;
  ballast::whole_run run;
  std::vector<std::string> recompute, selective;  ///< names of layers that are recomputed in full, in part
  std::optional<std::string> layout;              ///< of Megatron-LM
  ballast::megatron_recompute megatron;
  std::vector<std::string> megatron_flags;  ///< options of Megatron-LM, each and its values
};
/// Throws no_plan where no cut fits.
[[nodiscard]] planned_model plan_model(plan_arguments const& arguments, ballast::run_model model, ballast::data_plan<> const& data);

[[nodiscard]] nlohmann::ordered_json to_json(planned_model const& plan);
[[nodiscard]] std::string in_words(planned_model const& plan);
[[nodiscard]] report_model on_page(planned_model const& plan);

}  // namespace ballast_cli
