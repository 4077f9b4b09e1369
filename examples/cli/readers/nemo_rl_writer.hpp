// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/framework_setting.hpp"

#include <string_view>

namespace ballast_cli {

/// What a file for `examples/run_sft.py` begins with: the file of defaults, and the section that tells the kind of training.
inline constexpr std::string_view nemo_rl_sft = "defaults: sft.yaml  # of examples/configs\nsft:\n  seed: 42";

/// Writes a setting for NeMo RL: by Megatron-Core where its tensors are counted, else by DTensor. Throws as `require_valid`.
[[nodiscard]] ballast::exported_setting nemo_rl_yaml(imported_setting const& of);

}  // namespace ballast_cli
