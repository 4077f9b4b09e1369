// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/level_rules.hpp"
#include "planning/sample_cost.hpp"

#include <ballast/footprint/model_setting.hpp>

#include <cstdint>
#include <string>

// What options say of levels.

namespace ballast_cli {

/// What is trained on what, as options say it.
struct level_request {
  model_on_device on;
  std::uint32_t gpus = 1;
  std::string table;  ///< a measured profile; empty: times are modelled
  ballast::framework framework = ballast::framework_named("hbp");
  ballast::head_loss loss{};
};

}  // namespace ballast_cli
