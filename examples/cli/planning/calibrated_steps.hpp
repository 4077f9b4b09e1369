// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/sample_cost.hpp"
#include "readers/step_times.hpp"

#include <ballast/cost/calibrated_rates.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What measured steps of a framework's settings say of the model of times.

namespace ballast_cli {

/// A measured step beside its modelled milliseconds.
struct compared_step {
  std::string setting, rates;  ///< the file; the rates it is modelled with
  std::size_t line = 0;        ///< of the file of steps
  double ms = 0, before = 0, after = 0;
  double left_out = 0;  ///< with a calibration by all other steps
};

struct calibrated_steps {
  std::string device;
  std::vector<compared_step> steps;
  ballast::step_calibration found;
  bool experts = false;   ///< whether the model has experts
  double waiting_ms = 0;  ///< what a layer with experts waits for the host before the calibration
};

/// Finds the calibration. `on.model` is empty where the settings hold the shape; `gpus` is for rows that do not say it. Settings are beside
/// `file`. Throws bad_input, naming the file and the line.
[[nodiscard]] calibrated_steps calibrate_rows(std::vector<step_time_row> const& rows, std::string const& file, model_on_device const& on,
                                              std::optional<std::int64_t> gpus);

[[nodiscard]] nlohmann::ordered_json to_json(calibrated_steps const& of);
[[nodiscard]] std::string in_words(calibrated_steps const& of);

}  // namespace ballast_cli
