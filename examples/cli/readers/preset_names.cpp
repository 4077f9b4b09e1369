// SPDX-License-Identifier: Apache-2.0
#include "readers/preset_names.hpp"

#include "nearest.hpp"

#include <ballast/cost/presets.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace ballast_cli {

namespace {

/// A model with the shape of a preset, weight by weight.
struct same_shape {
  std::string_view name, preset;
};
constexpr same_shape same_shapes[]{
    {"llama-3-8b", "llama-3.1-8b"},
    {"llama-3-70b", "llama-3.1-70b"},
    {"llama-3.3-70b", "llama-3.1-70b"},
    {"deepseek-r1-distill-llama-8b", "llama-3.1-8b"},
    {"deepseek-r1-distill-llama-70b", "llama-3.1-70b"},
    {"vicuna-7b-v1.5", "vicuna-7b"},
    {"qwen2-0.5b", "qwen2.5-0.5b"},
    {"qwen2-1.5b", "qwen2.5-1.5b"},
    {"qwen2-7b", "qwen2.5-7b"},
    {"qwen2-72b", "qwen2.5-72b"},
    {"qwen2.5-coder-0.5b", "qwen2.5-0.5b"},
    {"qwen2.5-coder-1.5b", "qwen2.5-1.5b"},
    {"qwen2.5-coder-3b", "qwen2.5-3b"},
    {"qwen2.5-coder-7b", "qwen2.5-7b"},
    {"qwen2.5-coder-14b", "qwen2.5-14b"},
    {"qwen2.5-coder-32b", "qwen2.5-32b"},
    {"qwen2.5-math-1.5b", "qwen2.5-1.5b"},
    {"qwen2.5-math-7b", "qwen2.5-7b"},
    {"qwen2.5-math-72b", "qwen2.5-72b"},
    {"qwq-32b", "qwen2.5-32b"},
    {"deepseek-r1-distill-qwen-7b", "qwen2.5-7b"},
    {"deepseek-r1-distill-qwen-14b", "qwen2.5-14b"},
    {"deepseek-r1-distill-qwen-32b", "qwen2.5-32b"},
    {"qwen3-coder-30b-a3b", "qwen3-30b-a3b"},
    {"mistral-7b", "mistral-7b-v0.1"},
    {"zephyr-7b-beta", "mistral-7b-v0.1"},
    {"mixtral-8x7b-v0.1", "mixtral-8x7b"},
    {"mixtral-8x22b-v0.1", "mixtral-8x22b"},
    {"mistral-nemo-12b", "mistral-nemo"},
    {"phi-3.5-mini", "phi-3-mini-128k"},
    {"deepseek-r1", "deepseek-v3"},
};
/// Models whose vocabulary is not that of the one without the word.
constexpr std::string_view unlike_base[]{"mixtral-8x22b-instruct"};

/// Words of a name that say nothing of the shape.
[[nodiscard]] bool is_dropped(std::string_view word) {
  constexpr std::string_view words[]{"instruct", "chat", "base", "it", "pt", "hf", "bf16", "fp16", "thinking"};
  if (std::find(std::begin(words), std::end(words), word) != std::end(words)) return true;
  auto const digits = std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && (word.size() == 4 || word.size() == 6 || word.size() == 8);  // a date
}

/// The words of a name that say something of the shape, in one.
[[nodiscard]] std::string key_of(std::string_view name) {
  std::string key, word;
  auto const end_word = [&] {
    if (key.empty() || !is_dropped(word)) key += word;
    word.clear();
  };
  for (auto const c : lower_case(name))
    if (c == '-' || c == '_')
      end_word();
    else
      word += c;
  end_word();
  return key.starts_with("metallama") ? key.substr(4) : key;
}

/// The part of a path that names a model.
[[nodiscard]] std::string_view model_in_path(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  constexpr std::string_view snapshots = "/snapshots/", models = "models--";
  if (auto const at = path.rfind(snapshots); at != path.npos && path.find('/', at + snapshots.size()) == path.npos)
    if (auto const parent = path.substr(0, at); parent.find(models) != parent.npos) {
      path = parent.substr(parent.rfind(models) + models.size());
      auto const owner = path.find("--");
      return owner == path.npos ? path : path.substr(owner + 2);
    }
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::optional<std::string> preset_of(std::string_view hub_name) {
  auto const name = model_in_path(hub_name);
  auto const key = key_of(name);
  if (key.empty()) return std::nullopt;
  for (auto const other : unlike_base)
    if (lower_case(name).starts_with(other)) return std::nullopt;
  for (auto const& [other, preset] : same_shapes)
    if (key == key_of(other)) return std::string(preset);
  auto const found = [&](auto const& presets) -> std::optional<std::string> {
    for (auto const& p : presets)
      if (key == key_of(p.name)) return std::string(p.name);
    return std::nullopt;
  };
  auto language = found(ballast::transformer_presets);
  return language ? std::move(language) : found(ballast::vision_language_presets);
}

std::vector<std::string_view> other_names(std::string_view preset) {
  std::vector<std::string_view> names;
  for (auto const& [other, of] : same_shapes)
    if (of == preset) names.push_back(other);
  return names;
}

}  // namespace ballast_cli
