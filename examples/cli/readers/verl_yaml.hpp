// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/framework_setting.hpp"

namespace ballast_cli {

/// The YAML of verl's trainer of SFT or, where answers are drawn, of its trainer of PPO and GRPO.
[[nodiscard]] ballast::exported_setting verl_yaml(imported_setting const& of);

}  // namespace ballast_cli
