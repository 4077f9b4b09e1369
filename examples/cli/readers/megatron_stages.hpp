// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/framework_setting.hpp"

namespace ballast_cli {

/// Sets the chunks of the pipeline and the cut of `out.model`, whose stages are known: by a layout, by numbers of layers, or evenly. Throws
/// bad_input, naming the key.
void read_megatron_stages(setting_table& in, imported_setting& out);

}  // namespace ballast_cli
