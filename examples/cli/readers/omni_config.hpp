// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ballast_cli {

/// The part of a file that reads text, images and sound, where it is an object of its own (`thinker_config` of Qwen's omni models); else
/// the file.
[[nodiscard]] nlohmann::json const& thinker_of(nlohmann::json const& whole);

/// Adds a sentence for each part of a file that is not modelled: a talker, a decoder of sound, and the encoder of sound, whose parameters
/// are counted in the sentence. Throws bad_input, naming the field.
void note_unmodelled_parts(nlohmann::json const& whole, std::string const& file, std::vector<std::string>& notes);

/// Why a family cannot be read; empty for all others.
[[nodiscard]] std::string_view why_not_read(std::string_view family);
/// All of them.
[[nodiscard]] std::vector<std::string_view> unread_families();

}  // namespace ballast_cli
