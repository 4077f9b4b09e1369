// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/quantization.hpp"
#include "readers/vision_config.hpp"

#include <ballast/cost/transformer.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ballast_cli {

/// What a Hugging Face `config.json` says of a model.
struct model_shape {
  std::string family;                        ///< its `model_type`
  ballast::transformer language;             ///< the part that reads tokens
  std::vector<std::string> notes;            ///< what was assumed, a sentence each
  std::optional<vision_part> images = {};    ///< tower and projector, if it reads images
  std::optional<stored_format> stored = {};  ///< how its file stores weights, if they are quantised
  std::string no_images = {};                ///< why a model that reads images has neither here; empty if it reads none
};

/// Reads a `config.json`. Throws bad_input, naming `name` and the field.
[[nodiscard]] model_shape read_model_config(std::string_view text, std::string const& name);

}  // namespace ballast_cli
