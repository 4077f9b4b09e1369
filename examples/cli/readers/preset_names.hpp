// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ballast_cli {

/// The preset that has the shape of a model on a hub: "qwen2.5-7b" for "Qwen/Qwen2.5-7B-Instruct". Takes the name of a preset, of a model,
/// with or without its owner, or a path that ends in one ("/models/Qwen3-8B", "models--Qwen--Qwen3-8B/snapshots/0123"). Case, dashes and
/// underscores do not matter, and what does not change the shape is dropped: instruct, chat, base, it, pt, hf, bf16, fp16, thinking, a
/// date. Nothing is guessed: a name that has anything more, as of quantised weights or of somebody's fine-tuning, has no preset.
/// @return a name of `ballast::transformer_presets` or `ballast::vision_language_presets`
[[nodiscard]] std::optional<std::string> preset_of(std::string_view hub_name);

/// Other models that have the shape of a preset: "llama-3.3-70b" for "llama-3.1-70b".
[[nodiscard]] std::vector<std::string_view> other_names(std::string_view preset);

}  // namespace ballast_cli
