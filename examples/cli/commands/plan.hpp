// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/capacity_choice.hpp"
#include "planning/degree_choice.hpp"
#include "planning/level_request.hpp"
#include "planning/model_plan.hpp"
#include "planning/sample_cost.hpp"
#include "readers/lengths.hpp"

#include <ballast/plan/plan_data.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

// What `plan` was asked for, and the two ways in which it plans.

namespace ballast_cli {

struct plan_arguments {
  input_arguments input;
  std::string capacity;                   ///< as it was given: one for each measure, or auto
  std::optional<chosen_capacity> chosen;  ///< of auto
  ballast::data_plan_options options;     ///< of several measures, the last is the tokens
  model_on_device on;
  double tflops = 0;           ///< of a device of one's own; 0: a preset
  std::int64_t bandwidth = 0;  ///< bytes/s of its link
  std::int64_t global_batch_tokens = 0;
  std::int64_t multiple = 1;                           ///< that samples are rounded up to
  std::string cost;                                    ///< file of measured times; empty: the model on the device
  double step_overhead_ms = 0;                         ///< that samples do not account for
  std::optional<double> micro_batch_overhead_ms = {};  ///< the same; what the fitted cost says if not given
  model_request model_side;                            ///< with stages
  std::string levels;                                  ///< auto, hbp or a file; empty: one capacity
  curriculum_name curriculum = curricula[0];           ///< order of the steps of several levels
  std::uint32_t gpus = 1;                              ///< of the run, where there are levels or degrees are chosen
  std::string schedules;                               ///< as they were given
  degree_request degrees;                              ///< to choose, with GPUs and without levels
  gpu_range range;                                     ///< of --gpus auto
  std::string out;                                     ///< folder; empty: nothing is written
  std::string command_line;                            ///< for the report
  bool json = false;
  bool padded = false;                ///< rows are padded to the longest of their pack
  bool fixed = false;                 ///< --static: arrays of one size for each pack
  std::int64_t memory_bandwidth = 0;  ///< bytes/s of the memory of a device of one's own

  [[nodiscard]] std::size_t measures() const { return options.others.size() + 1; }
  [[nodiscard]] bool asks_capacity() const { return capacity == "auto" && levels.empty(); }
  [[nodiscard]] bool levels_from_file() const { return !levels.empty() && levels != "auto" && levels != "hbp"; }
};

/// Plans samples in places of one capacity and, where there are stages, the model.
void plan_one_capacity(plan_arguments arguments);
/// Plans steps for ranks of several kinds of devices.
void plan_kinds(plan_arguments const& arguments);
/// Plans packs of several lengths and settings.
void plan_several_levels(plan_arguments const& arguments);

}  // namespace ballast_cli
