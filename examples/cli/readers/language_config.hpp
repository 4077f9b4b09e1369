// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/config_fields.hpp"

#include <ballast/cost/transformer.hpp>

#include <string>
#include <string_view>

namespace ballast_cli {

/// Whether a `model_type` is that of a language model whose fields are known.
[[nodiscard]] bool is_language_family(std::string_view family);
/// All of them: "llama, mistral, ...".
[[nodiscard]] std::string language_families();

/// Reads the fields of a language model as the class of its `model_type` in Hugging Face transformers does: absent fields are that class's
/// defaults. Throws bad_input, naming the field, if a field cannot be said by a `ballast::transformer`.
/// @param tied  whether the head uses the embedding's matrix, where the file of a larger model decides it
[[nodiscard]] ballast::transformer read_language_config(config_fields& in, std::string_view family,
                                                        std::optional<bool> tied = std::nullopt);

}  // namespace ballast_cli
