// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/vision_config.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ballast_cli {

/// Whether the encoder of sound of a `model_type` is modelled: an encoder of Whisper.
[[nodiscard]] bool is_sound_family(std::string_view family);
/// All of them: "qwen2_audio, voxtral".
[[nodiscard]] std::string sound_families();

/// Reads the encoder of sound as a tower whose tiles are clips of sound, and the projector behind it, as `read_vision_config` does.
[[nodiscard]] vision_part read_sound_config(nlohmann::json const& whole, std::string_view family, std::int64_t hidden,
                                            std::string const& file, std::vector<std::string>& notes);

/// Number of parameters of encoders that are not modelled: Qwen2.5-Omni and Qwen3-Omni; 0: it is none of them.
[[nodiscard]] std::int64_t omni_encoder_parameters(nlohmann::json const& sound, std::string const& file);
/// The same of the conformer of Phi-4-multimodal with its four projections to a language model of width `hidden`.
[[nodiscard]] std::int64_t conformer_parameters(nlohmann::json const& sound, std::int64_t hidden, std::string const& file);

}  // namespace ballast_cli
