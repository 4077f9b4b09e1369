// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/transformer.hpp>

#include <string>
#include <string_view>

namespace ballast_cli {

/// The language model that a Hugging Face `config.json` describes; of a vision-language model, the part that reads tokens.
/// Shapes are read by their fields, so a family this program has never heard of works if it names them as Llama, GPT-2, Mixtral,
/// Qwen or DeepSeek do. Throws bad_input, naming `name` and the field.
[[nodiscard]] ballast::transformer read_model_config(std::string_view text, std::string const& name);

}  // namespace ballast_cli
