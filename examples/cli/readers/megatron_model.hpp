// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/setting_table.hpp"

#include <ballast/cost/transformer.hpp>

#include <cstdint>
#include <optional>

namespace ballast_cli {

/// The model of a setting of Megatron-LM: its own flags, with their defaults, unless `given` is the model. Layers and width have to agree
/// with `given`. The vocabulary is padded as for `tensor` devices. Throws bad_input, naming the key.
[[nodiscard]] ballast::transformer read_megatron_model(setting_table& in, std::optional<ballast::transformer> const& given,
                                                       std::int64_t tensor);

}  // namespace ballast_cli
