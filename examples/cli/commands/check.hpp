// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "commands/options.hpp"
#include "planning/layer_times.hpp"
#include "planning/sample_cost.hpp"
#include "readers/file_bytes.hpp"
#include "readers/framework_setting.hpp"
#include "readers/stages.hpp"

#include <ballast/cost/schedule.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// `check FILE...`: a setting of a framework is judged; a packing, steps, sets, shards, stages and selections are checked and scored.

namespace ballast_cli {

struct check_arguments {
  input_arguments input;   ///< what is checked, then lengths or layers
  limit_arguments limits;  ///< of a setting only what is done with samples that are too long
  bool json = false;
  bool padded = false;  ///< of packings

  // of settings, and some of plans
  setting_request asked;
  std::string model;
  model_on_device on;
  std::optional<std::int64_t> memory;
  std::string report, write, command_line;
  std::string trainer;  ///< file of TrainingArguments
  bool strict = false, stored = false;

  // of plans
  std::string cost;         ///< file of measured times; empty: the model on the device
  std::uint64_t sets = 0;   ///< that samples are balanced over
  std::uint64_t batch = 0;  ///< samples of a global batch of shards; 0: as many as they have on average
  double step_overhead_ms = 0;
  std::optional<double> micro_batch_overhead_ms;  ///< none: what the cost says
  std::optional<std::int64_t> budget;             ///< bytes that all layers may hold
  std::optional<ballast::any_schedule> schedule;  ///< of stages; none: 1f1b
  offload_link offload;

  /// The model and the device of a plan, whose model has a default.
  [[nodiscard]] model_on_device modelled() const {
    auto out = on;
    if (!model.empty()) out.model = model;
    return out;
  }
};

// `text` is that of the first file.
void check_packing(check_arguments const& arguments, std::string_view text);
void check_sets(check_arguments const& arguments, std::string_view text);
void check_setting(check_arguments const& arguments);
void check_steps(check_arguments const& arguments, std::string_view text);
void check_shards(check_arguments const& arguments, std::string_view text);
void check_stages(check_arguments const& arguments, stages_of_layers const& given);
void check_choices(check_arguments const& arguments, stages_of_layers const& given);

}  // namespace ballast_cli
