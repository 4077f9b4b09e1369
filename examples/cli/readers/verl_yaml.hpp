// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/framework_setting.hpp"

#include <vector>

namespace ballast_cli {

/// The YAML of verl's trainer of SFT or, with other models on the devices, of its trainer of PPO and GRPO.
[[nodiscard]] ballast::exported_setting verl_yaml(ballast::transformer const& model, ballast::training_setting const& by,
                                                  std::vector<imported_role> const& roles);

}  // namespace ballast_cli
