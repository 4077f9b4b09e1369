// SPDX-License-Identifier: Apache-2.0
#include "readers/model_config.hpp"

#include "errors.hpp"
#include "readers/config_fields.hpp"
#include "readers/encoder_config.hpp"
#include "readers/json_document.hpp"
#include "readers/language_config.hpp"
#include "readers/omni_config.hpp"
#include "readers/sound_config.hpp"
#include "report/output.hpp"

#include <ballast/core/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <optional>

namespace ballast_cli {

namespace {

/// The class that reads the language model of a vision-language model whose fields are not in an object of their own.
[[nodiscard]] std::string_view language_class(std::string_view model_type, nlohmann::json const& config) {
  if (model_type == "minicpmv") {
    auto const found = config.find("version");
    auto const version = found != config.end() && found->is_number() ? found->get<double>() : 0;
    return version >= 4.5 ? "qwen3" : version >= 4 ? "llama" : version >= 2.6 ? "qwen2" : model_type;
  }
  constexpr std::array<std::array<std::string_view, 2>, 6> classes{{{"qwen2_vl", "qwen2_vl_text"},
                                                                    {"qwen2_5_vl", "qwen2_5_vl_text"},
                                                                    {"llava", "llama"},
                                                                    {"llava_llama", "llama"},
                                                                    {"llava_mistral", "mistral"},
                                                                    {"llava_qwen", "qwen2"}}};
  for (auto const& [type, language] : classes)
    if (type == model_type) return language;
  return model_type;
}

[[nodiscard]] bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Whether head and embedding are one matrix, where the file of a larger model says so: its own field decides. In some, that of the part
/// ties them too.
[[nodiscard]] std::optional<bool> tied_outside(config_fields& whole, config_fields& part, std::string_view model_type) {
  if (!whole.has("tie_word_embeddings")) return is_one_of(model_type, {"gemma3", "internvl"}) ? std::optional(true) : std::nullopt;
  auto const outer = whole.flag("tie_word_embeddings", false);
  auto const either = is_one_of(model_type, {"llava", "llava_next", "llava_onevision", "qwen2_vl", "qwen2_5_vl"});
  return outer || (either && part.flag("tie_word_embeddings", false));
}

/// Says what images change in layers of the language model and is not counted.
void note_left_out(model_shape& out, config_fields& whole) {
  auto const& m = out.language;
  auto const share = [all = forward_flops(m).per_token](std::int64_t flops) {
    return percent(static_cast<double>(flops) / static_cast<double>(all));
  };
  if (auto const crossing = m.window > 0 ? m.windowed.count(m.layers) : 0; out.family == "mllama" && crossing > 0) {
    std::int64_t first = 0;
    while (!m.windowed.contains(first)) ++first;
    constexpr std::int64_t features = 6404;  // of 4 parts of 560 x 560 pixels
    out.notes.push_back("The " + std::to_string(crossing) +
                        " layers with cross-attention count their matrices for each token, and no features (sliding 1): with the 6,404 "
                        "features of an image the FLOPs of a token are " +
                        share(4 * crossing * m.query_heads * m.head_width * features) + " more, without an image " +
                        share(crossing * layer_flops(m, first).per_token) + " less, as the layers are then passed over.");
  }
  if (out.family == "phi4mm" && m.other_weights > 0) {
    auto const rank = [&](char const* key) {
      auto adapter = whole.part(key);
      return adapter ? adapter->number({"r"}).value_or(0) : 0;
    };
    auto const images = rank("vision_lora"), speech = rank("speech_lora");
    if (images + speech == 0) return;
    out.notes.push_back("Adapters count in memory, and not in time: with images the FLOPs of a token are " +
                        share(2 * (m.other_weights / (images + speech) * images)) + " more, with speech alone " +
                        share(2 * (m.other_weights / (images + speech) * speech)) + ".");
  }
}

}  // namespace

model_shape read_model_config(std::string_view text, std::string const& name) {
  auto const document = parse_document(text, name);
  if (!document.is_object()) throw bad_input(name + ": not a JSON object");
  auto const& json = thinker_of(document);
  auto const* config = &json;
  for (auto const* part : {"text_config", "llm_config", "language_config"})
    if (auto const found = json.find(part); found != json.end() && found->is_object()) config = &*found;
  config_fields whole(json, name), in(*config, name);
  auto const type = in.text("model_type");
  if (type.empty()) throw bad_input(name + ": the field model_type is missing: not a Hugging Face config.json");
  auto const language = language_class(type, *config);
  if (auto const why = why_not_read(type); !why.empty())
    throw bad_input(name + ": the model_type " + printable(type) + " cannot be modelled: " + std::string(why));
  auto const encodes = is_encoder_family(type);
  if (!encodes && !is_language_family(language))
    throw bad_input(name + ": the model_type " + printable(type) +
                    " is not known; if the model is built like one of these, name it in a copy of the file: " + language_families() + ", " +
                    encoder_families());
  model_shape out{.family = config == &json ? type : whole.text("model_type"), .language = {}, .notes = {}};
  if (out.family.empty()) out.family = type;
  auto const tied = config == &json ? std::nullopt : tied_outside(whole, in, out.family);
  note_unmodelled_parts(document, name, out.notes);
  out.language = encodes ? read_encoder_config(in, type, out.notes) : read_language_config(in, language, tied);
  try {
    require_valid(out.language);
  } catch (ballast::invalid_input const& e) {
    throw bad_input(name + ": " + e.what());
  }
  std::string defaults;
  for (auto const& field : in.defaults()) defaults += (defaults.empty() ? "" : ", ") + field;
  if (!defaults.empty())
    out.notes.push_back("The file leaves these fields to the class of " + std::string(language) + ": " + defaults + ".");
  out.stored = read_stored_format(whole);
  if (!out.stored && config != &json) out.stored = read_stored_format(in);
  if (out.stored)
    out.notes.push_back("Its file stores weights by " + printable(out.stored->method) + " (quantization_config); each counts as 16 bits" +
                        (out.stored->weights ? ", with --stored as " + in_words(*out.stored->weights) : "") + ".");
  if (auto const more = in.number({"num_nextn_predict_layers", "num_mtp_layers", "mtp_num_hidden_layers"}).value_or(0); more > 0)
    out.notes.push_back("Layers for multi-token prediction are not counted: the file has " + std::to_string(more) + ".");
  note_left_out(out, whole);
  if (is_sound_family(out.family)) {
    out.images = read_sound_config(json, out.family, out.language.hidden, name, out.notes);
    return out;
  }
  if (!has_vision(json)) return out;
  auto const family = json.contains("mm_vision_tower") ? std::string("llava_llama") : out.family;
  if (is_vision_family(family)) try {
      out.images = read_vision_config(json, family, out.language.hidden, name, out.notes);
    } catch (bad_input const& e) {  // no fault where the language model alone is wanted
      out.no_images = e.what();
    }
  else
    out.no_images = name + ": the vision tower of " + printable(out.family) + " is not known; known are those of " + vision_families();
  return out;
}

}  // namespace ballast_cli
