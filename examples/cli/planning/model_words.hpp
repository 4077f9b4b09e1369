// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/model_config.hpp"

#include <ballast/cost/transformer.hpp>

#include <string>

namespace ballast_cli {

/// What of its layers: "12 layers: 3 full, 9 linear".
[[nodiscard]] std::string masks_in_words(ballast::transformer const& model);

/// What was read of a model: family, parameters, and the masks of its layers. One line, and one for each note.
[[nodiscard]] std::string in_words(model_shape const& shape, std::string const& name);

/// The same for what --model names; empty for a preset. Throws bad_input.
[[nodiscard]] std::string config_in_words(std::string const& model);

}  // namespace ballast_cli
