// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/sample_cost.hpp"

#include <ballast/cost/exchange.hpp>
#include <ballast/cost/kernel_rates.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/cluster.hpp>
#include <ballast/footprint/layer_time.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/plan/time_of.hpp>
#include <ballast/plan/training_plan.hpp>
#include <ballast/plan/training_setting.hpp>

#include <span>
#include <string>
#include <vector>

// Where the time of a step goes by kernels, for all commands that say it.

namespace ballast_cli {

struct timed_step {
  std::vector<ballast::time_parts> stages = {};  ///< empty: see `untimed`
  std::string untimed = {};                      ///< why it is not told
  std::string device = {};                       ///< its name
  std::string kernels = {}, calibration = {};    ///< files that changed the rates; empty: none
  ballast::kernel_rates rates = {};
  bool experts = false;      ///< whether the model has experts
  bool lower_bound = false;  ///< whether the memory of a device is so full that a step may take longer
};

/// Why the time of models that are trained so is not told; empty: it is.
[[nodiscard]] std::string why_untimed(ballast::model_setting const& by);

/// Times a mean step of a plan; `taken` as `time_of` takes it. Not told where something is not modelled, or where `untimed` says so.
[[nodiscard]] timed_step time_step(ballast::transformer const& model, ballast::training_setting const& by, model_on_device const& on,
                                   ballast::time_setting with, ballast::training_plan const& judged, std::string untimed = {},
                                   std::span<ballast::layer_option const> taken = {});

/// A setting whose framework hides exchanges, if any share of them is said to be hidden.
[[nodiscard]] ballast::model_setting overlapping(ballast::model_setting by, ballast::hidden_share const& hidden);
/// What kernels reach by the files of the options, and whether gradients travel beside them, where only options say how a framework runs.
/// Throws bad_input.
[[nodiscard]] ballast::time_setting kernels_of(model_on_device const& on, ballast::model_setting const& by,
                                               ballast::hidden_share const& hidden);
/// The devices of the options, with these times unless --mfu is given.
[[nodiscard]] ballast::cluster cluster_of(model_on_device const& on, ballast::model_setting const& by, ballast::hidden_share const& hidden);

}  // namespace ballast_cli
