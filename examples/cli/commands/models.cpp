// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/options.hpp"
#include "planning/model_words.hpp"
#include "planning/sample_cost.hpp"
#include "readers/encoder_config.hpp"
#include "readers/file_bytes.hpp"
#include "readers/language_config.hpp"
#include "readers/model_config.hpp"
#include "readers/omni_config.hpp"
#include "readers/preset_names.hpp"
#include "readers/sound_config.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/words.hpp"

#include <ballast/cost/presets.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ballast_cli {

namespace {

constexpr std::int64_t modelled_tokens = 4096;

/// A model that --model takes.
struct known_model {
  model_shape shape;
  std::string name;
  bool preset = false;
};

[[nodiscard]] std::vector<known_model> all_presets() {
  std::vector<known_model> all;
  for (auto const& p : ballast::transformer_presets)
    all.push_back({{.family = "a language model", .language = p.model, .notes = {}}, std::string(p.name), true});
  for (auto const& p : ballast::vision_language_presets)
    all.push_back({{.family = "a vision-language model",
                    .language = p.model.language,
                    .notes = {},
                    .images = vision_part{.tower = p.model.vision, .projector = p.model.projector}},
                   std::string(p.name),
                   true});
  return all;
}

[[nodiscard]] known_model known_model_named(std::string const& asked) {
  auto const name = preset_or_file(asked);
  std::error_code error;
  auto all = all_presets();
  auto const at = std::find_if(all.begin(), all.end(), [&](auto const& m) { return m.name == name; });
  if (at != all.end() && !std::filesystem::exists(asked, error)) return *at;
  (void)model_named(name, "");  // throws the sentence of other commands unless there is such a file
  file_bytes const bytes(name);
  return {read_model_config(bytes.view(), name), shown_name(name), false};
}

/// Parameters of all parts, and those that a token of text uses.
[[nodiscard]] std::int64_t parameters_of_images(model_shape const& m) {
  return m.images ? parameters(m.images->tower) + parameters(m.images->projector) : 0;
}
[[nodiscard]] std::int64_t all_parameters_of(model_shape const& m) { return parameters_of_images(m) + parameters(m.language); }
[[nodiscard]] std::string in_groups(std::int64_t value) { return grouped(static_cast<std::uint64_t>(value)); }

/// Words of a list such as "llama, mistral".
[[nodiscard]] std::vector<std::string> families_in(std::string const& list) {
  std::vector<std::string> words;
  for (std::size_t from = 0; from < list.size();) {
    auto const comma = (std::min)(list.find(", ", from), list.size());
    words.push_back(list.substr(from, comma - from));
    from = comma + 2;
  }
  return words;
}

/// Other names of its shape: " (also llama-3-8b)".
[[nodiscard]] std::string other_names_in_words(std::string const& name) {
  std::string words;
  for (auto const other : other_names(name)) words += (words.empty() ? "" : ", ") + std::string(other);
  return words.empty() ? words : " (also " + words + ")";
}

[[nodiscard]] std::string known_models_in_words() {
  auto const all = all_presets();
  std::size_t name = 0, count = 0;
  for (auto const& m : all) {
    name = (std::max)(name, m.name.size());
    count = (std::max)(count, in_groups(all_parameters_of(m.shape)).size());
  }
  auto const padded = [](std::string text, std::size_t width, bool right) {
    text.insert(right ? 0 : text.size(), width > text.size() ? width - text.size() : 0, ' ');
    return text;
  };
  std::string text = "Presets: --model takes these names, and names of hubs that end in them.\n" + padded("name", name, false) + "  " +
                     padded("parameters", count, true) + "  layers of the language model\n";
  for (auto const& m : all) {
    auto const active = active_parameters(m.shape.language), whole = parameters(m.shape.language);
    text += padded(m.name, name, false) + "  " + padded(in_groups(all_parameters_of(m.shape)), count, true) + "  " +
            masks_in_words(m.shape.language) + (active < whole ? "; a token uses " + in_groups(active) : "") +
            other_names_in_words(m.name) + "\n";
  }
  text += "\nA config.json is read of these model_types.\nLanguage models: " + language_families() + "\nWith images: " + vision_families() +
          "\nWith sound: " + sound_families() + "\nEncoders: " + encoder_families() + "\n\nThese are refused.\n";
  for (auto const family : unread_families()) text += std::string(family) + ": " + std::string(why_not_read(family)) + "\n";
  return text;
}

[[nodiscard]] nlohmann::ordered_json known_model_json(known_model const& m) {
  auto const& model = m.shape.language;
  auto const linear = model.linear.layers.count(model.layers);
  std::int64_t windowed = 0;
  for (std::int64_t l = 0; l < model.layers; ++l)
    windowed += model.window > 0 && model.windowed.contains(l) && !model.linear.layers.contains(l) ? 1 : 0;
  nlohmann::ordered_json out{{"name", m.name},
                             {"kind", m.shape.images ? m.shape.images->of_sound ? "audio-language" : "vision-language"
                                      : model.causal ? "language"
                                                     : "encoder"},
                             {"parameters", all_parameters_of(m.shape)},
                             {"language_parameters", parameters(model)},
                             {"active_parameters", active_parameters(model)},
                             {"layers", model.layers},
                             {"hidden", model.hidden},
                             {"windowed_layers", windowed},
                             {"window", windowed > 0 ? model.window : 0},
                             {"linear_layers", linear},
                             {"tied", model.tied}};
  if (m.shape.images) {
    out["tower_parameters"] = parameters(m.shape.images->tower);
    out["projector_parameters"] = parameters(m.shape.images->projector);
  }
  if (m.preset) out["other_names"] = other_names(m.name);
  return out;
}

void print_known_models(bool json) {
  if (!json) return write_standard_output(known_models_in_words());
  nlohmann::ordered_json out{{"presets", nlohmann::ordered_json::array()},
                             {"read",
                              {{"language", families_in(language_families())},
                               {"vision", families_in(vision_families())},
                               {"sound", families_in(sound_families())},
                               {"encoders", families_in(encoder_families())}}},
                             {"refused", nlohmann::ordered_json::array()}};
  for (auto const& m : all_presets()) out["presets"].push_back(known_model_json(m));
  for (auto const family : unread_families()) out["refused"].push_back({{"model_type", family}, {"why", why_not_read(family)}});
  print_json(out);
}

void print_known_model(std::string const& asked, bool json) {
  auto const m = known_model_named(asked);
  auto const flops = forward_flops(m.shape.language);
  auto const whole = flops(modelled_tokens), pairs = whole - flops.per_token * modelled_tokens;
  if (json) {
    auto out = known_model_json(m);
    if (!m.preset) out["family"] = m.shape.family;
    out["forward_flops"] = {{"tokens", modelled_tokens}, {"flops", whole}, {"of_pairs", pairs}};
    if (m.shape.images) out["forward_flops"]["tile"] = tile_flops(m.shape.images->tower) + tile_flops(m.shape.images->projector);
    out["notes"] = m.shape.notes;
    if (!m.shape.no_images.empty()) out["notes"].push_back(m.shape.no_images);
    return print_json(out);
  }
  auto text = (m.preset && m.name != asked ? asked + " has the shape of " + m.name + ".\n" : "") + in_words(m.shape, m.name);
  text += "A forward pass of " + in_groups(modelled_tokens) + " tokens has " + in_groups(whole) + " FLOPs, of which " +
          percent(static_cast<double>(pairs) / static_cast<double>(whole)) + " are those of pairs of tokens";
  if (m.shape.images) text += "; a tile has " + in_groups(tile_flops(m.shape.images->tower) + tile_flops(m.shape.images->projector));
  text += ".\n";
  if (auto const others = m.preset ? other_names_in_words(m.name) : std::string(); !others.empty())
    text += "Others have the same shape" + others + ".\n";
  write_standard_output(text);
}

}  // namespace

void add_models(CLI::App& app) {
  struct models_arguments {
    std::string model;
    bool json = false;
  };
  auto const arguments = std::make_shared<models_arguments>();
  auto& command = *app.add_subcommand("models", "list the models that are known, or describe one");
  command.add_option("MODEL", arguments->model, "preset, name of a hub, or Hugging Face config.json; all are listed by default");
  command.add_flag("--json", arguments->json, json_help);
  command.callback([arguments] {
    arguments->model.empty() ? print_known_models(arguments->json) : print_known_model(arguments->model, arguments->json);
  });
}

}  // namespace ballast_cli
