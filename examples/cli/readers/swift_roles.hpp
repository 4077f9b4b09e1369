// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/framework_setting.hpp"

#include <cstdint>
#include <optional>

// The keys of training by preferences of ms-swift (`swift rlhf`, `megatron rlhf`), which both of its trainers share.

namespace ballast_cli {

/// Notes what the head of the model is, where it is none of a vocabulary.
void read_swift_task(setting_table& in, imported_setting& out);
/// The longest sequence of the key "max_length", with the answer behind it where answers are drawn; nothing if the key is missing.
[[nodiscard]] std::optional<std::int64_t> swift_length(setting_table& in, bool rlhf);
/// Adds what `--rlhf_type` needs beside the model that trains, in `out.setting` and `out.model` as they are read: the other models of the
/// same devices, and pairs of samples.
void read_swift_roles(setting_table& in, setting_request const& asked, imported_setting& out);

/// What a command of ms-swift trains for.
[[nodiscard]] training_task swift_task(setting_source const& in);

}  // namespace ballast_cli
