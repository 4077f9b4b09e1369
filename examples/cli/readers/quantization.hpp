// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/config_fields.hpp"

#include <ballast/footprint/trainable.hpp>

#include <optional>
#include <string>

// How the weights of a file are quantised: the field `quantization_config` of a config.json.

namespace ballast_cli {

/// A method, and what its weights take; none if that does not follow from the fields.
struct stored_format {
  std::string method;
  std::optional<ballast::stored_weights> weights = {};
};

/// Reads the field. None without it. Throws bad_input where it is no object, or its numbers are none.
[[nodiscard]] std::optional<stored_format> read_stored_format(config_fields& in);

/// "4.25 bits".
[[nodiscard]] std::string in_words(ballast::stored_weights const& weights);

}  // namespace ballast_cli
