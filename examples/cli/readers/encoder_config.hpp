// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/config_fields.hpp"

#include <ballast/cost/transformer.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ballast_cli {

/// Whether a `model_type` is that of an encoder whose fields are known: a transformer in which each token sees all others.
[[nodiscard]] bool is_encoder_family(std::string_view family);
/// All of them: "bert, roberta, ...".
[[nodiscard]] std::string encoder_families();

/// Reads the fields of an encoder as the class of its `model_type` in Hugging Face transformers does. `architectures` says what it ends
/// with; without it, and with a word for masked language models, the head that predicts tokens is counted.
/// @param notes  a sentence for each thing that was assumed is added
[[nodiscard]] ballast::transformer read_encoder_config(config_fields& in, std::string_view family, std::vector<std::string>& notes);

}  // namespace ballast_cli
