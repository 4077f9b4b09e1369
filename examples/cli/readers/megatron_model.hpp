// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/framework_setting.hpp"

#include <cstdint>

namespace ballast_cli {

/// Sets the model of a setting of Megatron-LM: its own flags, with their defaults, unless a model is asked for or, with ms-swift, named.
/// Layers and width have to agree with it. The vocabulary is padded as for `tensor` devices. Throws bad_input, naming the key, also for
/// models that are not modelled.
void read_megatron_model(setting_table& in, setting_request const& asked, std::int64_t tensor, imported_setting& out);

/// Marks keys on which neither memory nor time nor layout depends.
void ignore_megatron_keys(setting_table& in);

}  // namespace ballast_cli
