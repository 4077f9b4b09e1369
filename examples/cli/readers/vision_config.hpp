// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/config_fields.hpp"

#include <ballast/cost/vision.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ballast_cli {

/// The parts of a vision-language model that read images, or of one that reads sound.
struct vision_part {
  ballast::vision_transformer tower;
  ballast::projector projector;  ///< its output is as wide as the language model
  bool of_sound = false;         ///< whether it reads sound: a tile is a clip
};

/// Whether a file describes a model that reads images.
[[nodiscard]] bool has_vision(nlohmann::json const& whole);
/// Whether the vision part of a `model_type` is known.
[[nodiscard]] bool is_vision_family(std::string_view family);
/// All of them: "qwen2_vl, qwen2_5_vl, ...".
[[nodiscard]] std::string vision_families();

/// Reads tower and projector as the class of the `model_type` in Hugging Face transformers does: absent fields are that class's defaults.
/// What was assumed is added to `notes`. Throws bad_input, naming the field, if a field cannot be said by the parts.
/// @param whole     the file
/// @param family    its `model_type`, one of `vision_families`
/// @param hidden    width of the language model
/// @param file      name of the file
/// @param notes     a sentence for each thing that was assumed
[[nodiscard]] vision_part read_vision_config(nlohmann::json const& whole, std::string_view family, std::int64_t hidden,
                                             std::string const& file, std::vector<std::string>& notes);

}  // namespace ballast_cli
